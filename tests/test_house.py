"""Rules of the house that no linter checks: where files are, how large, and who knows what."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import rankwise

ROOT = Path(rankwise.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}

REPEATED_NAMES = {"__init__.py", "__main__.py", "rank_rls.py", "rank_svm.py"}
"""The learners on Dask have the names of those in memory."""
LINES_OF_FILE, LINES_OF_FUNCTION, PARAMETERS, COMPILED_PARAMETERS = 400, 80, 9, 8
MANY_PARAMETERS = {"learners", "io", "evaluation"}
"""Rooms whose public functions may have more: users call them with keywords."""
PRIVATE_OF_OTHERS = {
    "_replace",  # NamedTuple's; documented
    "_exit",  # of os; documented
    "_cache",  # of numba's dispatchers: where their machine code is kept
    "_meta",  # Dask's empty example of a collection
    "_safe_split",  # scikit-learn's, and the next one
    "_num_samples",
    "_safe_indexing",
    "_validate_params",  # of scikit-learn's estimators: their declared arguments
}
OLDER_STATE = {"io/model_schemas.py": {"_map"}}  # how older model files call a part of a KernelMap
KERNELS = {"linear", "rbf", "precomputed", "poly", "polynomial", "sigmoid", "laplacian", "cosine"}
KERNELS |= {"chi2", "additive_chi2"}
LOSSES = {"magnitude", "unit", "relative", "hinge", "squared_hinge"}
ONE_PLACE = {
    "spaces/kernels.py": KERNELS,
    "losses/losses_by_name.py": LOSSES,
    "io/edge_lists.py": {"magnitude"},  # a column of a file of preferences, not a loss
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions() -> Iterator[tuple[str, Function]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield relative(path), node


def n_parameters(function: Function) -> int:
    """Without self and cls."""
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
    own = names[:1] in (["self"], ["cls"])
    return len(names) - own + bool(arguments.vararg) + bool(arguments.kwarg)


def is_compiled(function: Function) -> bool:
    return any("compiled" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_the_root_holds_rooms():
    files = {path.name for path in TREES if path.parent == ROOT}
    assert files == {"__init__.py", "exceptions.py", "validation.py"}


def test_file_names_are_unique():
    counts = Counter(path.name for path in TREES)
    assert {name for name, count in counts.items() if count > 1} <= REPEATED_NAMES


def test_files_are_short():
    long = [
        relative(path)
        for path in TREES
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES_OF_FILE
    ]
    assert long == []


def lines_of_code(function: Function) -> int:
    """Without the docstring: arguments are explained at length, with examples."""
    first, *_ = function.body
    match first:
        case ast.Expr(value=ast.Constant(value=str())):
            return function.end_lineno - function.lineno - (first.end_lineno - first.lineno)
    return function.end_lineno - function.lineno


def test_functions_are_short():
    long = [
        f"{path}: {function.name}"
        for path, function in functions()
        if lines_of_code(function) >= LINES_OF_FUNCTION
    ]
    assert long == []


def test_functions_have_few_parameters():
    many = []
    for path, function in functions():
        count, name = n_parameters(function), function.name
        is_public = not name.startswith("_") and path.split("/")[0] in MANY_PARAMETERS
        if is_compiled(function):
            allowed = count <= COMPILED_PARAMETERS
        else:
            allowed = count <= PARAMETERS or name == "__init__" or is_public
        if not allowed:
            many.append(f"{path}: {name} has {count}")
    assert many == []


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in PRIVATE_OF_OTHERS


def is_own(owner: ast.expr) -> bool:
    return ast.unparse(owner) in ("self", "cls", "type(self)", "super()")


def defined_names(tree: ast.Module) -> set[str]:
    """Functions, classes, variables and fields of a file, and the attributes that it sets."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=owner, attr=name, ctx=ast.Store()) if is_own(owner):
                names.add(name)
    return names


def private_names_used(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Underscore names of other objects: as attributes, in getattr and in imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=owner, attr=name) if not is_own(owner):
                yield node.lineno, name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr" | "delattr"),
                args=[owner, ast.Constant(value=str(name)), *_],
            ) if not is_own(owner):
                yield node.lineno, name
            case ast.ImportFrom(names=imported):
                yield from ((node.lineno, alias.name) for alias in imported)


def test_private_names_stay_in_their_file():
    wrong = []
    for path, tree in TREES.items():
        known = defined_names(tree) | OLDER_STATE.get(relative(path), set())
        wrong += [
            f"{relative(path)}:{line}: {name}"
            for line, name in private_names_used(tree)
            if is_private(name) and name not in known
        ]
    assert wrong == []


def compared_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Strings in comparisons, also in tuples and sets of them, and in cases of a match."""
    for node in ast.walk(tree):
        sides: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                sides += side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        for side in sides:
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                yield side.lineno, side.value


@pytest.mark.parametrize("names", [KERNELS, LOSSES], ids=["kernels", "losses"])
def test_one_place_compares_names(names):
    wrong = [
        f"{relative(path)}:{line}: {value}"
        for path, tree in TREES.items()
        for line, value in compared_strings(tree)
        if value in names - ONE_PLACE.get(relative(path), set())
    ]
    assert wrong == []


def opened_without_encoding(tree: ast.Module) -> Iterator[int]:
    """Lines that open a text file in the encoding of the system, which is not UTF-8 on Windows."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="read_text"), args=[], keywords=named):
                is_text = True
            case ast.Call(func=ast.Attribute(attr="write_text"), args=[_], keywords=named):
                is_text = True
            case ast.Call(func=ast.Name(id="open"), args=[_, *mode], keywords=named):
                is_binary = any("b" in ast.unparse(each) for each in mode[:1])
                is_text = not is_binary and "/proc/" not in ast.unparse(node)
            case _:
                continue
        if is_text and not {"encoding", "mode"} & {keyword.arg for keyword in named}:
            yield node.lineno


def test_text_files_are_opened_with_an_encoding():
    tests = Path(__file__).parent
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in tests.rglob("*.py")}
    wrong = [
        f'{path}:{line}: add encoding="utf-8"'
        for path, tree in {**TREES, **trees}.items()
        for line in opened_without_encoding(tree)
    ]
    assert wrong == []


def test_the_rules_see_what_they_forbid():
    """Each rule finds its example, so none of them passes because it finds nothing at all."""
    tree = ast.parse(
        "from a import _b\n"
        "x._c = getattr(x, '_d')\n"
        "self._own = cls._own = y._own\n"
        "if kernel in ('linear', k) or loss != 'hinge': pass\n"
        "@compiled(inline=True)\ndef f(self, a, b, *c, d=1, **e): pass\n"
    )
    used = {name for _, name in private_names_used(tree)} - defined_names(tree)
    assert used == {"_b", "_c", "_d"}
    assert [value for _, value in compared_strings(tree)] == ["linear", "hinge"]
    (function,) = (node for node in ast.walk(tree) if isinstance(node, Function))
    assert is_compiled(function) and n_parameters(function) == 5
    tree = ast.parse(
        "open(path)\npath.read_text()\npath.write_text(text)\nopen(path, 'w', newline='')\n"
        "open(path, 'rb'), path.read_text(encoding='utf-8'), open(path, encoding='ascii')\n"
    )
    assert sorted(opened_without_encoding(tree)) == [1, 2, 3, 4]
