"""The command `rankwise`. Each command has its own file; the others hold what commands share.

demo, train, predict, evaluate, crossval, explain, report    the commands
recipe_options    options of training, and the recipe that they make
data_options      options of data files: format, columns, further files
data_files        from data files to items or relations
model_files       writing model files, and applying them to data
cluster_training  `train` on a Dask cluster
console           tables, messages, errors in one line, exit codes, Ctrl-C, files of results
"""

import click

from rankwise.cli.console import Commands
from rankwise.cli.crossval import crossval
from rankwise.cli.demo import demo
from rankwise.cli.evaluate import evaluate
from rankwise.cli.explain import explain
from rankwise.cli.predict import predict
from rankwise.cli.report import report
from rankwise.cli.train import train


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rankwise")
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


for command in (demo, train, predict, evaluate, crossval, explain, report):
    main.add_command(command)
