"""Python values as a JSON tree that names arrays, and back.

None, booleans, integers, finite floats, text and lists are written as they are. Every other value
is an object with the key "is": array, number (a NumPy scalar), texts, objects, times, csr, record,
tuple, set, dict, float (nan and infinities), slice, dtype, random_state, or a class of
`model_schemas`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from rankwise.io.model_container import STORABLE
from rankwise.numerics.memory import refuse_too_large

DEEPEST = 40
PLAIN = (bool, int, float, str, type(None))
TYPES: tuple[type, ...] = (
    *(float, int, bool, object, np.float16, np.float32, np.float64, np.bool_, np.object_),
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
)
"""Types of numbers that transformers of scikit-learn take as `dtype`."""


class Unsaveable(ValueError):
    """A value that a model file cannot hold; the message begins with where the value is."""


class Encoder:
    """Builds a tree and collects its arrays, each once; `encode_object` encodes other objects."""

    def __init__(self, encode_object: Callable[[Encoder, Any, str, int], dict]):
        self.tensors: dict[str, np.ndarray] = {}
        self._encode_object = encode_object
        self._nodes: dict[int, dict] = {}
        self._alive: list = []  # an id stays unique only as long as its object lives

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise Unsaveable(f"{where} is nested more than {DEEPEST} levels deep.")
        inside = partial(self.encode, depth=depth + 1)
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if kind in (list, tuple):
            items = [inside(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if kind is list else {"is": "tuple", "items": items}
        if kind in (set, frozenset):
            items = [inside(item, f"an element of {where}") for item in value]
            return {"is": "set", "items": sorted(items, key=repr)}
        if kind is dict:
            fields = {str(k): inside(v, f"{where}[{k!r}]") for k, v in value.items()}
            if all(type(key) is str for key in value):
                return {"is": "dict", "items": fields}
            if all(type(key) is int for key in value):
                return {"is": "dict", "keys": "integers", "items": fields}
            raise Unsaveable(f"{where} has keys that are not text.")
        if kind is slice:
            ends = (value.start, value.stop, value.step)
            return {"is": "slice", "items": [inside(end, f"the slice {where}") for end in ends]}
        if isinstance(value, np.dtype) or (isinstance(value, type) and value in TYPES):
            return _encoded_type(value)
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.generic) and not isinstance(value, np.void):
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
        if id(array) not in self._nodes:
            self._nodes[id(array)] = self._new_array(np.asarray(array), where)
            self._alive.append(array)
        return self._nodes[id(array)]

    def _new_array(self, array: np.ndarray, where: str) -> dict:
        if array.dtype.names:
            columns = {name: self._array(array[name].copy(), where) for name in array.dtype.names}
            return {"is": "record", "fields": columns}
        if array.dtype.kind in "OU":
            return self._texts(array, where)
        if array.dtype.kind in "mM":
            numbers = self._array(array.view("i8"), where)
            return {"is": "times", "units": array.dtype.str[1:], "array": numbers}
        if array.dtype.newbyteorder("=") not in STORABLE:
            reason = f"an array of {array.dtype}, which a model file cannot hold"
            raise Unsaveable(f"{where} is {reason}.")
        name = str(len(self.tensors))
        by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        self.tensors[name] = array.T if by_columns else array
        return {"is": "array", "name": name} | ({"order": "F"} if by_columns else {})

    def _texts(self, array: np.ndarray, where: str) -> dict:
        items = [x.item() if isinstance(x, np.generic) else x for x in array.ravel().tolist()]
        for item in items:
            if type(item) not in PLAIN:
                raise Unsaveable(
                    f"{where} is an array of objects of type {type(item).__name__}; a model file "
                    "can hold only numbers and text."
                )
        kind = "texts" if array.dtype.kind == "U" else "objects"
        encoded = [self.encode(item, where) for item in items]
        return {"is": kind, "shape": list(array.shape), "items": encoded}

    def _sparse(self, matrix: Any, where: str) -> dict:
        if id(matrix) not in self._nodes:
            csr = matrix.tocsr()
            self._nodes[id(matrix)] = {
                "is": "csr",
                "shape": list(csr.shape),
                "sparray": isinstance(matrix, sparse.sparray),
                "data": self._array(csr.data, where),
                "indices": self._array(csr.indices, where),
                "indptr": self._array(csr.indptr, where),
            }
            self._alive.extend((matrix, csr))
        return self._nodes[id(matrix)]


class Decoder:
    """Rebuilds the values of a tree; a tree that is not as `Encoder` writes it is a ValueError."""

    def __init__(
        self,
        tensors: dict[str, np.ndarray],
        decode_object: Callable[[Decoder, dict, int], Any],
    ):
        self._tensors = tensors
        self._arrays: dict[tuple, np.ndarray] = {}
        self._spent, self._budget = 0, 100_000 + 10 * sum(t.nbytes for t in tensors.values())
        self._decode_object = decode_object
        self._decoders: dict[str, Callable[[dict], Any]] = {
            "array": self._array,
            "number": lambda node: self._typed(node.get("array"), "biuf", 0)[()],
            "texts": self._texts,
            "objects": self._objects,
            "times": self._times,
            "record": self._record,
            "csr": self._csr,
            "float": self._float,
            "dtype": _decoded_type,
            "random_state": self._random_state,
        }

    def decode(self, node: Any, depth: int = 0) -> Any:
        if depth > DEEPEST + 5:
            raise ValueError("the model is nested too deeply")
        inside = partial(self.decode, depth=depth + 1)
        if type(node) in PLAIN:
            return node
        if isinstance(node, list):
            return [inside(item) for item in node]
        kind = node.get("is")
        if kind == "tuple":
            return tuple(inside(item) for item in as_list(node.get("items")))
        if kind == "set":
            return {inside(item) for item in as_list(node.get("items"))}
        if kind == "dict":
            as_key = int if node.get("keys") == "integers" else str
            return {as_key(k): inside(v) for k, v in as_dict(node.get("items")).items()}
        if kind == "slice":
            return slice(*(inside(end) for end in as_list(node.get("items"))))
        if isinstance(kind, str) and kind in self._decoders:
            return self._decoders[kind](node)
        return self._decode_object(self, node, depth)

    def _spend(self, size: int) -> None:
        """Refuse a small file that would fill the memory with copies of the same arrays."""
        self._spent += size
        if self._spent > self._budget:
            raise ValueError("its arrays are named too often")

    def _array(self, node: dict) -> np.ndarray:
        """The array of that name; a name that occurs twice gives the same array twice."""
        name, order = node.get("name"), node.get("order", "C")
        if not isinstance(name, str) or name not in self._tensors or order not in ("C", "F"):
            raise ValueError(f"array {name!r} is not in the file")
        if (name, order) not in self._arrays:
            copy = self._tensors[name].astype(self._tensors[name].dtype.newbyteorder("="))
            self._arrays[name, order] = copy.T if order == "F" else copy
        return self._arrays[name, order]

    def _typed(self, node: Any, kinds: str, ndim: int) -> np.ndarray:
        array = self.decode(node)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.ndim != ndim:
            raise ValueError(f"expected an array of {ndim} dimensions of kind {kinds}")
        return array

    def _float(self, node: dict) -> float:
        if node.get("value") not in ("nan", "inf", "-inf"):
            raise ValueError("a float must be nan, inf or -inf")
        return float(node["value"])

    def _items(self, node: dict) -> tuple[list, list[int]]:
        """The items of an array of text or objects, and its shape."""
        items, shape = as_list(node.get("items")), as_list(node.get("shape"))
        if not all(type(size) is int and 0 <= size <= len(items) for size in shape):
            raise ValueError("an array of text has an impossible shape")
        if math.prod(shape) != len(items):
            raise ValueError("the shape of an array of text does not fit its items")
        return items, shape

    def _texts(self, node: dict) -> np.ndarray:
        items, shape = self._items(node)
        if not all(type(item) is str for item in items):
            raise ValueError("an array of text has other items")
        longest = max(map(len, items), default=0)
        refuse_too_large(len(items), longest // 2, "an array of text", "do not trust the file")
        return np.array(items, dtype=str).reshape(shape)

    def _objects(self, node: dict) -> np.ndarray:
        items, shape = self._items(node)
        values = [self.decode(item) for item in items]
        if not all(type(value) in PLAIN for value in values):
            raise ValueError("an array of objects has items that are not numbers or text")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)

    def _times(self, node: dict) -> np.ndarray:
        units = node.get("units")
        if not isinstance(units, str) or len(units) > 12 or units[:1] not in ("m", "M"):
            raise ValueError("times have unknown units")
        values = self.decode(node.get("array"))
        if not isinstance(values, np.ndarray) or values.dtype != np.int64:
            raise ValueError("times are not integers")
        return values.view(np.dtype(units))

    def _record(self, node: dict) -> np.ndarray:
        fields = {k: self._typed(v, "biuf", 1) for k, v in as_dict(node.get("fields")).items()}
        lengths = {len(values) for values in fields.values()}
        if len(lengths) != 1:
            raise ValueError("the fields of a record differ in length")
        self._spend(sum(values.nbytes for values in fields.values()))
        table = np.empty(lengths.pop(), dtype=[(k, v.dtype) for k, v in fields.items()])
        for name, values in fields.items():
            table[name] = values
        return table

    def _csr(self, node: dict) -> sparse.csr_array | sparse.csr_matrix:
        data = self._typed(node.get("data"), "biuf", 1)
        indices, indptr = (self._typed(node.get(name), "i", 1) for name in ("indices", "indptr"))
        shape = as_list(node.get("shape"))
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
            raise ValueError("a sparse matrix has an impossible shape")
        m, n = shape
        self._spend(data.nbytes + indices.nbytes + indptr.nbytes)
        fits = len(indptr) == m + 1 and len(data) == len(indices)
        fits = fits and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
        if not fits or (len(indices) and not (indices.min() >= 0 and indices.max() < n)):
            raise ValueError("the indices of a sparse matrix do not fit its shape")
        kind = sparse.csr_array if node.get("sparray") is True else sparse.csr_matrix
        return kind((data, indices, indptr), shape=(m, n))

    def _random_state(self, node: dict) -> np.random.RandomState:
        keys, state = self._typed(node.get("keys"), "u", 1), as_list(node.get("state"))
        random_state = np.random.RandomState(0)
        random_state.set_state(("MT19937", keys, *state))
        return random_state


def _encoded_type(value: Any) -> dict:
    if isinstance(value, np.dtype):
        if value.names or value.kind not in "biufOU":
            raise Unsaveable(f"the data type {value} is none that a model file can hold.")
        return {"is": "dtype", "name": value.str}
    return {"is": "dtype", "class": value.__name__}


def _decoded_type(node: dict) -> Any:
    if "class" in node:
        named = {one.__name__: one for one in TYPES}
        if node["class"] not in named:
            raise ValueError(f"{node['class']!r} is not a type of numbers")
        return named[node["class"]]
    name = node.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[<>|=]?([biuf]\d|O|U\d{1,6})", name):
        raise ValueError("a data type is none that a model file can hold")
    return np.dtype(name)


def as_list(node: Any) -> list:
    if not isinstance(node, list):
        raise ValueError("expected a list")
    return node


def as_dict(node: Any) -> dict:
    if not isinstance(node, dict):
        raise ValueError("expected an object")
    return node
