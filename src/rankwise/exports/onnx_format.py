"""Models as ONNX graphs in double precision: one input `items` (m, n), one output `scores`.

The graph has only operators of the standard set with version OPSET, so every runtime that knows
this version runs it. nan in, nan out, unless the model fills missing values or takes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from rankwise import __version__
from rankwise.exports.model_steps import ScoringFunction
from rankwise.exports.scoring_steps import (
    Branches,
    Clip,
    DivideByNorm,
    Fill,
    KernelValues,
    Levels,
    Monomials,
    MultiplyAndAdd,
    PairProducts,
    Product,
    Select,
    Standardise,
    Step,
    Thresholds,
)
from rankwise.spaces.gaussian_kernel import FAR

OPSET, IR_VERSION = 17, 8
"""Known to ONNX 1.12 and ONNX Runtime 1.12 of 2022, and to all later versions."""


def to_onnx(function: ScoringFunction) -> bytes:
    """The graph as the bytes of a .onnx file; needs the package onnx (extra `onnx`)."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('format="onnx" needs onnx: install rankwise[onnx].') from error
    graph = Graph(onnx)
    scores = "items"
    for step in function.steps:
        scores = add(step, graph, scores)
    shape: list[int | str] = ["m"] if function.single else ["m", function.n_outputs]
    target = graph.constant(np.array([-1, *shape[1:]], dtype=np.int64))
    graph.nodes.append(onnx.helper.make_node("Reshape", [scores, target], ["scores"]))
    value, double = onnx.helper.make_tensor_value_info, onnx.TensorProto.DOUBLE
    made = onnx.helper.make_graph(
        graph.nodes,
        "rankwise",
        [value("items", double, ["m", len(function.features)])],
        [value("scores", double, shape)],
        graph.constants,
    )
    model = onnx.helper.make_model(
        made,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="rankwise",
        producer_version=__version__,
        doc_string=f"{function.learner}: scores of items, higher is better",
    )
    about = {"features": json.dumps(function.features), "learner": function.learner}
    onnx.helper.set_model_props(model, about)
    onnx.checker.check_model(model)
    return model.SerializeToString()


