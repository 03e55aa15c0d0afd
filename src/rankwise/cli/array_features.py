"""Features in .npy and .npz files beside DATA: found in training, and asked for in prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.cli.console import Mistake
from rankwise.cli.data_options import CellOptions
from rankwise.cli.run_files import named_file
from rankwise.io.array_files import as_features, read_arrays
from rankwise.workflow.ranking_data import Items, counted

DEFAULT_NAME = "features"


def array_features(
    items: Items, cells: CellOptions, trained: bool
) -> tuple[list[str], list[np.ndarray], tuple[dict[str, Any], ...]]:
    """Names of features, blocks (m, n_j) in float64, and name and width of each array.

    An array of a .npz file is called by its key, that of a .npy file by the name that was given,
    NAME=FILE, else "features", "features2", ... With a model the arrays must be those of training.
    """
    found = _named_arrays(cells.features)
    for name, (path, array) in found.items():
        if len(array) != len(items):
            what = f"{path}, array {name!r}" if path.endswith("z") else path
            raise Mistake(
                f"{what} has {counted(len(array), 'row')}, but {items.source} has "
                f"{counted(len(items), 'item')}: they must be the same items in the same order."
            )
    if trained:
        _check_trained(found, cells)
        found = {record["name"]: found[record["name"]] for record in cells.arrays}
    names, blocks = [], []
    for name, (path, array) in found.items():
        names += [f"{name}_{j}" for j in range(array.shape[1])]
        blocks.append(as_features(array, path))
    clash = next((name for name in names if name in set(items.features)), None)
    if clash is not None:
        raise Mistake(f"{items.source} has a feature {clash!r} too: give --features NAME=FILE.")
    arrays = tuple({"name": name, "width": int(a.shape[1])} for name, (_, a) in found.items())
    return names, blocks, arrays


def _named_arrays(given: tuple[str, ...]) -> dict[str, tuple[str, np.ndarray]]:
    """{name: (path, array)} of all files."""
    found: dict[str, tuple[str, np.ndarray]] = {}
    unnamed = 0
    for one in given:
        prefix, path = named_file(one)
        if path == "-":
            raise Mistake("--features names a file: arrays are mapped, not read from a pipe.")
        for key, array in read_arrays(path).items():
            name = key or prefix
            if not name:
                unnamed += 1
                name = DEFAULT_NAME + (str(unnamed) if unnamed > 1 else "")
            elif key and prefix:
                name = f"{prefix}.{key}"
            if name in found:
                raise Mistake(f"two arrays are called {name!r}: give --features NAME=FILE.")
            found[name] = (path, array)
    return found


def _check_trained(found: dict[str, tuple[str, np.ndarray]], cells: CellOptions) -> None:
    """Raise an error unless the arrays are those of training."""
    wanted = {record["name"]: int(record["width"]) for record in cells.arrays}
    for name, width in wanted.items():
        if name not in found:
            has = f"; {', '.join(found)} is given" if found else ""
            raise Mistake(
                f"the model was trained with {width} features of the array {name!r}: give it with "
                f"--features (NAME=FILE names a .npy file){has}."
            )
        path, array = found[name]
        if array.shape[1] != width:
            raise Mistake(
                f"{path} has {counted(array.shape[1], 'column')}, but the model was trained on "
                f"{width} of the array {name!r}."
            )
    extra = next((name for name in found if name not in wanted), None)
    if extra is not None:
        raise Mistake(f"the model was trained without the array {extra!r}: leave it out.")
