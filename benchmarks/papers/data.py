"""Readers of the papers' data sets, which lie in a folder outside the project.

The folder is ``$RANKWISE_DATA``, else ``../shared/data`` beside the repository. Every reader also
accepts the ``path`` of another copy of its data set. Files may be plain or end in .xz or .gz.
Archives (.tar, .tar.xz, .tar.gz) may be packed or unpacked. Nothing is cached.
"""

from __future__ import annotations

import gzip
import html
import io
import lzma
import os
import re
import tarfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_files
from sklearn.utils import Bunch

REPOSITORY = Path(__file__).resolve().parents[2]


class MissingData(Exception):
    """A data set is missing; the message says in which folder it should be."""


def folder(name: str, path: str | os.PathLike | None = None) -> Path:
    """The folder of the data set ``name``, or ``path`` itself if it is given."""
    root = Path(os.environ.get("RANKWISE_DATA") or REPOSITORY.parent / "shared" / "data")
    found = root / name if path is None else Path(path)
    if not found.is_dir():
        raise MissingData(
            f"{name}: no folder {os.path.relpath(found)}; set RANKWISE_DATA to its parent folder."
        )
    return found


def ohsumed(path=None) -> Bunch:
    """LETOR OHSUMED: dense X, grades y 0-2, qid, and ``part`` 0-4 (files S1..S5) of each item."""
    home = folder("ohsumed", path)
    loaded = _svmlight([_file(home, f"S{i}.txt") for i in range(1, 6)], query_id=True)
    sizes = [len(y) for y in loaded[1::3]]
    return Bunch(
        X=np.vstack([X.toarray() for X in loaded[::3]]),
        y=np.concatenate(loaded[1::3]),
        qid=np.concatenate(loaded[2::3]),
        part=np.repeat(np.arange(5), sizes),
    )


def letor_folds(part: np.ndarray):
    """(train, validation, test) rows of each fold: part i tests, part i − 1 validates."""
    for test in range(5):
        validation = (test - 1) % 5
        held_out = (part == test) | (part == validation)
        yield tuple(np.flatnonzero(rows) for rows in (~held_out, part == validation, part == test))


def scale_per_query(X: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Every feature mapped to [0, 1] within each query; 0 if it is constant in the query."""
    scaled = np.zeros_like(X, dtype=float)
    for query in np.unique(qid):
        rows = qid == query
        low, high = X[rows].min(axis=0), X[rows].max(axis=0)
        scaled[rows] = (X[rows] - low) / np.where(high > low, high - low, 1.0)
    return scaled


def lambdarank(path=None) -> Bunch:
    """LightGBM's ranking example: ``train`` and ``test``, each with CSR X, grades y 0-4 and qid."""
    home = folder("lambdarank", path)
    names = ("train", "test")
    loaded = _svmlight([_file(home, f"rank.{name}") for name in names])
    subsets = {}
    for name, X, y in zip(names, loaded[::2], loaded[1::2]):
        sizes = np.array(_read(_file(home, f"rank.{name}.query")).split(), dtype=int)
        subsets[name] = Bunch(X=X, y=y, qid=np.repeat(np.arange(len(sizes)), sizes))
    return Bunch(**subsets)


def jester(path=None) -> np.ndarray:
    """Jester part 1: (users, 100 jokes) ratings in [−10, 10], nan for missing ratings."""
    table = np.loadtxt(
        io.BytesIO(_read(_file(folder("jester", path), "jester-data-1.csv"))), delimiter=","
    )[:, 1:]
    table[table == 99] = np.nan
    return table


def cadata(path=None) -> Bunch:
    """California housing: X (20640, 8), and y with the median values of the houses."""
    raw = _read(_file(folder("cadata", path), "cal_housing.data"))
    table = np.loadtxt(io.BytesIO(raw), delimiter=",")
    return Bunch(X=table[:, :-1], y=table[:, -1])


def newsgroups20(path=None) -> Bunch:
    """20 newsgroups by date: ``train`` and ``test``, each with ``texts`` and names ``target``."""
    subsets = {name: Bunch(texts=[], target=[]) for name in ("train", "test")}
    for name, raw in _members(folder("20news", path)):
        match = re.search(r"20news-bydate-(train|test)/([^/]+)/\d+$", name)
        if match:
            subsets[match[1]].texts.append(raw.decode("latin-1"))
            subsets[match[1]].target.append(match[2])
    if not all(subset.texts for subset in subsets.values()):
        raise MissingData("20news: the folder has neither the archive nor folders 20news-bydate-*.")
    return Bunch(**subsets)


def reuters21578(path=None, split="modapte") -> Bunch:
    """Reuters-21578: ``texts`` (title, dateline, body), ``topics`` (sets), ``is_train``.

    ``split="modapte"`` keeps the documents with TOPICS="YES" and LEWISSPLIT TRAIN or TEST, 9603 and
    3299 of them; ``"all"`` keeps all 21578.
    """
    texts, topics, is_train = [], [], []
    for name, raw in _members(folder("reuters21578", path)):
        if not name.endswith(".sgm"):
            continue
        for document in re.finditer(
            r"<REUTERS (.*?)>(.*?)</REUTERS>", raw.decode("latin-1"), re.DOTALL
        ):
            attributes = dict(re.findall(r'([A-Z]+)="([^"]*)"', document[1]))
            lewis = attributes["LEWISSPLIT"]
            if split == "modapte" and (attributes["TOPICS"] != "YES" or lewis == "NOT-USED"):
                continue
            topics.append(set(re.findall(r"<D>(.*?)</D>", _element(document[2], "TOPICS"))))
            texts.append(html.unescape(re.sub(r"<[^>]*>", " ", _element(document[2], "TEXT"))))
            is_train.append(lewis == "TRAIN")
    if not texts:
        raise MissingData("reuters21578: the folder has neither the archive nor files reut2-*.sgm.")
    return Bunch(texts=texts, topics=topics, is_train=np.array(is_train))


def _element(document: str, tag: str) -> str:
    return re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", document, re.DOTALL)[1]


def _file(home: Path, name: str) -> Path:
    for suffix in ("", ".xz", ".gz"):
        if (found := home / (name + suffix)).is_file():
            return found
    raise MissingData(f"{home.name}: no file {name}, {name}.xz or {name}.gz in the folder.")


def _read(file: Path) -> bytes:
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(file.suffix, open)
    with opener(file, "rb") as stream:
        return stream.read()


def _svmlight(files: list[Path], **options) -> list:
    streams = [io.BytesIO(_read(file)) for file in files]
    return load_svmlight_files(streams, zero_based=False, **options)


def _members(home: Path):
    """(name, bytes) of every file in the archives of a folder, or in the folder, by name."""
    archives = sorted(file for file in home.iterdir() if ".tar" in file.suffixes)
    for archive in archives:
        with tarfile.open(archive) as stream:
            contents = {m.name: stream.extractfile(m).read() for m in stream if m.isfile()}
        yield from sorted(contents.items())
    if not archives:
        for file in sorted(file for file in home.rglob("*") if file.is_file()):
            yield file.relative_to(home).as_posix(), _read(file)
