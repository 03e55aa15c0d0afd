"""The options that say how cells of DATA become features, and where further features are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import click

CELLS = {
    "categorical": click.option(
        "--categorical",
        metavar="COLUMN",
        multiple=True,
        help="Tables: a column of categories, a feature for each level (repeatable).",
    ),
    "decimal": click.option(
        "--decimal",
        type=click.Choice(["auto", ".", ","]),
        default="auto",
        help="Tables: the decimal sign; auto finds it.",
    ),
    "encoding": click.option(
        "--encoding", metavar="NAME", help="Of the text of DATA, if it is not UTF-8: cp1252, ..."
    ),
    "features": click.option(
        "--features",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Further features, .npy or .npz with one row per item (repeatable).",
    ),
}


@dataclass(frozen=True)
class CellOptions:
    """The values of CELLS, and what training found: how columns were read, and which arrays."""

    categorical: tuple[str, ...] = ()
    decimal: str = "auto"
    encoding: str | None = None
    features: tuple[str, ...] = ()
    learnt: tuple[dict[str, Any], ...] = ()  # FeatureColumn.record() of each column
    arrays: tuple[dict[str, Any], ...] = ()  # name and width of each array of --features

    @property
    def given(self) -> str | None:
        """The first option that was given, or None."""
        usual = CellOptions()
        names = (name for name in CELLS if getattr(self, name) != getattr(usual, name))
        return next((f"--{name}" for name in names), None)

    def record(self) -> dict[str, Any]:
        """What a model must know to read new data; nothing if all columns are plain numbers."""
        record: dict[str, Any] = {}
        if self.learnt:
            record["learnt"] = list(self.learnt)
        if self.arrays:
            record["arrays"] = list(self.arrays)
        return record

    def over(self, record: dict[str, Any]) -> CellOptions:
        """These options with what the record of a model says about columns and arrays."""
        learnt, arrays = (tuple(record.get(name, ())) for name in ("learnt", "arrays"))
        return replace(self, learnt=learnt, arrays=arrays)
