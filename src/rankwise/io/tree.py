"""Python values to a JSON tree that names arrays, and back.

None, booleans, integers, finite floats, text and lists stand for themselves. All else is an object
with the key "is": array, numbers (NumPy's scalars), texts, csr, record, tuple, set, dict, float
(nan and infinities), random_state, or one of the known classes (see `registry`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import sparse

from rankwise.io.container import NAMES
from rankwise.validation import refuse_too_large

DEEPEST = 40
PLAIN = (bool, int, float, str, type(None))


class Unsaveable(ValueError):
    """A value that has no place in a model file; the message starts with where it stands."""


class Encoder:
    """Collects arrays in `tensors`, each stored once; objects go to `encode_object`."""

    def __init__(self, encode_object: Callable):
        self.tensors: dict[str, np.ndarray] = {}
        self._known: dict[int, dict] = {}
        self._kept: list = []
        self._encode_object = encode_object

    def encode(self, value, where: str, depth: int = 0):
        if depth > DEEPEST:
            raise Unsaveable(f"{where} is nested more than {DEEPEST} levels deep.")
        inside = partial(self.encode, depth=depth + 1)
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if kind is list:
            return [inside(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if kind is tuple:
            return {
                "is": "tuple",
                "items": [inside(item, f"{where}[{i}]") for i, item in enumerate(value)],
            }
        if kind in (set, frozenset):
            items = [inside(item, f"an element of {where}") for item in value]
            return {"is": "set", "items": sorted(items, key=repr)}
        if kind is dict:
            if not all(type(key) is str for key in value):
                raise Unsaveable(f"{where} has keys that are not text.")
            return {
                "is": "dict",
                "items": {k: inside(v, f"{where}[{k!r}]") for k, v in value.items()},
            }
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            if isinstance(value, np.str_):
                return str(value)
            return {"is": "number", "array": self._array(np.asarray(value), where)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sparse.issparse(value):
            return self._sparse(value, where)
        if kind is np.random.RandomState:
            _, keys, position, has_gauss, gauss = value.get_state()
            state = [int(position), int(has_gauss), float(gauss)]
            return {"is": "random_state", "keys": self._array(keys, where), "state": state}
        return self._encode_object(self, value, where, depth)

    def _array(self, array: np.ndarray, where: str) -> dict:
        if id(array) in self._known:
            return self._known[id(array)]
        array_of = np.asarray(array)
        if array_of.dtype.names:
            fields = {
                name: self._array(array_of[name].copy(), where) for name in array_of.dtype.names
            }
            found = {"is": "record", "fields": fields}
        elif array_of.dtype.kind in "OU":
            found = self._texts(array_of, where)
        elif array_of.dtype.kind in "mM":
            units = array_of.dtype.str[1:]
            found = {
                "is": "times",
                "units": units,
                "array": self._array(array_of.view("i8"), where),
            }
        elif array_of.dtype.newbyteorder("=") in NAMES:
            name = str(len(self.tensors))
            fortran = (
                array_of.ndim > 1
                and array_of.flags.f_contiguous
                and not array_of.flags.c_contiguous
            )
            self.tensors[name] = array_of.T if fortran else array_of
            found = {"is": "array", "name": name}
            if fortran:
                found["order"] = "F"
        else:
            raise Unsaveable(
                f"{where} is an array of {array_of.dtype}, which a model file cannot hold."
            )
        self._known[id(array)] = found
        self._kept.append(array)
        return found

    def _texts(self, array: np.ndarray, where: str) -> dict:
        items = array.ravel().tolist()
        for item in items:
            if type(item) not in PLAIN:
                raise Unsaveable(
                    f"{where} is an array of objects of type {type(item).__name__}; a model file "
                    "holds numbers and text only."
                )
        encoded = [self.encode(item, where) for item in items]
        is_text = array.dtype.kind == "U"
        return {
            "is": "texts" if is_text else "objects",
            "shape": list(array.shape),
            "items": encoded,
        }

    def _sparse(self, matrix, where: str) -> dict:
        if id(matrix) in self._known:
            return self._known[id(matrix)]
        csr = matrix.tocsr()
        parts = {
            name: self._array(getattr(csr, name), where) for name in ("data", "indices", "indptr")
        }
        is_array = isinstance(matrix, sparse.sparray)
        found = {"is": "csr", "shape": list(csr.shape), "sparray": is_array, **parts}
        self._known[id(matrix)] = found
        self._kept.extend((matrix, csr))
        return found


class Decoder:
    """The values of a tree; anything out of order is a ValueError, whatever the tree claims."""

    def __init__(self, tensors: dict[str, np.ndarray], decode_object: Callable):
        self._tensors = tensors
        self._arrays: dict[tuple, np.ndarray] = {}
        self._spent, self._budget = 0, 100_000 + 10 * sum(t.nbytes for t in tensors.values())
        self._decode_object = decode_object
        self._decoders = {
            "array": self._array,
            "number": self._number,
            "texts": self._texts,
            "objects": self._texts,
            "times": self._times,
            "record": self._record,
            "csr": self._csr,
            "float": self._float,
            "random_state": self._random_state,
        }

    def decode(self, node, depth: int = 0):
        if depth > DEEPEST + 5:
            raise ValueError("the model is nested too deeply")
        inside = partial(self.decode, depth=depth + 1)
        if node is None or type(node) in (bool, int, float, str):
            return node
        if isinstance(node, list):
            return [inside(item) for item in node]
        kind = node.get("is")
        if kind == "tuple":
            return tuple(inside(item) for item in as_list(node.get("items")))
        if kind == "set":
            return {inside(item) for item in as_list(node.get("items"))}
        if kind == "dict":
            return {key: inside(item) for key, item in as_dict(node.get("items")).items()}
        if isinstance(kind, str) and kind in self._decoders:
            return self._decoders[kind](node)
        return self._decode_object(self, node, depth)

    def _spend(self, size: int) -> None:
        """Refuse a small file that asks for the same arrays over and over."""
        self._spent += size
        if self._spent > self._budget:
            raise ValueError("its arrays are named too often")

    def _array(self, node) -> np.ndarray:
        """Arrays of the same name are one array."""
        name, order = node.get("name"), node.get("order", "C")
        if not isinstance(name, str) or name not in self._tensors or order not in ("C", "F"):
            raise ValueError(f"array {name!r} is not in the file")
        if (name, order) not in self._arrays:
            copy = self._tensors[name].astype(self._tensors[name].dtype.newbyteorder("="))
            self._arrays[name, order] = copy.T if order == "F" else copy
        return self._arrays[name, order]

    def _typed(self, node, kinds: str, ndim: int) -> np.ndarray:
        array = self.decode(node)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.ndim != ndim:
            raise ValueError(f"expected an array of {ndim} dimensions of kind {kinds}")
        return array

    def _number(self, node):
        return self._typed(node.get("array"), "biuf", 0)[()]

    def _float(self, node) -> float:
        if node.get("value") not in ("nan", "inf", "-inf"):
            raise ValueError("a float that is none")
        return float(node["value"])

    def _texts(self, node) -> np.ndarray:
        items, shape = as_list(node.get("items")), as_list(node.get("shape"))
        if not all(type(size) is int and 0 <= size <= len(items) for size in shape):
            raise ValueError("an array of text of no possible shape")
        if math.prod(shape) != len(items):
            raise ValueError("an array of text of another shape than its items")
        if node["is"] == "texts":
            if not all(type(item) is str for item in items):
                raise ValueError("an array of text that holds other things")
            longest = max(map(len, items), default=0)
            refuse_too_large(
                len(items), longest // 2, "an array of text", "it is not to be trusted"
            )
            return np.array(items, dtype=str).reshape(shape)
        values = [self.decode(item) for item in items]
        if not all(type(value) in PLAIN for value in values):
            raise ValueError("an array of objects that are no numbers or text")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def _times(self, node) -> np.ndarray:
        units = node.get("units")
        if not isinstance(units, str) or len(units) > 12 or units[:1] not in ("m", "M"):
            raise ValueError("times in unknown units")
        values = self.decode(node.get("array"))
        if not isinstance(values, np.ndarray) or values.dtype != np.int64:
            raise ValueError("times that are no integers")
        return values.view(np.dtype(units))

    def _record(self, node) -> np.ndarray:
        fields = {k: self._typed(v, "biuf", 1) for k, v in as_dict(node.get("fields")).items()}
        if not fields or len({len(values) for values in fields.values()}) != 1:
            raise ValueError("a record whose fields differ in length")
        self._spend(sum(values.nbytes for values in fields.values()))
        table = np.empty(
            len(next(iter(fields.values()))), dtype=[(k, v.dtype) for k, v in fields.items()]
        )
        for name, values in fields.items():
            table[name] = values
        return table

    def _csr(self, node):
        data, indices, indptr = (
            self._typed(node.get(name), kinds, 1)
            for name, kinds in (("data", "biuf"), ("indices", "i"), ("indptr", "i"))
        )
        shape = as_list(node.get("shape"))
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
            raise ValueError("a sparse matrix of no possible shape")
        m, n = shape
        self._spend(data.nbytes + indices.nbytes + indptr.nbytes)
        fits = len(indptr) == m + 1 and len(data) == len(indices)
        fits = fits and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
        if not fits or (len(indices) and not (indices.min() >= 0 and indices.max() < n)):
            raise ValueError("a sparse matrix whose indices do not fit its shape")
        kind = sparse.csr_array if node.get("sparray") is True else sparse.csr_matrix
        return kind((data, indices, indptr), shape=(m, n))

    def _random_state(self, node) -> np.random.RandomState:
        keys, state = self._typed(node.get("keys"), "u", 1), as_list(node.get("state"))
        random_state = np.random.RandomState(0)
        random_state.set_state(("MT19937", keys, *state))
        return random_state


def as_list(node) -> list:
    if not isinstance(node, list):
        raise ValueError("expected a list")
    return node


def as_dict(node) -> dict:
    if not isinstance(node, dict):
        raise ValueError("expected an object")
    return node
