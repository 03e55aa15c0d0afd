"""rankwise demo: patients ranked by risk, judged exactly, in under a minute."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from rankwise.cli.console import stdout, table, working, write_text
from rankwise.workflow.items import Items
from rankwise.workflow.recipe import Recipe
from rankwise.workflow.training import path_of
from rankwise.workflow.training import train as train_model

LEARNERS = {
    "rank-rls, linear": Recipe(scale="standard", cv="leave-pair-out"),
    "rank-rls, Gaussian kernel": Recipe(kernel="rbf", scale="standard", cv="leave-pair-out"),
    "rank-svm, linear": Recipe(learner="rank-svm", scale="standard"),
}
HELD_OUT = 92


@click.command(short_help="A tour on data that come along: table, report, files to try.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for what it writes.",
)
def demo(output: Path):
    """Rank patients by risk: three learners, exact cross-validation, a report.

    \b
    Examples:
      rankwise demo
      rankwise demo -o tour
    """
    from rankwise import save
    from rankwise.report import build_report

    console = stdout()
    seen, unseen = _patients()
    m = len(seen)
    pairs = m * (m - 1) // 2
    console.print(
        f"[bold]{m} patients, 10 measurements, disease progression a year later[/] (shipped with "
        f"scikit-learn).\nHow well does a model order two patients it has never seen? Exact "
        f"leave-pair-out: {pairs:,} models\nfor each of 31 alphas, none of them refitted; "
        f"rank-svm by 5 folds. Then {len(unseen)} patients kept aside."
    )
    output.mkdir(parents=True, exist_ok=True)
    made = table(
        "learner",
        "chosen alpha",
        "unseen pairs right",
        "95% interval",
        "kept aside",
        "time",
        right=(1, 2, 4, 5),
    )
    best, models = (0.0, ""), {}
    for name, recipe in LEARNERS.items():
        started = time.perf_counter()
        with working(name):
            model = models[name] = train_model(recipe, seen)
            aside = _concordance(model, unseen)
        seconds = time.perf_counter() - started
        path: Any = path_of(model)
        score, error = path.at_chosen
        interval = f"{score - 1.96 * error:.3f} to {score + 1.96 * error:.3f}"
        row = (f"{path.chosen:g}", f"{score:.3f}", interval, f"{aside:.3f}", f"{seconds:.1f} s")
        made.add_row(name, *row)
        if score > best[0]:
            best = (score, name)
    console.print(made)
    console.print(f"Refitting without two patients differs from the shortcut by {_gap(seen):.1e}.")
    chosen = models[best[1]]
    with working("writing the report"):
        save(chosen, output / "model.rw")
        for name, items in (("patients.csv", seen), ("unseen.csv", unseen)):
            write_text(str(output / name), _as_csv(items))
        unseen.source = str(output / "unseen.csv")
        commands = [
            ["rankwise", "demo", "-o", str(output)],
            ["rankwise", "report", str(output / "model.rw"), str(output / "unseen.csv")],
        ]
        title = "Patients by disease progression"
        page = build_report(chosen, unseen, title=title, commands=commands)
        write_text(str(output / "report.html"), page)
    console.print(
        f"\nReport: [bold]{output / 'report.html'}[/] (open it in a browser). Try next:\n"
        f"  rankwise explain {output / 'model.rw'} {output / 'unseen.csv'}\n"
        f"  rankwise crossval {output / 'patients.csv'} --scale standard"
    )


def _patients() -> tuple[Items, Items]:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    names = np.array([f"patient {i + 1}" for i in range(len(data.target))])
    features = [str(name) for name in data.feature_names]
    source = "diabetes (scikit-learn)"
    items = Items(data.data, data.target, None, names, features, source)
    order = np.random.default_rng(0).permutation(len(items))
    return items.take(np.sort(order[HELD_OUT:])), items.take(np.sort(order[:HELD_OUT]))


def _concordance(model, items: Items) -> float:
    from rankwise.metrics import concordance

    return concordance(items.y, model.predict(items.X))


def _gap(items: Items) -> float:
    """The largest deviation of a closed-form hold-out from a refit, on one pair."""
    from rankwise import RankRLS
    from rankwise.learners.item_scaler import ItemScaler

    X, pair = ItemScaler().fit_transform(items.X), np.array([3, 100])
    shortcut = RankRLS(256.0).fit(X, items.y).leave_pair_out(pair[None])[0]
    rest = np.delete(np.arange(len(items)), pair)
    refitted = RankRLS(256.0).fit(X[rest], items.y[rest]).predict(X[pair])
    return float(np.abs(shortcut - refitted).max())


def _as_csv(items: Items) -> str:
    rows = [",".join(["id", *items.features, "target"])]
    for name, x, y in zip(items.names, items.X, items.y):
        rows.append(",".join([str(name), *(repr(float(v)) for v in x), repr(float(y))]))
    return "\n".join(rows) + "\n"
