"""Complete graphs in closed form: every alpha after two decompositions, and exact hold-outs.

In the coordinates of the two spectra, Z_A = Q_A diag(s) V_Aᵀ and Z_B = Q_B diag(t) V_Bᵀ, the
Kronecker map is diagonal, so W = (s tᵀ ∘ T) / (s² t²ᵀ + alpha) with T = Q_Aᵀ Y Q_B (proposition 2
and corollary 1 of Pahikkala et al. 2013). Nothing is inverted: semi-definite kernels are fine.
Rows are conditions. The ranking loss ‖(Y − F) C‖² only replaces Z_B by C Z_B (corollary 2), which
is also ridge regression with an unpenalised intercept for every row.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg

from rankwise.exceptions import InvalidKernel
from rankwise.spaces.nodes_and_edges import Nodes


class CompleteGraph:
    """min ‖(Y − F) C‖² (ranking) or ‖Y − F‖² (regression) + alpha‖W‖² for k relations Y at once.

    O(p³) for the decompositions and four products, then two products an alpha and relation.
    """

    def __init__(self, rows: Nodes, columns: Nodes, relations: list, ranking: bool):
        same = columns is rows
        self.nodes = rows, columns
        self.ranking = ranking
        self.rows = rows.spectrum()
        self.columns = self.rows if same and not ranking else columns.spectrum(centred=ranking)
        self.relations = relations
        self.targets = [self.rows.Q.T @ Y @ self.columns.Q for Y in relations]

    def weights(self, alpha: float) -> list[np.ndarray]:
        """W of every relation, in the coordinates of the two spectra (equation 22)."""
        gain = self._gain(alpha)
        return [gain * T for T in self.targets]

    def _gain(self, alpha: float) -> np.ndarray:
        """s t / (s² t² + alpha), without squares that overflow."""
        both = np.outer(self.rows.s, self.columns.s)
        return 1 / (both + alpha / both)

    def coefficients(self, alpha: float) -> np.ndarray:
        """(d_a, d_b, k) coefficients of the nodes' representations."""
        left, right = self.rows.to_rows, self.columns.to_rows
        return np.stack([left @ W @ right.T for W in self.weights(alpha)], axis=-1)

    # Hold-outs. Leaving items out of ridge regression adds a free shift e to their labels that
    # makes their dual variables vanish: e = residual / (1 − leverage). Both are sums over the
    # spectrum of `keep` = alpha / (s² t² + alpha), so that no digits cancel as alpha -> 0.

    def leave_row_out(self, alpha: float) -> list[np.ndarray]:
        """Scores of each row by the model without it, O(p³) for all."""
        return [W @ self._image.T for W in self._row_out_weights(alpha)]

    def leave_column_out(self, alpha: float) -> list[np.ndarray]:
        """Scores of each column by the model without it, O(p³) for all."""
        along_rows = self._column_out_weights(alpha)
        return [(self.rows.Q * self.rows.s) @ W for W in along_rows]

    def score_new_row_without_columns(self, row: np.ndarray, alpha: float) -> list[np.ndarray]:
        """Scores of a new row's represented node, each column by the model without that column."""
        return [row @ self.rows.to_rows @ W for W in self._column_out_weights(alpha)]

    def score_new_column_without_rows(self, column: np.ndarray, alpha: float) -> list[np.ndarray]:
        """Scores of a new column's represented node, each row by the model without that row."""
        return [W @ (column @ self.columns.to_rows) for W in self._row_out_weights(alpha)]

    def leave_edge_out(self, alpha: float) -> list[np.ndarray]:
        """Scores of each edge by the model without that edge alone, O(p³) for all."""
        keep, QA, QB = self._keep(alpha), self.rows.Q, self.columns.Q
        QA2, QB2 = QA**2, QB**2
        full = self.rows.is_full and self.columns.is_full
        free = QA2 @ keep @ QB2.T
        if not full:
            free += self._own_leverage - np.outer(QA2.sum(axis=1), QB2.sum(axis=1))
        shrink = QA2 @ self._slope(alpha) @ (self._image * self.columns.s * QB).T
        scores = []
        for Y, T, W in zip(self.relations, self.targets, self.weights(alpha)):
            residual = QA @ (T * keep) @ QB.T
            if not full:
                residual += self._centred(Y) - QA @ T @ QB.T
            fitted = (QA * self.rows.s) @ W @ self._image.T
            scores.append(fitted - shrink * residual / free)
        return scores

    def _row_out_weights(self, alpha: float) -> list[np.ndarray]:
        """(p_a, r_b) weights along V_B of each row's scores, by the model without that row.

        One ridge regression over the rows for each direction of V_B.
        """
        keep, Q = self._keep(alpha), self.rows.Q
        Q2 = Q**2
        missing = np.zeros(len(Q)) if self.rows.is_full else 1 - Q2.sum(axis=1)
        free = Q2 @ keep + missing[:, None]
        found = []
        for Y, T in zip(self.relations, self.targets):
            residual = Q @ (T * keep)
            if not self.rows.is_full:
                residual += Y @ self.columns.Q - Q @ T
            held_out = Q @ (T * (1 - keep)) - residual * (1 - free) / free
            found.append(held_out / self.columns.s)
        return found

    def _column_out_weights(self, alpha: float) -> list[np.ndarray]:
        """(r_a, p_b) weights along V_A of each column's scores, by the model without it."""
        keep, Q = self._keep(alpha), self.columns.Q
        Q2 = Q**2
        missing = np.zeros(len(Q))
        if not self.columns.is_full:
            missing = self._own_leverage - Q2.sum(axis=1)
        free = keep @ Q2.T + missing
        shrink = self._slope(alpha) @ (self._image * self.columns.s * Q).T
        found = []
        for Y, T, W in zip(self.relations, self.targets, self.weights(alpha)):
            residual = (T * keep) @ Q.T
            if not self.columns.is_full:
                residual += self.rows.Q.T @ self._centred(Y) - T @ Q.T
            fitted = W @ self._image.T
            found.append(fitted - shrink * residual / free / self.rows.s[:, None])
        return found

    def _keep(self, alpha: float) -> np.ndarray:
        return self._gain(alpha) * alpha / np.outer(self.rows.s, self.columns.s)

    def _slope(self, alpha: float) -> np.ndarray:
        """s² / (s² t² + alpha)."""
        return self._gain(alpha) * self.rows.s[:, None] / self.columns.s

    @property
    def _own_leverage(self) -> float:
        """C_vv: what the row's intercept leaves to one edge."""
        return 1 - 1 / len(self.columns.Q) if self.ranking else 1.0

    def _centred(self, Y: np.ndarray) -> np.ndarray:
        return Y - Y.mean(axis=1, keepdims=True) if self.ranking else Y

    @cached_property
    def _image(self) -> np.ndarray:
        """(p_b, r_b) the column nodes, not centred, along V_B."""
        if not self.ranking:
            return self.columns.Q * self.columns.s
        return self.nodes[1].rows @ self.columns.to_rows


