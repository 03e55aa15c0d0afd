"""Complete graphs in closed form: two decompositions, then every alpha costs only products.

In the coordinates of the two spectra, Z_A = Q_A diag(s) V_Aᵀ and Z_B = Q_B diag(t) V_Bᵀ, the
Kronecker map is diagonal, so W = (s tᵀ ∘ T) / (s² t²ᵀ + alpha) with T = Q_Aᵀ Y Q_B (proposition 2
and corollary 1 of Pahikkala et al. 2013). Nothing is inverted, so kernels may be singular. Rows are
conditions. The ranking loss ‖(Y − F) C‖² only replaces Z_B by C Z_B (corollary 2); it is also ridge
regression with an unpenalised intercept for each row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from rankwise.exceptions import InvalidKernel
from rankwise.numerics.memory import refuse_too_large
from rankwise.solvers.solver import Solution, Solver
from rankwise.spaces.nodes import Nodes, Spectrum
from rankwise.supervision.relation import Grid, RelationTask

COPIES = 10
"""Number of matrices of the size of Y that a closed form holds at its peak (measured)."""


class CompleteGraphSolver(Solver):
    """k relations on a complete graph over all or some of the nodes, conditions as rows.

    `grids` holds (Y, row nodes, column nodes) of each relation, all of them over the same nodes.
    """

    name = "closed"

    def __init__(self, nodes: tuple[Nodes, Nodes], grids: list[Grid], task: RelationTask):
        self._nodes, self._kept = nodes, grids[0][1:]
        rows, columns = (side.take(kept) for side, kept in zip(nodes, self._kept))
        way_out = 'sample edges and use solver="cg"'
        name = "the closed form of a complete graph"
        refuse_too_large(len(rows), len(columns), name, way_out, copies=COPIES)
        relations = [grid[0] for grid in grids]
        self.graph: CompleteGraph | MirroredRanking
        if task.sign == 0:
            self.graph = CompleteGraph(rows, columns, relations, task.ranking)
        else:
            mirrored = MirroredRanking if task.ranking else MirroredRegression
            self.graph = mirrored(rows, relations, task.sign)

    @property
    def has_all_nodes(self) -> bool:
        return all(kept is None for kept in self._kept)

    def solve(self, alpha: float, *, start: np.ndarray | None = None) -> Solution:
        """w is (d_a, d_b, k), coefficients of the representations of the nodes in the graph."""
        return Solution(self.graph.coefficients(alpha), n_iter=0)

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficients of the representations of all nodes: zero for nodes outside the graph."""
        if self.has_all_nodes:
            return w
        index = [
            np.arange(nodes.rows.shape[1]) if nodes.through_features else kept
            for nodes, kept in zip(self._nodes, self._kept)
        ]
        spread = np.zeros((*(nodes.rows.shape[1] for nodes in self._nodes), w.shape[2]))
        spread[np.ix_(*index)] = w
        return spread

    def effects(self, w: np.ndarray) -> None:
        """This closed form has no unpenalised effects; `closed_pairs` has them."""


class CompleteGraph:
    """min ‖(Y − F) C‖² (ranking) or ‖Y − F‖² (regression) + alpha‖W‖² for k relations Y at once.

    O(p³) for the decompositions and four products, then two products per alpha and relation.
    `spectra` are those of rows and columns, if they are known.
    """

    def __init__(
        self,
        rows: Nodes,
        columns: Nodes,
        relations: list[np.ndarray],
        ranking: bool,
        spectra: tuple[Spectrum, Spectrum] | None = None,
    ):
        same = columns is rows
        self.nodes = rows, columns
        self.ranking = ranking
        if spectra is None:
            first = rows.spectrum()
            second = first if same and not ranking else columns.spectrum(centred=ranking)
            spectra = first, second
        self.rows, self.columns = spectra
        self.relations = relations
        self.targets = [self.rows.Q.T @ Y @ self.columns.Q for Y in relations]

    def weights(self, alpha: float) -> list[np.ndarray]:
        """W of every relation, in the coordinates of the two spectra (equation 22)."""
        gain = self.gain(alpha)
        return [gain * T for T in self.targets]

    def gain(self, alpha: float) -> np.ndarray:
        """s t / (s² t² + alpha), without squares that overflow."""
        both = np.outer(self.rows.s, self.columns.s)
        return 1 / (both + alpha / both)

    def coefficients(self, alpha: float) -> np.ndarray:
        """(d_a, d_b, k) coefficients of the nodes' representations."""
        left, right = self.rows.to_rows, self.columns.to_rows
        return np.stack([left @ W @ right.T for W in self.weights(alpha)], axis=-1)


