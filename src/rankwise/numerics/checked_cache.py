"""numba's files of machine code, with a check that a file holds what it is asked for."""

from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.sigutils import normalize_signature


class CheckedCache(FunctionCache):
    """Takes machine code for other types as missing, so that it is compiled again.

    The files of a function are numbered, and an index tells which number is for which types. Two
    processes that compile the function at the same time, for different types, may both take the
    same number. numba would then run the machine code of one for the arguments of the other.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What the cache holds for the types, or None."""
        found = super().load_overload(sig, target_context)
        if found is not None and tuple(found.signature.args) != normalize_signature(sig)[0]:
            return None
        return found
