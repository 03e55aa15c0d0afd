"""rankwise predict over a folder: one file of predictions for each data file.

Each file is written completely or not at all. A file that cannot be read is named, and the others
go on. Ctrl-C keeps the files that are finished.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from rankwise.cli.console import Mistake, PartlyDone, in_words, say, working
from rankwise.cli.data_options import DataOptions
from rankwise.cli.model_files import ModelAndData
from rankwise.cli.result_files import ENDINGS, write_predictions
from rankwise.io.source import files_of
from rankwise.numerics.progress import progress_bar

COMPRESSED = {".gz", ".xz", ".bz2"}
DATA = {*ENDINGS, ".tab", ".txt", ".dat", ".letor", ".svm", ".svmlight"}
"""Endings of data files, which the names of predictions do not repeat."""
OWN_ENDINGS = {"scores": ".txt", "trec": ".run", "jsonl": ".jsonl"}


@dataclass(frozen=True)
class Folder:
    """What to predict, where to, and as what."""

    task: ModelAndData
    output: Path
    kind: str
    tag: str

    def targets(self) -> dict[str, Path]:
        """The file of predictions for each data file."""
        root = Path(self.task.data_path or ".")
        if self.output.resolve().is_relative_to(root.resolve()):
            raise Mistake(
                f"{self.output} lies in {root}, where predictions would become data: name another "
                "folder with -o."
            )
        found: dict[Path, str] = {}
        for file in files_of(str(root), leave_out=".query"):
            target = self.output / Path(file).relative_to(root).parent / self._name(Path(file).name)
            if target in found:
                raise Mistake(
                    f"{found[target]} and {file} would both be written to {target}: rename one."
                )
            found[target] = file
        return {file: target for target, file in found.items()}

    def _name(self, name: str) -> str:
        path = Path(name)
        for endings in (COMPRESSED, DATA):
            if path.suffix.lower() in endings and path.stem:
                path = Path(path.stem)
        return path.name + OWN_ENDINGS.get(self.kind, f".{self.kind}")

    def predict(self, file: str, target: Path) -> str | None:
        """Write the predictions of one file; the reason in words if that is not possible."""
        task = replace(self.task, data_path=file)
        vars(task)["model"] = _model_of(self.task.model_path, _version(self.task.model_path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_predictions(task.scored(), str(target), self.kind, self.tag)
        except click.ClickException as error:
            return error.format_message()
        except (ValueError, OSError, MemoryError, ImportError) as error:
            return in_words(error)
        return None


def _version(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=2)
def _model_of(path: str, version: tuple[int, int]) -> Any:
    """The model, read once by each worker."""
    return ModelAndData(path, "", DataOptions()).model


def predict_folder(folder: Folder, where: str | int | None, resume: bool) -> None:
    """Predict all files, here or on the workers of a Dask cluster (see cluster_training).

    With `resume`, predictions that are newer than their data and the model are left as they are.
    """
    if folder.task.model_path == "-":
        raise Mistake("a folder needs a model file: standard input can be read only once.")
    targets = folder.targets()
    pending = {f: t for f, t in targets.items() if not (resume and _is_done(folder, f, t))}
    model_path = folder.task.model_path
    _model_of(model_path, _version(model_path))  # if it cannot be read, that is one error
    done = len(targets) - len(pending)
    failed: list[str] = []
    try:
        with working("predicting"), progress_bar(len(targets), "files") as advance:
            for _ in range(done):
                advance()
            for file, reason in _results(folder, pending, where):
                advance()
                if reason is None:
                    done += 1
                else:
                    failed.append(file)
                    say(f"Error: {reason if file in reason else f'{file}: {reason}'}")
    except KeyboardInterrupt:
        raise PartlyDone(
            f"{done} of {len(targets)} files are written in {folder.output}, each of them whole. "
            "--resume goes on with the others."
        ) from None
    if failed:
        raise Mistake(
            f"{len(failed)} of {len(targets)} files could not be predicted, see above; the others "
            f"are in {folder.output}."
        )
    say(f"Wrote predictions of {len(targets)} files to {folder.output}.")


def _is_done(folder: Folder, file: str, target: Path) -> bool:
    try:
        written = target.stat().st_mtime_ns
    except OSError:
        return False
    return written > max(_version(path)[0] for path in (file, folder.task.model_path))


def _results(
    folder: Folder, pending: dict[str, Path], where: str | int | None
) -> Iterator[tuple[str, str | None]]:
    """Each file as soon as it is finished, with the reason if it failed."""
    if where is None or not pending:
        for file, target in pending.items():
            yield file, folder.predict(file, target)
        return
    from rankwise.cli.cluster_training import connected

    with connected(where) as client:
        from distributed import as_completed

        shared = client.scatter(folder, broadcast=True)
        futures = {
            client.submit(Folder.predict, shared, file, target, pure=False): file
            for file, target in pending.items()
        }
        for future in as_completed(futures):
            yield futures[future], _reason(future)


def _reason(future: Any) -> str | None:
    try:
        return future.result()
    except Exception as error:  # whatever ended a worker
        return in_words(error)