class Graph:
    """Nodes and constants of a graph in the making, with names given by number."""

    def __init__(self, onnx: Any):
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        name = self.name()
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """The name of its output; inputs that are no names become constants."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        output = self.name()
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def row_sums(self, X: str) -> str:
        """(m, 1)"""
        return self.node("ReduceSum", X, np.array([1]), keepdims=1)

    def for_each_row(self, X: str, body: Callable[[Graph, str], str]) -> str:
        """Rows made by `body` from each row (1, n) of X, in the memory of one row at a time."""
        inner, value = Graph(self.onnx), self.onnx.helper.make_tensor_value_info
        inner._count = 10**6 + self._count  # names of a body must differ from those outside
        double = self.onnx.TensorProto.DOUBLE
        row, output = inner.name(), inner.name()
        found = body(inner, inner.node("Unsqueeze", row, np.array([0])))
        inner.nodes.append(self.onnx.helper.make_node("Identity", [found], [output]))
        made = self.onnx.helper.make_graph(
            inner.nodes,
            "row",
            [value(row, double, None)],
            [value(output, double, None)],
            inner.constants,
        )
        return self.node("Scan", X, body=made, num_scan_inputs=1)


@singledispatch
def add(step: Step, graph: Graph, X: str) -> str:
    """Add the nodes of a step to the graph; the name of its output, from the name of its input."""
    raise ValueError(f"{step.source} has no ONNX graph.")


@add.register
def _(step: Fill, graph: Graph, X: str) -> str:
    return graph.node("Where", graph.node("IsNaN", X), step.values, X)


@add.register
def _(step: Standardise, graph: Graph, X: str) -> str:
    if step.offset.any():
        X = graph.node("Sub", X, step.offset)
    return X if (step.deviation == 1).all() else graph.node("Div", X, step.deviation)


@add.register
def _(step: MultiplyAndAdd, graph: Graph, X: str) -> str:
    return graph.node("Add", graph.node("Mul", X, step.factor), step.summand)


@add.register
def _(step: Clip, graph: Graph, X: str) -> str:
    return graph.node("Clip", X, np.float64(step.low), np.float64(step.high))


@add.register
def _(step: Select, graph: Graph, X: str) -> str:
    return graph.node("Gather", X, np.asarray(step.columns, dtype=np.int64), axis=1)


@add.register
def _(step: DivideByNorm, graph: Graph, X: str) -> str:
    norms = {
        "l1": lambda: graph.row_sums(graph.node("Abs", X)),
        "l2": lambda: graph.node("Sqrt", graph.row_sums(graph.node("Mul", X, X))),
        "max": lambda: graph.node("ReduceMax", graph.node("Abs", X), axes=[1], keepdims=1),
    }
    return _divided(graph, X, norms[step.norm]())


def _divided(graph: Graph, X: str, norm: str) -> str:
    is_zero = graph.node("Equal", norm, np.float64(0.0))
    return graph.node("Div", X, graph.node("Where", is_zero, np.float64(1.0), norm))


@add.register
def _(step: Monomials, graph: Graph, X: str) -> str:
    """Column n of the extended matrix is 1; a monomial of degree d multiplies d columns."""
    m, n = step.powers.shape
    degree = int(step.powers.sum(axis=1).max(initial=0))
    factors = np.full((max(degree, 1), m), n, dtype=np.int64)
    for j, powers in enumerate(step.powers.astype(int)):
        taken = np.repeat(np.arange(n), powers)
        factors[: len(taken), j] = taken
    one = graph.node("Add", graph.node("Mul", graph.row_sums(X), np.float64(0)), np.float64(1))
    extended = graph.node("Concat", X, one, axis=1)
    product = graph.node("Gather", extended, factors[0], axis=1)
    for columns in factors[1:]:
        product = graph.node("Mul", product, graph.node("Gather", extended, columns, axis=1))
    return product


@add.register
def _(step: Levels, graph: Graph, X: str) -> str:
    double = graph.onnx.TensorProto.DOUBLE
    blocks = []
    for j, (known, kept) in enumerate(zip(step.known, step.kept)):
        x = graph.node("Gather", X, np.array([j]), axis=1)
        block = graph.node("Cast", graph.node("Equal", x, kept), to=double)
        if step.strict:
            found = graph.node("Cast", graph.node("Equal", x, known), to=double)
            unseen = graph.node("Equal", graph.row_sums(found), np.float64(0.0))
            block = graph.node("Where", unseen, np.float64(np.nan), block)
        blocks.append(block)
    return graph.node("Concat", *blocks, axis=1)


@add.register
def _(step: Branches, graph: Graph, X: str) -> str:
    parts = []
    for columns, steps in step.branches:
        part = graph.node("Gather", X, columns.astype(np.int64), axis=1)
        for each in steps:
            part = add(each, graph, part)
        parts.append(part)
    return graph.node("Concat", *parts, axis=1)


@add.register
def _(step: PairProducts, graph: Graph, X: str) -> str:
    sides = [graph.node("Gather", X, c.astype(np.int64), axis=1) for c in (step.first, step.second)]
    return graph.node("Mul", *sides)


@add.register
def _(step: Product, graph: Graph, X: str) -> str:
    return graph.node("MatMul", X, step.weights)


@add.register
def _(step: Thresholds, graph: Graph, X: str) -> str:
    if not len(step.weights):
        return graph.node("Mul", graph.row_sums(graph.node("Sub", X, X)), np.float64(0))
    x = graph.node("Gather", X, step.feature.astype(np.int64), axis=1)
    double = graph.onnx.TensorProto.DOUBLE
    above = graph.node("Cast", graph.node("Greater", x, step.threshold), to=double)
    missing = np.asarray(step.missing, dtype=np.float64)
    above = graph.node("Where", graph.node("IsNaN", x), missing, above)
    return graph.node("MatMul", above, step.weights[:, None])


@add.register
def _(step: KernelValues, graph: Graph, X: str) -> str:
    name = step.kernel.kernel
    if name not in KERNELS:
        raise ValueError(f"the kernel {name!r} has no ONNX graph: there are {', '.join(KERNELS)}.")
    return KERNELS[name](step, graph, X)


def _gaussian(step: KernelValues, graph: Graph, X: str) -> str:
    """Centred before it is squared, as in rankwise.spaces.gaussian_kernel.

    If basis items are far from each other beside the width of the kernel, even that loses digits,
    and the differences are computed for each item.
    """
    gamma = step.kernel.gamma
    centre = step.basis.mean(axis=0)
    Z = step.basis - centre
    squares = (Z**2).sum(axis=1)
    if gamma * squares.max() > FAR:
        distances = graph.for_each_row(X, lambda g, x: _sum_of(g, x, step.basis, "square"))
    else:
        X = graph.node("Sub", X, centre)
        own = graph.row_sums(graph.node("Mul", X, X))
        distances = graph.node("Add", graph.node("MatMul", X, -2.0 * Z.T), own)
        distances = graph.node("Add", distances, squares)
        distances = graph.node("Max", distances, np.float64(0.0))
    return _decay(graph, distances, gamma)


def _laplacian(step: KernelValues, graph: Graph, X: str) -> str:
    distances = graph.for_each_row(X, lambda g, x: _sum_of(g, x, step.basis, "Abs"))
    return _decay(graph, distances, step.kernel.gamma)


def _decay(graph: Graph, distances: str, gamma: float | None) -> str:
    assert gamma is not None
    return graph.node("Exp", graph.node("Mul", distances, np.float64(-gamma)))


def _sum_of(graph: Graph, x: str, basis: np.ndarray, power: str) -> str:
    """(r,) sums over the features of |x − z| or (x − z)² for the rows z of the basis."""
    D = graph.node("Sub", x, basis)
    D = graph.node("Mul", D, D) if power == "square" else graph.node(power, D)
    return graph.node("ReduceSum", D, np.array([1]), keepdims=0)


def _chi_squared(step: KernelValues, graph: Graph, X: str) -> str:
    """−Σ (x − z)² / (x + z), where 0/0 is 0; nan for negative features, which predict refuses."""
    negative = graph.node("Less", X, np.float64(0.0))
    X = graph.node("Where", negative, np.float64(np.nan), X)

    def body(g: Graph, x: str) -> str:
        D = g.node("Sub", x, step.basis)
        total = g.node("Add", x, step.basis)
        shares = _divided(g, g.node("Mul", D, D), total)
        return g.node("Neg", g.node("ReduceSum", shares, np.array([1]), keepdims=0))

    return graph.for_each_row(X, body)


def _exp_chi_squared(step: KernelValues, graph: Graph, X: str) -> str:
    return graph.node("Exp", graph.node("Mul", _chi_squared(step, graph, X), step.kernel.gamma))


def _polynomial(step: KernelValues, graph: Graph, X: str) -> str:
    return graph.node("Pow", _inner(step, graph, X), np.float64(step.kernel.degree))


def _sigmoid(step: KernelValues, graph: Graph, X: str) -> str:
    return graph.node("Tanh", _inner(step, graph, X))


def _inner(step: KernelValues, graph: Graph, X: str) -> str:
    kernel = step.kernel
    products = graph.node("MatMul", X, kernel.gamma * step.basis.T)
    return graph.node("Add", products, np.float64(kernel.coef0))


def _cosine(step: KernelValues, graph: Graph, X: str) -> str:
    unit = add(DivideByNorm("l2", step.source), graph, X)
    basis = DivideByNorm("l2", step.source).apply(step.basis)
    return graph.node("MatMul", unit, basis.T)


KERNELS: dict[Any, Callable[[KernelValues, Graph, str], str]] = {
    "rbf": _gaussian,
    "laplacian": _laplacian,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
    "chi2": _exp_chi_squared,
    "additive_chi2": _chi_squared,
}
