"""The command `rankwise`. Each command has its own file; the others hold what commands share.

demo, train, predict, evaluate, crossval, explain, report, export, table,
serve             the commands
recipe_options    options of training, and the recipe that they make
data_options      options of data files: format, columns, further files
data_files        from data files to items or relations
model_files       writing model files, and applying them to data
run_files         runs and judgements of TREC
cluster_training  `train` on a Dask cluster
deferred_imports  modules that are imported when they are first used
console           tables, messages, errors in one line, exit codes, Ctrl-C, files of results

A command is imported when it is called, and its function imports what it works with: help and
completion need neither scikit-learn nor a compiler.
"""

import click

from rankwise import __version__
from rankwise.cli.console import Commands
from rankwise.cli.deferred_imports import defer_import

COMMANDS = {
    "demo": "A tour with built-in data: table, report, files to try.",
    "train": "Learn a model from DATA.",
    "predict": "Score the items of DATA.",
    "evaluate": "Judge a model on DATA with known scores.",
    "crossval": "Compare learners on DATA by cross-validation.",
    "explain": "Why is A above B?",
    "report": "Write a report as one HTML file.",
    "leaderboard": "Turn votes into a leaderboard.",
    "table": "Make a table to train on from TREC runs and judgements.",
    "export": "Write a model for other programs: JSON, ONNX, Elasticsearch, Solr.",
    "serve": "Serve a model over HTTP, with a page to try it.",
}
"""What each command does; the command `name` is the function `name` of rankwise.cli.name."""


@click.group(
    cls=Commands, summaries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="rankwise")
def main() -> None:
    """Learn to rank the items in your files.

    \b
    Five minutes:
      rankwise train train.csv --target score --query user -o model.rw
      rankwise evaluate model.rw test.csv
      rankwise predict model.rw new.csv -o scores.txt
      rankwise report model.rw test.csv -o report.html

    Files are LETOR/SVMlight (qid and #docid are kept), CSV, TSV or Parquet, plain or compressed;
    the format is recognised by name and content. "-" is standard input or output. Exit codes: 0
    success, 2 a mistake in the call or the data, 130 interrupted.
    """
    defer_import("scipy.stats")
