"""rankwise export"""

from __future__ import annotations

import sys

import click

from rankwise.cli.console import check_writable, say, working

FORMATS = ("json", "onnx", "elasticsearch", "solr")


@click.command()
@click.argument("model")
@click.option("-o", "--output", required=True, metavar="FILE", help='File to write; "-": stdout.')
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Default: onnx for FILE.onnx, else json.",
)
@click.option(
    "--feature-names", metavar="A,B,...", help="Names of the features, in the order of training."
)
@click.option("--name", metavar="NAME", help="How a search engine calls it; default: from FILE.")
def export(
    model: str, output: str, format_: str | None, feature_names: str | None, name: str | None
) -> None:
    """Write MODEL for other programs, which then compute the same scores as `rankwise predict`.

    \b
    Examples:
      rankwise export model.rw -o model.json
      rankwise export model.rw -o model.onnx
      rankwise export model.rw -o movies.json --format elasticsearch
      rankwise export model.rw -o movies.json --format solr --feature-names bm25,clicks,age

    Scaling becomes part of the file. What a format cannot say exactly is refused with the reason:
    scaling by query, kernels for search engines, relations between objects.
    """
    from pathlib import PurePath

    from rankwise import load
    from rankwise.exports.writing import exported
    from rankwise.io.atomic import write_atomically

    check_writable(output)
    if format_ is None:
        format_ = "onnx" if output.lower().endswith(".onnx") else "json"
    names = None if feature_names is None else [name.strip() for name in feature_names.split(",")]
    with working("exporting"):
        stem = PurePath(output).name.split(".")[0]
        content = exported(load(model), format_, features=names, name=name or stem)
    if output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_atomically(output, [content])
    say(f"Wrote {output} ({format_}, {len(content):,} bytes).")
