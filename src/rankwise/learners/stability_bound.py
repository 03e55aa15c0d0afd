"""Stability bounds of magnitude-preserving ranking (section 3 of Cortes, Mohri, Rastogi 2007)."""

from __future__ import annotations

from numbers import Real

import numpy as np

from rankwise.validation import check_positive


def stability_bound(*, empirical, C, norm, m, kappa, M, delta, origin: str) -> dict:
    """R(h) ≤ bound with probability 1 − delta over samples of m items.

    Proposition 3 gives the stability β = 4Cσ²κ²/m with σ = 1 (norm 1) or 4M (norm 2, Lemma 1),
    Theorem 1 the bound R̂ + 2β + (βm + (2M)^norm) √(2 log(2/delta)/m), which Corollary 1 writes
    out as equations 65 and 66.
    """
    admissibility = 1.0 if norm == 1 else 4.0 * M
    beta = 4.0 * C * admissibility**2 * kappa**2 / m
    trivial = (2.0 * M) ** norm
    deviation = (beta * m + trivial) * np.sqrt(2.0 * np.log(2.0 / delta) / m)
    bound = empirical + 2.0 * beta + deviation
    if bound >= trivial:
        verdict = (
            f"The bound says nothing: no cost exceeds (2M)^{norm} = {trivial:.4g} anyway. It "
            f"speaks only for C well below √m = {np.sqrt(m):.4g}: take a smaller C or more items."
        )
    else:
        verdict = (
            f"The bound says something: it is below the largest possible cost (2M)^{norm} = "
            f"{trivial:.4g}."
        )
    assumptions = (
        f"The {m} items are drawn independently from one distribution, C was fixed beforehand, "
        f"K(x, x) ≤ κ² with κ = {kappa:.4g} for every item, and |h(x) − y| ≤ M = {M:.4g} for every "
        f"hypothesis and item. {origin}{verdict}"
    )
    return {
        "empirical": float(empirical),
        "stability": float(beta),
        "bound": float(bound),
        "assumptions": assumptions,
    }


def check_delta(delta) -> float:
    if not isinstance(delta, Real) or isinstance(delta, bool) or not 0 < float(delta) < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta!r}.")
    return float(delta)


def given_or_measured(kappa, M, measured_kappa: float, measured_M: float):
    """κ and M, and a sentence on where those not given come from."""
    measured = [name for name, value in (("κ", kappa), ("M", M)) if value is None]
    kappa = measured_kappa if kappa is None else check_positive("kappa", kappa)
    M = measured_M if M is None else check_positive("M", M, zero=True)
    if measured_kappa * (1 - 1e-9) > kappa:
        raise ValueError(f"kappa={kappa:g} is too small: a training item has {measured_kappa:g}.")
    if measured_M * (1 - 1e-9) > M:
        raise ValueError(f"M={M:g} is too small: a training item has |h(x) − y| = {measured_M:g}.")
    if not measured:
        return kappa, M, ""
    names = " and ".join(measured)
    verb = "is" if len(measured) == 1 else "are"
    return kappa, M, f"{names} {verb} the largest on the training items, so taken on trust. "
