"""Quadratic problems by one symmetric eigendecomposition, of features or of a kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.losses.quadratic_loss import Quadratic
from rankwise.solvers.dual_spectrum import DualSpectrum
from rankwise.solvers.solver import Solution, Solver
from rankwise.solvers.spectrum import PrimalSpectrum, Spectrum
from rankwise.spaces.space import Features, Gram, ItemMatrix


class SpectralSolver(Solver):
    """One decomposition, O(m n² + n³) or O(m³); then O(n k) or O(m² k) for each alpha."""

    name = "spectral"
    requires = frozenset({"quadratic"})

    def __init__(
        self,
        matrix: ItemMatrix,
        quadratic: Quadratic,
        *,
        offset: np.ndarray | None = None,
        centre: np.ndarray | None = None,
    ):
        """`offset` holds scores that are known beforehand: the model learns the rest."""
        self.check(matrix, quadratic)
        self.spectrum: Spectrum
        if isinstance(matrix, Features):
            self.spectrum = PrimalSpectrum(matrix.F, quadratic, offset, centre, matrix.shift)
        else:
            assert isinstance(matrix, Gram)
            self.spectrum = DualSpectrum(matrix, quadratic, offset, centre)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        return Solution(self.path([alpha])[0])

    def path(self, alphas: Sequence[float] | np.ndarray) -> np.ndarray:
        """(a, d, k) coefficients for every alpha, at the price of one matrix product."""
        return self.spectrum.path(alphas)
