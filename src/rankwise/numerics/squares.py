"""G += AᵀA by BLAS, without the interpreter's lock.

SciPy's own wrappers of BLAS keep the lock, so that threads which call them take turns. NumPy's
product lets others work, but writes a new matrix each time. This calls the same BLAS as SciPy's
wrapper, through the pointers that SciPy offers to compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import cython_blas
from scipy.linalg.blas import dsyrk


def add_squares(G: np.ndarray, A: np.ndarray, factor: float = 1.0) -> None:
    """G += factor · AᵀA on and below the diagonal, O(k n²); G (n, n) is in Fortran order."""
    if not A.size:
        return
    A = np.ascontiguousarray(A, dtype=np.float64)
    call = _dsyrk_without_lock()
    if call is None:
        G[:] = dsyrk(factor, A.T, beta=1.0, c=G, overwrite_c=1, lower=1)
        return
    assert G.flags.f_contiguous and G.dtype == np.float64
    k, n = A.shape
    call(factor, A, n, k, G)


@cache
def _dsyrk_without_lock() -> Callable[[float, np.ndarray, int, int, np.ndarray], None] | None:
    """The function of BLAS; None if SciPy was built with integers of another size."""
    capsule = cython_blas.__pyx_capi__["dsyrk"]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    signature = name_of(capsule)
    if signature is None or signature.count(b"int *") != 4:
        return None
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, signature)
    assert address is not None
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 10)(address)

    def call(factor: float, A: np.ndarray, n: int, k: int, G: np.ndarray) -> None:
        triangle, transposed = ctypes.c_char(b"L"), ctypes.c_char(b"N")
        width, depth = ctypes.c_int(n), ctypes.c_int(k)
        alpha, beta = ctypes.c_double(factor), ctypes.c_double(1.0)
        scalars = [ctypes.addressof(each) for each in (triangle, transposed, width, depth, alpha)]
        function(
            *scalars,
            A.ctypes.data,
            ctypes.addressof(width),
            ctypes.addressof(beta),
            G.ctypes.data,
            ctypes.addressof(width),
        )

    return call
