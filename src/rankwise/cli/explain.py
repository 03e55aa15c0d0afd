"""rankwise explain"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from rankwise.cli.console import Mistake, cells, say_json, stdout, table, working
from rankwise.cli.model_files import ModelAndData, applies_model
from rankwise.io.plain_text import plain

if TYPE_CHECKING:
    from rich.table import Table

    from rankwise.workflow.explaining import Explanation
    from rankwise.workflow.ranking_data import Items


@click.command()
@click.option("--query", "-q", "label", metavar="Q", help="The query to look at.")
@click.option("--above", metavar="A", help="Id of an item (or its number in the query, from 1).")
@click.option("--below", metavar="B", help="Another item; default: the first two of the ranking.")
@click.option("--top", type=click.IntRange(1), default=8, show_default=True, help="Parts to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@applies_model(query="--query-column")
def explain(
    task: ModelAndData,
    label: str | None,
    above: str | None,
    below: str | None,
    top: int,
    as_json: bool,
) -> None:
    """Show the ranking of query Q and why item A scores above (or below) item B.

    \b
    Examples:
      rankwise explain model.rw test.letor --query 42
      rankwise explain model.rw test.csv --query ann --above p17 --below p3
      rankwise explain model.rw patients.csv --above 1 --below 2 --top 20 --json

    The parts add up exactly to the difference of the two scores: weights times differences of
    features for linear models, thresholds between the two items for rank-boost, and for kernels
    the training items that are more (or less) similar to A than to B. With --preferences it also
    says how often each of the two was preferred to the other.
    """
    from rankwise.workflow.explaining import explain as explain_pair
    from rankwise.workflow.explaining import explain_edges

    with working("explaining"):
        items, scores = task.scored()
        members = _members(items, label)
        part, scores = items.take(members), scores[members]
        a, b = _two_items(part, scores, above, below)
        if task.is_relational:
            explanation = explain_edges(task.model, task.relation, members[a], members[b])
        else:
            explanation = explain_pair(task.model, part.X, a, b, part.qid)
    met = _votes_between(items, members[a], members[b])
    if as_json:
        record = _record(part, (a, b), explanation, top)
        say_json(record if met is None else {**record, "votes": met})
        return
    console = stdout()
    heading = f"query {plain(label)}: " if label is not None else ""
    console.print(f"{heading}{len(part)} items", style="bold")
    console.print(_ranking(part, scores, (a, b), top))
    above = "above" if explanation.difference > 0 else "below"
    console.print(
        f"\n{plain(str(part.names[a]))} (A) is {above} {plain(str(part.names[b]))} (B) by "
        f"{abs(explanation.difference):.5g}, which is the sum of:"
    )
    console.print(_parts(explanation, top))
    if met is not None:
        ties = f", ties {met['ties']}" if met["ties"] else ""
        console.print(f"\nStatements about the two: for A {met['a']}, for B {met['b']}{ties}.")


def _members(items: Items, label: str | None) -> np.ndarray:
    if label is not None:
        return items.members(label)
    if items.qid is not None and len(items.queries) > 1:
        labels = ", ".join(str(q) for q in items.queries.labels[:8])
        raise Mistake(f"which query? Give --query, one of {labels} ...")
    return np.arange(len(items))


def _votes_between(items: Items, a: int, b: int) -> dict[str, int] | None:
    """How often each of two items was preferred to the other; None without preferences."""
    preferences = items.preferences
    if preferences is None:
        return None
    about = {int(a), int(b)}
    first = (preferences.winner == a) & (preferences.loser == b)
    second = (preferences.winner == b) & (preferences.loser == a)
    tied = preferences.tie & np.isin(preferences.winner, [*about])
    tied &= np.isin(preferences.loser, [*about])
    counts = {"a": first & ~tied, "b": second & ~tied, "ties": tied}
    return {name: int(np.count_nonzero(which)) for name, which in counts.items()}


def _two_items(
    part: Items, scores: np.ndarray, above: str | None, below: str | None
) -> tuple[int, int]:
    """The numbers of A and B; by default the first two of the ranking."""
    if len(part) < 2:
        raise Mistake("an explanation compares two items, but there is only one.")
    order = np.argsort(-scores, kind="stable")
    a = int(order[0]) if above is None else _number_of(part, above)
    b = next(int(i) for i in order if i != a) if below is None else _number_of(part, below)
    if a == b:
        raise Mistake("name two different items with --above and --below.")
    return a, b


def _number_of(part: Items, name: str) -> int:
    matches = np.flatnonzero(np.array([str(n) == name for n in part.names]))
    if len(matches):
        return int(matches[0])
    if name.isdigit() and 1 <= int(name) <= len(part):
        return int(name) - 1
    shown = ", ".join(map(str, part.names[:6]))
    raise Mistake(f"no item {name!r} here; there are {shown}{', ...' if len(part) > 6 else ''}.")


def _ranking(part: Items, scores: np.ndarray, pair: tuple[int, int], top: int) -> Table:
    """The first items of the ranking, A and B."""
    truth = "time (+ censored)" if hasattr(part.y, "event") else "true score"
    shown = table("rank", "item", "score", truth, right=(0, 2, 3))
    for rank, number in enumerate(np.argsort(-scores, kind="stable"), 1):
        item = int(number)
        if rank > top and item not in pair:
            continue
        mark = {pair[0]: " (A)", pair[1]: " (B)"}.get(item, "")
        true = "" if part.y is None else _truth(part.y, item)
        (name,) = cells(str(part.names[item]))
        shown.add_row(str(rank), name + mark, f"{scores[item]:.5g}", true)
    return shown


def _truth(y: Any, item: int) -> str:
    """The true score, or the time of an outcome, with + if it is censored."""
    if hasattr(y, "event"):
        return f"{y.time[item]:g}" + ("" if y.event[item] else "+")
    return f"{y[item]:g}"


def _parts(explanation: Explanation, top: int) -> Table:
    by_features = explanation.kind == "features"
    columns = ("feature", "A", "B") if by_features else ("like", "k(A)", "k(B)")
    shown = table("part", *columns, right=(0, 2, 3))
    for part in explanation.parts[:top]:
        shown.add_row(f"{part.amount:+.5g}", *cells(part.name), f"{part.a:.5g}", f"{part.b:.5g}")
    rest = len(explanation.parts) - top
    if rest > 0:
        shown.add_row(f"{explanation.rest(top):+.5g}", f"{rest} more", "", "")
    return shown


def _record(part: Items, pair: tuple[int, int], explanation: Explanation, top: int) -> dict:
    return {
        "a": str(part.names[pair[0]]),
        "b": str(part.names[pair[1]]),
        "score_a": explanation.score_a,
        "score_b": explanation.score_b,
        "difference": explanation.difference,
        "kind": explanation.kind,
        "parts": [asdict(one) for one in explanation.parts[:top]],
        "rest": explanation.rest(top),
    }