class MirroredRegression(CompleteGraph):
    """Symmetric (sign 1) or reciprocal (sign −1) regression: mirrored labels (proposition 3)."""

    def __init__(self, nodes: Nodes, relations: list[np.ndarray], sign: int):
        super().__init__(nodes, nodes, [mirror(Y, sign) for Y in relations], ranking=False)
        self.sign = sign

    def coefficients(self, alpha: float) -> np.ndarray:
        return mirror(super().coefficients(alpha), self.sign)


class MirroredRanking:
    """min ‖(Y − Z W Zᵀ) C‖² + alpha‖W‖² over symmetric (sign 1) or antisymmetric (sign −1) W.

    With G = ZᵀZ = diag(g), z = Zᵀ1 and x = W z the normal equations are, mirrored,

        G W G + alpha W − (G x zᵀ ± z xᵀ G) / 2p = ZᵀYCZ,

    which is the regression problem minus a term with p unknowns x. Eliminating W leaves a p × p
    positive definite system. So each alpha costs O(p³) after one decomposition, where section 4.4
    of the paper iterates. Steps of refinement restore the digits that the elimination loses if
    alpha is small.
    """

    REFINEMENTS = 2

    def __init__(self, nodes: Nodes, relations: list[np.ndarray], sign: int):
        self.nodes = nodes, nodes
        self.sign = sign
        self.relations = relations
        self.spectrum = nodes.spectrum()
        Q, s = self.spectrum.Q, self.spectrum.s
        self.g = s**2
        self.z = s * Q.sum(axis=0)
        self.n_nodes = len(Q)
        centred = (Y - Y.mean(axis=1, keepdims=True) for Y in relations)
        self.targets = [mirror(s[:, None] * (Q.T @ Y @ Q) * s, sign) for Y in centred]

    def weights(self, alpha: float) -> list[np.ndarray]:
        """W of every relation, in the coordinates of the spectrum."""
        with np.errstate(over="ignore"):
            shifted = np.outer(self.g, self.g) + alpha
        refuse_overflow(shifted)
        inverse = self._eliminate(shifted)
        weights = []
        for target in self.targets:
            W = self._solve(target, shifted, inverse)
            for _ in range(self.REFINEMENTS):
                W += self._solve(target - self._apply(W, alpha), shifted, inverse)
            weights.append(W)
        return weights

    def coefficients(self, alpha: float) -> np.ndarray:
        """(d, d, k) coefficients of the nodes' representations."""
        left = self.spectrum.to_rows
        stacked = np.stack([left @ W @ left.T for W in self.weights(alpha)], axis=-1)
        return mirror(stacked, self.sign)

    def _apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        product = self.g[:, None] * W * self.g
        return product + alpha * W - self._spread(self.g * (W @ self.z)) / (2 * self.n_nodes)

    def _spread(self, x: np.ndarray) -> np.ndarray:
        outer = np.outer(x, self.z)
        return outer + self.sign * outer.T

    def _eliminate(self, shifted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The inverse of I − D^½ Nᵀ (G⊗G + alpha)⁻¹ N D^½ with N x = x zᵀ ± z xᵀ and D = G/4p."""
        z = self.z
        inner = self.sign * (z[:, None] / shifted * z)
        inner.flat[:: len(z) + 1] += (1 / shifted) @ z**2
        root = np.sqrt(self.g / (2 * self.n_nodes))
        system = -(root[:, None] * inner * root)
        system.flat[:: len(z) + 1] += 1
        try:
            factor = scipy.linalg.cho_factor(system, check_finite=False)
        except scipy.linalg.LinAlgError:  # indefinite by rounding
            values, vectors = np.linalg.eigh(system)
            values = values.clip(min=np.finfo(float).eps * len(z))
            return lambda right: vectors @ ((vectors.T @ right) / values)
        return lambda right: scipy.linalg.cho_solve(factor, right, check_finite=False)

    def _solve(self, target: np.ndarray, shifted: np.ndarray, inverse: Callable) -> np.ndarray:
        W = target / shifted
        root = np.sqrt(self.g / (2 * self.n_nodes))
        x = inverse(root * (W @ self.z))
        return W + self._spread(root * x) / shifted


def refuse_overflow(values: np.ndarray | float) -> None:
    if not np.all(np.isfinite(values)):
        raise InvalidKernel(
            "the squared kernel of pairs of nodes overflows: scale the features or kernels down."
        )


def mirror(Y: np.ndarray, sign: int) -> np.ndarray:
    """The symmetric (sign 1) or antisymmetric (sign −1) part of Y in its first two axes, or Y."""
    return Y if sign == 0 else (Y + sign * np.swapaxes(Y, 0, 1)) / 2
