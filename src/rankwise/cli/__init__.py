"""The command `rankwise`: demo, train, predict, evaluate, crossval, explain, report."""

import click

from rankwise.cli.crossval import crossval
from rankwise.cli.demo import demo
from rankwise.cli.evaluate import evaluate
from rankwise.cli.explain import explain
from rankwise.cli.failures import Commands
from rankwise.cli.predict import predict
from rankwise.cli.report import report
from rankwise.cli.train import train


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rankwise")
def main():
    """Learn to order things from files of your own, exactly and fast.

    \b
    Five minutes:
      rankwise train train.csv --target score --query user -o model.rw
      rankwise evaluate model.rw test.csv
      rankwise predict model.rw new.csv -o scores.txt
      rankwise report model.rw test.csv -o report.html

    Files are LETOR/SVMlight (qid and #docid kept), CSV, TSV or Parquet, plain or compressed, told
    apart by name and content; "-" is standard input or output. Exit codes: 0 done, 2 a mistake in
    the call or the data, 130 interrupted.
    """


for command in (demo, train, predict, evaluate, crossval, explain, report):
    main.add_command(command)
