"""Makes the API pages from docstrings, one per entry of SECTIONS, and quotes source code in pages.

A line `::: source rankwise.losses.risk.Risk` in a page is replaced by the source of that object.
"""

from __future__ import annotations

import importlib
import inspect
import re

from mkdocs.structure.files import File

SECTIONS: dict[str, tuple[str, list[str]]] = {
    "learners": (
        "Learners",
        [
            "rankwise.RankRLS",
            "rankwise.RankRLSCV",
            "rankwise.GreedyRankRLS",
            "rankwise.RLS",
            "rankwise.RankLogistic",
            "rankwise.RankLogisticCV",
            "rankwise.RankSVM",
            "rankwise.RankSVMCV",
            "rankwise.MPRank",
            "rankwise.MPRankCV",
            "rankwise.SVRank",
            "rankwise.RankBoost",
            "rankwise.ConditionalRanker",
            "rankwise.ConditionalRankerCV",
            "rankwise.TwoStepRanker",
            "rankwise.TwoStepRankerCV",
            "rankwise.KernelFilter",
            "rankwise.NearestNodes",
        ],
    ),
    "supervision": (
        "Preferences, kernel maps, folds, errors",
        [
            "rankwise.Preferences",
            "rankwise.Censored",
            "rankwise.KernelMap",
            "rankwise.features",
            "rankwise.selection",
            "rankwise.exceptions",
        ],
    ),
    "files": (
        "Data and files",
        ["rankwise.datasets", "rankwise.save", "rankwise.load", "rankwise.export"],
    ),
    "metrics": ("Measures", ["rankwise.metrics"]),
    "graphs": (
        "Graphs, and interactions in text",
        ["rankwise.graphs", "rankwise.applications.ppi"],
    ),
    "evaluation": ("Estimating performance", ["rankwise.evaluation"]),
    "dask": ("Dask", ["rankwise.dask"]),
}


def on_files(files, config):
    for name, (title, objects) in SECTIONS.items():
        body = "\n\n".join(_render(path) for path in objects)
        page = f"# {title}\n\n{body}\n"
        files.append(File.generated(config, f"api/{name}.md", content=page))
    return files


def on_page_markdown(markdown, page, config, files):
    return re.sub(r"^::: source (\S+)$", _quote_source, markdown, flags=re.M)


def _quote_source(match) -> str:
    return f"```python\n{inspect.getsource(_find(match[1]))}```"


def _find(path: str):
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return getattr(importlib.import_module(module), name)


def _render(path: str) -> str:
    found = _find(path)
    if inspect.ismodule(found):
        return _render_module(path, found)
    return _render_object(path, found, level=2)


def _render_module(path: str, module) -> str:
    parts = [f"## {path}", to_markdown(inspect.getdoc(module) or "")]
    names = getattr(module, "__all__", None) or [
        name
        for name, found in vars(module).items()
        if getattr(found, "__module__", "") == module.__name__ and not name.startswith("_")
    ]
    parts += [_render_object(f"{path}.{name}", getattr(module, name), level=3) for name in names]
    return "\n\n".join(parts)


def _render_object(path: str, found, level: int) -> str:
    name = path.rpartition(".")[2]
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return f"{'#' * level} {name}\n\n`{path}` = `{found!r}`"
    parts = [f"{'#' * level} {name}", _signature(path, found), to_markdown(inspect.getdoc(found))]
    if inspect.isclass(found):
        parts += [_render_method(name, method) for name, method in _methods(found)]
    return "\n\n".join(part for part in parts if part)


def _methods(cls):
    """Public methods with a docstring in rankwise, inherited ones first."""
    found = {}
    for owner in reversed(cls.__mro__):
        if owner.__module__.startswith("rankwise"):
            for name, member in vars(owner).items():
                function = getattr(member, "fn", getattr(member, "__func__", member))
                if inspect.isfunction(function) and function.__doc__ and not name.startswith("_"):
                    found[name] = function
    return found.items()


def _render_method(name: str, method) -> str:
    text = to_markdown(inspect.getdoc(method))
    indented = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
    arguments = _signature(name, method).splitlines()[1:-1]
    heading = " ".join(line.strip() for line in arguments)
    return f"`{heading}`\n\n:   {indented.lstrip()}"


def _signature(path: str, found) -> str:
    try:
        signature = inspect.signature(found)
    except ValueError:
        return ""
    kept = [
        p.replace(annotation=inspect.Parameter.empty)
        for name, p in signature.parameters.items()
        if name != "self"
    ]
    plain = signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)
    return f"```python\n{path.rpartition('.')[2]}{_folded(str(plain))}\n```"


def _folded(arguments: str, width: int = 88) -> str:
    """The arguments, on several lines if one line would be too long."""
    if len(arguments) <= width:
        return arguments
    lines, line = [], ""
    for argument in arguments[1:-1].split(", "):
        if len(line) + len(argument) > width:
            lines.append(line.rstrip())
            line = ""
        line += f"{argument}, "
    lines.append(line.rstrip().rstrip(","))
    return "(\n    " + "\n    ".join(lines) + "\n)"


def to_markdown(docstring: str | None) -> str:
    """Turn underlined sections into bold words, their entries into lists, doctests into code."""
    if not docstring:
        return ""
    lines = docstring.splitlines()
    out: list[str] = []
    section, i = None, 0
    while i < len(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]):
            section = lines[i]
            out += ["", f"**{section}**", ""]
            i += 2
        elif lines[i].startswith(">>>"):
            end = next((j for j in range(i, len(lines)) if not lines[j].strip()), len(lines))
            out += ["```pycon", *lines[i:end], "```"]
            i = end
        elif section in ("Parameters", "Attributes", "Returns") and lines[i].strip():
            entry = [lines[i]]
            while i + 1 < len(lines) and (lines[i + 1].startswith(" ") or _runs_on(lines[i])):
                i += 1
                entry.append(lines[i].strip())
            out.append(_entry(" ".join(entry)))
            i += 1
        else:
            out.append(lines[i])
            i += 1
    return "\n".join(out)


def _runs_on(line: str) -> bool:
    return line.endswith(",") and " : " not in line


def _entry(text: str) -> str:
    name, colon, rest = text.partition(" : ")
    return f"- `{name}`: {rest}" if colon else f"- `{text}`"
