"""Functions that are compiled when they are first called."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from rankwise.numerics.compiled import Compiled, compiled
from rankwise.numerics.wide_tree import add_to_cell, sum_of_first


@compiled
def _doubled(x):
    return 2 * x


@compiled(inline="always")
def _shifted(x):
    return _doubled(x) + 1


@compiled
def _total(values):
    total = 0.0
    for value in values:
        total += _shifted(value)
    return total


@compiled(plain=True)
def _positive(x):
    return x > 0


class _Column(NamedTuple):
    values: np.ndarray
    name: int


@compiled
def _sum_of(column):
    total = 0
    for i in range(len(column.values)):
        total += column.values[i]
    return total


@compiled
def _count(values):
    count = 0
    for value in values:
        if _positive(value):
            count += 1
    return count


def test_compiled_functions_call_each_other():
    assert _total(np.arange(4.0)) == 16.0
    assert _total(values=np.arange(4.0)) == 16.0


def test_a_plain_function_stays_python_outside_compiled_loops():
    assert _positive(np.array([-1.0, 2.0])).tolist() == [False, True]
    assert _count(np.array([-1.0, 2.0, 3.0])) == 2


def test_threads_share_one_dispatcher():
    @compiled
    def twice(x):
        return x + x

    with ThreadPoolExecutor(4) as pool:
        assert len({id(found) for found in pool.map(lambda _: twice.dispatcher, range(8))}) == 1


def test_a_compiled_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(sum_of_first)) is sum_of_first
    assert isinstance(add_to_cell, Compiled) and add_to_cell.__doc__.startswith("Add")


@pytest.mark.parametrize("name", ["RankRLS", "RankSVM", "RankBoost", "MPRank", "ConditionalRanker"])
def test_no_learner_imports_numba_before_it_needs_it(name):
    code = f"import sys; from rankwise import {name}; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


SUMS = """
import numpy as np
from rankwise.numerics.wide_tree import sum_of_first
values = np.arange(16.0)
print(sum_of_first(values, 10, 7), sum_of_first(values[::2], 7, 7))
"""


def test_machine_code_for_other_types_is_not_run(tmp_path):
    """Two processes that fill the cache at once may give two files the same number. For an array
    with gaps, the code for one without gaps would read other memory."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def sums():
        run = subprocess.run(
            [sys.executable, "-c", SUMS], env=environment, capture_output=True, encoding="utf-8"
        )
        return run.stdout + run.stderr

    expected = sums()
    assert expected == "7.0 14.0\n"
    first, second = sorted(tmp_path.rglob("*sum_of_first*.nbc"))
    second.write_bytes(first.read_bytes())
    assert sums() == expected
    assert sums() == expected, "the file was written again"


def test_arrays_in_a_named_tuple_are_told_apart_by_their_layout():
    """numba 0.60 runs machine code for contiguous arrays on others, and reads foreign memory."""
    for _ in range(20):
        assert _sum_of(_Column(np.arange(5, dtype=np.int32), 0)) == 10
        assert _sum_of(_Column(np.broadcast_to(np.int32(1), 5), 0)) == 5
        assert _sum_of(_Column(np.arange(10, dtype=np.int32)[::2], 0)) == 20
