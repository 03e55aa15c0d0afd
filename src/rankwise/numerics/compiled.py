"""Loops that numba compiles when they are first called, so that no import waits for numba.

`@compiled` stands for numba's `@njit(cache=True, nogil=True)`, with a check of the cache. Loading a
linear model and predicting with it calls no such loop, so that numba, whose import takes 0.3 s, is
not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast, overload

P = ParamSpec("P")
R = TypeVar("R")
_RESOLVING = RLock()


@overload
def compiled(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def compiled(
    *, plain: bool = False, **options: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def compiled(function: Any = None, *, plain: bool = False, **options: Any) -> Any:
    """Compile at the first call. `options` are further options of numba's njit.

    A `plain` function stays Python where Python calls it (with arrays, say), and is compiled inside
    the compiled functions that call it.
    """
    if function is None:
        return lambda decorated: Compiled(decorated, plain, options)
    return Compiled(function, plain, options)


class Compiled:
    """Calls its dispatcher, which numba makes of the function when it is first needed."""

    def __init__(self, function: Callable, plain: bool, options: dict[str, Any]):
        self._function = cast(FunctionType, function)
        self._plain, self._options = plain, options
        update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return (self._function if self._plain else self.dispatcher)(*arguments, **named)

    def __reduce__(self) -> str:
        return self._function.__qualname__

    @cached_property
    def dispatcher(self) -> Callable:
        """numba's dispatcher, with the dispatchers of all compiled functions that it calls."""
        from numba import njit

        from rankwise.numerics.checked_cache import CheckedCache

        with _RESOLVING:
            if "dispatcher" in vars(self):  # another thread was first
                return cast(Callable, vars(self)["dispatcher"])
            function = self._with_dispatchers()
            dispatcher = njit(nogil=True, **self._options)(function)
            dispatcher._cache = CheckedCache(function)
            vars(self)["dispatcher"] = dispatcher
            return cast(Callable, dispatcher)

    def _with_dispatchers(self) -> FunctionType:
        """The function with numba's dispatchers in place of this class among its globals."""
        given = self._function
        called = [given.__globals__.get(name) for name in given.__code__.co_names]
        resolved = {
            name: value.dispatcher
            for name, value in zip(given.__code__.co_names, called)
            if isinstance(value, Compiled)
        }
        known = {**given.__globals__, **resolved}
        function = FunctionType(given.__code__, known, given.__name__, given.__defaults__)
        function.__module__, function.__qualname__ = given.__module__, given.__qualname__
        return function
