"""rankwise demo"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import stdout, table, working, write_text
from rankwise.cli.model_files import write_model
from rankwise.io.plain_text import plain
from rankwise.workflow.recipe import Recipe

if TYPE_CHECKING:
    from rankwise.workflow.ranking_data import Items
    from rankwise.workflow.trained_model import TrainedModel

RECIPES: dict[str, dict[str, Any]] = {
    "rank-rls, linear": {"cv": "leave-pair-out"},
    "rank-rls, Gaussian kernel": {"kernel": "rbf", "cv": "leave-pair-out"},
    "rank-svm, linear": {"learner": "rank-svm"},
}
TEST_PATIENTS = 92


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the files that it writes.",
)
def demo(output: Path) -> None:
    """Rank patients by risk in under a minute: three learners, exact cross-validation, a report.

    \b
    Examples:
      rankwise demo
      rankwise demo -o tour
    """
    from rankwise.metrics import concordance
    from rankwise.report import build_report
    from rankwise.workflow.search_path import SearchPath
    from rankwise.workflow.training import train as train_model

    console = stdout()
    seen, unseen = _patients()
    m, pairs = len(seen), len(seen) * (len(seen) - 1) // 2
    console.print(
        f"{m} patients, 10 measurements, disease progression a year later (shipped with "
        f"scikit-learn).\nHow well does a model order two patients that it has never seen? "
        f"Exact leave-pair-out: {pairs:,} models\nfor each of 31 alphas without refitting; "
        f"rank-svm by 5 folds. Then a test on {len(unseen)} other patients."
    )
    output.mkdir(parents=True, exist_ok=True)
    columns = ("learner", "chosen alpha", "unseen pairs right", "95% interval", "test set", "time")
    shown = table(*columns, right=(1, 2, 4, 5))
    models: dict[float, TrainedModel] = {}
    for name, options in RECIPES.items():
        started = time.perf_counter()
        with working(name):
            model = train_model(Recipe(scale="standard", **options), seen)
            tested = concordance(unseen.y, model.predict(unseen.X))
        seconds = time.perf_counter() - started
        path: Any = SearchPath.from_record(model.training["path"])
        score, interval = path.at_chosen[0], "{:.3f} to {:.3f}".format(*path.interval)
        figures = f"{path.chosen:g}", f"{score:.3f}", interval, f"{tested:.3f}"
        shown.add_row(name, *figures, f"{seconds:.1f} s")
        models.setdefault(score, model)
    console.print(shown)
    console.print(
        f"Refitting without two patients differs from the closed form by {_gap(seen):.1e}."
    )
    best = models[max(models)]
    with working("writing the report"):
        write_model(best, str(output / "model.rw"))
        for name, items in (("patients.csv", seen), ("unseen.csv", unseen)):
            write_text(str(output / name), _as_csv(items))
        unseen.source = str(output / "unseen.csv")
        title = "Patients by disease progression"
        commands = [
            ["rankwise", "demo", "-o", str(output)],
            [
                *("rankwise", "report", str(output / "model.rw"), str(output / "unseen.csv")),
                *("--title", title, "-o", str(output / "report.html")),
            ],
        ]
        page = build_report(best, unseen, title=title, commands=commands)
        write_text(str(output / "report.html"), page)
    folder = plain(str(output))
    console.print(
        f"\nReport: {folder}/report.html (open it in a browser). Try next:\n"
        f"  rankwise explain {folder}/model.rw {folder}/unseen.csv\n"
        f"  rankwise crossval {folder}/patients.csv --scale standard"
    )


def _patients() -> tuple[Items, Items]:
    """The patients to learn from, and those of the test set."""
    from sklearn.datasets import load_diabetes

    from rankwise.workflow.ranking_data import Items

    data = load_diabetes(scaled=False)
    names = np.array([f"patient {i + 1}" for i in range(len(data.target))])
    features = [str(name) for name in data.feature_names]
    source = "diabetes (scikit-learn)"
    items = Items(data.data, data.target, None, names, features, source)
    order = np.random.default_rng(0).permutation(len(items))
    return items.take(np.sort(order[TEST_PATIENTS:])), items.take(np.sort(order[:TEST_PATIENTS]))


def _gap(items: Items) -> float:
    """The largest difference between a closed-form hold-out and a refit, for one pair."""
    from rankwise import RankRLS
    from rankwise.learners.item_scaler import ItemScaler

    X, pair = ItemScaler().fit_transform(items.X), np.array([3, 100])
    closed_form = RankRLS(256.0).fit(X, items.y).leave_pair_out(pair[None])[0]
    rest = np.delete(np.arange(len(items)), pair)
    refitted = RankRLS(256.0).fit(X[rest], items.y[rest]).predict(X[pair])
    return float(np.abs(closed_form - refitted).max())


def _as_csv(items: Items) -> str:
    rows = [",".join(["id", *items.features, "target"])]
    for name, x, y in zip(items.names, items.X, items.y):
        rows.append(",".join([str(name), *(repr(float(v)) for v in x), repr(float(y))]))
    return "\n".join(rows) + "\n"