class MirroredRegression(CompleteGraph):
    """Symmetric (sign 1) or reciprocal (sign −1) regression: mirrored labels (proposition 3)."""

    def __init__(self, nodes: Nodes, relations: list, sign: int):
        super().__init__(nodes, nodes, [mirror(Y, sign) for Y in relations], ranking=False)
        self.sign = sign

    def coefficients(self, alpha: float) -> np.ndarray:
        return mirror(super().coefficients(alpha), self.sign)


class MirroredRanking:
    """min ‖(Y − Z W Zᵀ) C‖² + alpha‖W‖² over symmetric (sign 1) or antisymmetric (sign −1) W.

    With G = ZᵀZ = diag(g), z = Zᵀ1 and x = W z the normal equations are, mirrored,

        G W G + alpha W − (G x zᵀ ± z xᵀ G) / 2p = ZᵀYCZ,

    the regression problem less a term of p unknowns x. Eliminating W leaves a p × p positive
    definite system: O(p³) an alpha after one decomposition, where section 4.4 of the paper
    iterates. Steps of refinement restore the digits that the elimination loses for a small alpha.
    """

    REFINEMENTS = 2

    def __init__(self, nodes: Nodes, relations: list, sign: int):
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
        with np.errstate(over="ignore"):
            shifted = np.outer(self.g, self.g) + alpha
        refuse_overflow(shifted)
        factor = self._eliminate(shifted)
        found = []
        for target in self.targets:
            W = self._solve(target, shifted, factor)
            for _ in range(self.REFINEMENTS):
                W += self._solve(target - self._apply(W, alpha), shifted, factor)
            found.append(W)
        return found

    def coefficients(self, alpha: float) -> np.ndarray:
        left = self.spectrum.to_rows
        stacked = np.stack([left @ W @ left.T for W in self.weights(alpha)], axis=-1)
        return mirror(stacked, self.sign)

    def _apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        product = self.g[:, None] * W * self.g
        return product + alpha * W - self._spread(self.g * (W @ self.z)) / (2 * self.n_nodes)

    def _spread(self, x: np.ndarray) -> np.ndarray:
        outer = np.outer(x, self.z)
        return outer + self.sign * outer.T

    def _eliminate(self, shifted: np.ndarray):
        """Cholesky factor of I − D^½ Nᵀ (G⊗G + alpha)⁻¹ N D^½, N x = x zᵀ ± z xᵀ, D = G/4p."""
        z = self.z
        inner = self.sign * (z[:, None] / shifted * z)
        inner.flat[:: len(z) + 1] += (1 / shifted) @ z**2
        root = np.sqrt(self.g / (2 * self.n_nodes))
        system = -(root[:, None] * inner * root)
        system.flat[:: len(z) + 1] += 1
        try:
            return scipy.linalg.cho_factor(system, check_finite=False)
        except scipy.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(system)
            floor = np.finfo(float).eps * len(z)
            return values.clip(min=floor), vectors, None

    def _solve(self, target: np.ndarray, shifted: np.ndarray, factor) -> np.ndarray:
        W = target / shifted
        root = np.sqrt(self.g / (2 * self.n_nodes))
        right = root * (W @ self.z)
        if len(factor) == 2:
            x = scipy.linalg.cho_solve(factor, right, check_finite=False)
        else:
            values, vectors, _ = factor
            x = vectors @ ((vectors.T @ right) / values)
        return W + self._spread(root * x) / shifted


def refuse_overflow(values) -> None:
    if not np.all(np.isfinite(values)):
        raise InvalidKernel(
            "the squared kernel of pairs of nodes overflows: scale the features or kernels down."
        )


def mirror(Y: np.ndarray, sign: int) -> np.ndarray:
    """The symmetric (sign 1) or antisymmetric (−1) part over the first two axes; 0: Y itself."""
    return Y if sign == 0 else (Y + sign * np.swapaxes(Y, 0, 1)) / 2
