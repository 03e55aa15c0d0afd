"""The command `rankwise`."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
@click.version_option(package_name="rankwise")
def main():
    """Learn to order things, exactly and fast."""


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the picture.",
)
def demo(output: Path):
    """Rank patients by risk on data that come with scikit-learn, with exact cross-validation."""
    from rankwise.demo import run

    run(output)
