"""rankwise explain"""

from __future__ import annotations

import json

import click
import numpy as np

from rankwise.cli.console import stdout, table, working
from rankwise.cli.failures import Mistake
from rankwise.cli.models import is_relational, load_model, relation_of, scored_data, taken_files
from rankwise.cli.options import reading_options_beside_a_query, relation_options, taken_reading
from rankwise.workflow.explaining import Explanation, explain_edges
from rankwise.workflow.explaining import explain as explain_pair
from rankwise.workflow.items import Items


@click.command(short_help="Why is A above B?")
@click.argument("model")
@click.argument("data")
@click.option("--query", "-q", "label", metavar="Q", help="The query to look at.")
@click.option("--above", metavar="A", help="An item's id (or number in the query, from 1).")
@click.option("--below", metavar="B", help="Another; default: the first two of the ranking.")
@click.option("--top", type=click.IntRange(1), default=8, show_default=True, help="Parts to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options_beside_a_query
@relation_options
def explain(model, data, label, above, below, top, as_json, **options):
    """Show the ranking of query Q and why item A scores above (or below) item B.

    \b
    Examples:
      rankwise explain model.rw test.letor --query 42
      rankwise explain model.rw test.csv --query ann --above p17 --below p3
      rankwise explain model.rw patients.csv --above 1 --below 2 --top 20 --json

    The parts add up to the difference of the two scores exactly: weights times differences of
    features for linear models, thresholds between the two for rank-boost, and for kernels the
    training items that A is more (or less) like than B.
    """
    reading, files = taken_reading(options), taken_files(options)
    with working("explaining"):
        trained = load_model(model)
        items, scores = scored_data(trained, data, reading, files)
        members = _members(items, label)
        part, scores = items.take(members), scores[members]
        order = np.argsort(-scores, kind="stable")
        if len(part) < 2:
            raise Mistake("an explanation compares two items, here is one.")
        a = int(order[0]) if above is None else _place(part, above)
        rest = [int(i) for i in order if i != a]
        b = rest[0] if below is None else _place(part, below)
        if a == b:
            raise Mistake("name two different items with --above and --below.")
        if is_relational(trained):
            relation = relation_of(trained, data, files, need_values=False)
            found = explain_edges(trained, relation, members[a], members[b])
        else:
            found = explain_pair(trained, part.X, a, b, part.qid)
    if as_json:
        click.echo(json.dumps(_record(part, a, b, found, top), indent=2, ensure_ascii=False))
        return
    _show(part, scores, order, a, b, found, top, label)


def _members(items: Items, label: str | None) -> np.ndarray:
    if label is not None:
        return items.query(label)
    if items.qid is not None and len(items.queries) > 1:
        labels = ", ".join(str(q) for q in items.queries.labels[:8])
        raise Mistake(f"which query? Give --query, one of {labels} ...")
    return np.arange(len(items))


def _place(part: Items, name: str) -> int:
    found = np.flatnonzero(np.array([str(n) == name for n in part.names]))
    if len(found):
        return int(found[0])
    if name.isdigit() and 1 <= int(name) <= len(part):
        return int(name) - 1
    shown = ", ".join(map(str, part.names[:6]))
    raise Mistake(f"no item {name!r} here; there are {shown}{', ...' if len(part) > 6 else ''}.")


def _show(part, scores, order, a, b, found: Explanation, top, label) -> None:
    console = stdout()
    heading = f"query {label}: " if label is not None else ""
    console.print(f"{heading}{len(part)} items", style="bold", markup=False)
    made = table("rank", "item", "score", "true score", right=(0, 2, 3))
    place = {int(item): rank for rank, item in enumerate(order, 1)}
    shown = sorted({*range(1, min(top, len(part)) + 1), place[a], place[b]})
    for rank in shown:
        item = int(order[rank - 1])
        mark = " (A)" if item == a else " (B)" if item == b else ""
        true = "" if part.y is None else f"{part.y[item]:g}"
        made.add_row(str(rank), f"{part.names[item]}{mark}", f"{scores[item]:.5g}", true)
    console.print(made)
    above = "above" if found.difference > 0 else "below"
    console.print(
        f"\n{part.names[a]} (A) is {above} {part.names[b]} (B) by {abs(found.difference):.5g}, "
        "which is the sum of:",
        markup=False,
    )
    columns = ("feature", "A", "B") if found.kind == "features" else ("like", "k(A)", "k(B)")
    made = table("part", *columns, right=(0, 2, 3))
    for one in found.parts[:top]:
        made.add_row(f"{one.amount:+.5g}", one.name, f"{one.a:.5g}", f"{one.b:.5g}")
    rest = len(found.parts) - top
    if rest > 0:
        made.add_row(f"{found.rest(top):+.5g}", f"{rest} more", "", "")
    console.print(made)


def _record(part, a, b, found: Explanation, top) -> dict:
    return {
        "a": str(part.names[a]),
        "b": str(part.names[b]),
        "score_a": found.score_a,
        "score_b": found.score_b,
        "difference": found.difference,
        "kind": found.kind,
        "parts": [
            {"name": one.name, "amount": one.amount, "a": one.a, "b": one.b}
            for one in found.parts[:top]
        ],
        "rest": found.rest(top),
    }
