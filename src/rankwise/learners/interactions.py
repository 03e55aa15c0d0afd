"""Features between a query and a document from the embeddings of both."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.learners.fit_memory import FitMemory
from rankwise.numerics.memory import refuse_too_large
from rankwise.validation import check_count, naming_text, refuse_non_finite, refuse_unreal

INCLUDED = COSINE, PRODUCT, OUTER = ("cosine", "product", "outer")


class Interactions(FitMemory, TransformerMixin, BaseEstimator):
    """What a linear ranker needs to see how a document fits its query.

    The embedding of a query is the same for all its documents, so on its own it cannot change
    their order, and a linear model of both embeddings ranks the documents alike for all queries.
    With u and v for the two embeddings (of length one, if `normalize`) the features are::

        cosine    u · v / (‖u‖ ‖v‖), one feature
        product   u_j v_j, d features: a linear model is a dot product with weighted dimensions
        outer     (Pu)_a (Qv)_b, rank² features: a linear model is the bilinear form uᵀ Pᵀ W Q v,
                  where P and Q are the leading principal directions of the training embeddings

    With rank = d the outer product is complete, and RankRLS on it equals RankRLS on all d² products
    u_a v_b. O(m d + m rank²), and O(m d² + d³) to fit the directions.

    Parameters
    ----------
    dimensions
        Columns of X that are the query's embedding, followed by as many of the document's; a pair
        for embeddings of different length, which only "outer" can compare; None if X is these two
        halves and nothing else. Further columns are passed on unchanged, after the others.
    include
        Some of "cosine", "product" and "outer".
    rank
        Number of principal directions of each side in "outer".
    normalize
        Whether embeddings are scaled to length one, an embedding of zeros staying zero.

    Attributes
    ----------
    query_directions_, document_directions_
        (rank, d) with orthonormal rows, P and Q.
    dimensions_
        (2,) the lengths of both embeddings.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.features import Interactions
    >>> query, documents = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> X = np.hstack([np.tile(query, (2, 1)), documents])
    >>> Interactions().fit_transform(X)
    array([[1., 1., 0.],
           [0., 0., 0.]])
    """

    def __init__(self, dimensions=None, *, include=("cosine", "product"), rank=8, normalize=True):
        self.dimensions = dimensions
        self.include = include
        self.rank = rank
        self.normalize = normalize

    def fit(self, X, y=None):
        """Check the arguments, and find the principal directions if "outer" needs them."""
        X = self._check(X, reset=True)
        self.dimensions_ = np.array(self._lengths(X.shape[1]))
        self._check_arguments()
        if OUTER in self.include:
            U, V, _ = self._parts(X, self.normalize)
            self.query_directions_ = _directions(U, min(self.rank, U.shape[1]))
            self.document_directions_ = _directions(V, min(self.rank, V.shape[1]))
        self._remember_parameters()
        return self

    def transform(self, X):
        """(m, features) in the order of `include`, then the columns that are passed on."""
        check_is_fitted(self, "dimensions_")
        fitted = self.fitted_parameters
        X = self._check(X, reset=False)
        U, V, rest = self._parts(X, fitted.normalize)
        blocks = []
        for name in fitted.include:
            if name == COSINE:
                blocks.append((_unit(U) * _unit(V)).sum(axis=1, keepdims=True))
            elif name == PRODUCT:
                blocks.append(U * V)
            else:
                left, right = U @ self.query_directions_.T, V @ self.document_directions_.T
                n = left.shape[1] * right.shape[1]
                refuse_too_large(len(X), n, "the outer products", "give a smaller rank")
                blocks.append((left[:, :, None] * right[:, None, :]).reshape(len(X), n))
        return np.hstack([*blocks, rest])

    def get_feature_names_out(self, input_features=None):
        """cosine, product 0, ..., outer 0 0, ..., then the names of the columns passed on."""
        check_is_fitted(self, "dimensions_")
        names = input_features
        if names is None:
            names = getattr(
                self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]
            )
        out = []
        for name in self.fitted_parameters.include:
            if name == COSINE:
                out.append("cosine")
            elif name == PRODUCT:
                out += [f"product {j}" for j in range(self.dimensions_[0])]
            else:
                sizes = len(self.query_directions_), len(self.document_directions_)
                out += [f"outer {a} {b}" for a in range(sizes[0]) for b in range(sizes[1])]
        return np.array([*out, *names[int(self.dimensions_.sum()) :]], dtype=object)

    def _check(self, X, *, reset: bool):
        refuse_unreal(X, "X")
        with naming_text(X, "X"):
            X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        refuse_non_finite(X, "X")
        return X

    def _lengths(self, n: int) -> tuple[int, int]:
        if self.dimensions is None:
            if n % 2:
                raise ValueError(
                    f"X has {n} columns, which are no two halves: give dimensions, the length of "
                    "the query's embedding."
                )
            return n // 2, n // 2
        pair = self.dimensions
        both = (pair, pair) if isinstance(pair, Integral) else tuple(pair)
        if len(both) != 2 or not all(isinstance(d, Integral) and int(d) >= 1 for d in both):
            raise ValueError(
                f"dimensions must be None, a positive integer or two of them; got {pair!r}."
            )
        if sum(both) > n:
            raise ValueError(f"dimensions={pair!r} needs {sum(both)} columns, but X has {n}.")
        return int(both[0]), int(both[1])

    def _check_arguments(self):
        include = self.include
        if isinstance(include, str) or not len(include) or not {*include} <= {*INCLUDED}:
            raise ValueError(f"include must be some of {INCLUDED}; got {include!r}.")
        if len({*include}) < len(include):
            raise ValueError(f"include names something twice; got {include!r}.")
        check_count("rank", self.rank)
        query, document = self.dimensions_
        if query != document and {COSINE, PRODUCT} & {*include}:
            raise ValueError(
                f"embeddings of {query} and {document} dimensions have no cosine and no product: "
                'use include=("outer",).'
            )

    def _parts(self, X, normalize: bool):
        query, document = self.dimensions_
        U, V, rest = np.split(X, [query, query + document], axis=1)
        return (_unit(U), _unit(V), rest) if normalize else (U, V, rest)


def _unit(U: np.ndarray) -> np.ndarray:
    """Rows of length one; rows of zeros stay. The largest entry is taken out before squaring."""
    largest = np.abs(U).max(axis=1, keepdims=True, initial=0.0)
    U = U / np.where(largest > 0, largest, 1.0)
    length = np.sqrt((U * U).sum(axis=1, keepdims=True))
    return U / np.where(length > 0, length, 1.0)


def _directions(U: np.ndarray, rank: int) -> np.ndarray:
    """(rank, d) the leading eigenvectors of UᵀU, each with a positive largest entry."""
    scale = np.abs(U).max(initial=0.0) or 1.0
    _, vectors = np.linalg.eigh((U / scale).T @ (U / scale))
    leading = vectors[:, ::-1][:, :rank].T
    signs = np.sign(np.take_along_axis(leading, np.abs(leading).argmax(axis=1)[:, None], axis=1))
    return leading * np.where(signs == 0, 1.0, signs)
