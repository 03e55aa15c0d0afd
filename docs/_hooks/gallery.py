"""Makes the gallery: runs every script of examples/ while the site is built.

Each page shows the output, the figure and the code of a script. If a script fails, the build fails.
"""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mkdocs.structure.files import File

EXAMPLES = Path(__file__).parents[2] / "examples"


def on_files(files, config):
    cards = []
    for script in sorted(EXAMPLES.glob("*.py")):
        title, text, code = _parts(script)
        printed, picture = run(script)
        page = (
            f"# {title}\n\n{text}\n\n![{title}]({script.stem}.png)\n\n"
            f"It prints:\n\n```text\n{printed}```\n\n"
            f"`examples/{script.name}`:\n\n```python\n{code}\n```\n"
        )
        files.append(File.generated(config, f"gallery/{script.stem}.md", content=page))
        files.append(File.generated(config, f"gallery/{script.stem}.png", content=picture))
        cards.append(
            f"## [{title}]({script.stem}.md)\n\n[![{title}]({script.stem}.png)]"
            f"({script.stem}.md)\n\n{text}"
        )
    intro = "Every example ran when this page was built; the scripts are in `examples/`."
    index = "\n\n".join(["# Gallery", intro, *cards])
    files.append(File.generated(config, "gallery/index.md", content=index))
    return files


def run(script: Path) -> tuple[str, bytes]:
    """Run a script; return its printed output and its last figure as PNG."""
    printed, picture = io.StringIO(), io.BytesIO()
    plt.close("all")
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    if not plt.get_fignums():
        raise RuntimeError(f"{script.name} drew no figure")
    plt.gcf().savefig(picture, format="png", dpi=110)
    plt.close("all")
    return printed.getvalue(), picture.getvalue()


def _parts(script: Path) -> tuple[str, str, str]:
    """Title and text of the docstring, and the code below it."""
    source = script.read_text()
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or script.stem).partition("\n\n")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    return title.rstrip("."), text, code
