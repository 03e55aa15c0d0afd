"""What the scripts of objectives and of transfer between corpora take for granted."""

import numpy as np
import pytest
from benchmarks.papers import graph_kernel_transfer as transfer
from benchmarks.papers import pages
from benchmarks.papers import rank_svm_objectives as objectives

from rankwise import RankSVM
from rankwise.datasets import make_ppi_corpus
from rankwise.graphs import candidate_graph


@pytest.mark.parametrize("queries", [1, 4])
def test_every_program_has_the_same_objective_in_other_words(queries):
    rng = np.random.default_rng(queries)
    X, y, qid = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), np.arange(40) % queries
    y[qid == 3] = 1  # a query without a pair
    differences, sizes = objectives.pairs(X, y, qid)
    rows = [x - z for q in range(queries) for x, a in zip(X[qid == q], y[qid == q])
            for z, b in zip(X[qid == q], y[qid == q]) if a > b]  # fmt: skip
    np.testing.assert_allclose(differences.toarray(), rows)
    assert len(sizes) == min(queries, 3) and sizes.sum() == len(rows)
    for loss, weighting, weights, alpha in objectives.programs(0.05, sizes).values():
        model = RankSVM(alpha, loss=loss, query_weight=weighting, tol=1e-8).fit(X, y, qid=qid)
        scale = weights.sum()  # the mean loss weighs 1 in all
        value = objectives.objective(differences, weights, loss, model.coef_)
        assert value == pytest.approx(scale * model.objective_, rel=1e-6)
        plain = objectives.minimised(differences, weights, loss)
        least = objectives.objective(differences, weights, loss, plain)
        assert value == pytest.approx(least, rel=1e-6)


def test_other_readings_of_the_graph_change_what_they_say():
    pair = make_ppi_corpus(n_documents=2, random_state=0).pairs[0]
    graph = candidate_graph(pair.sentence, pair.entity1, pair.entity2)
    n = len(pair.sentence.tokens)
    shown = transfer.named(graph, pair)
    assert {pair.entity1.text, pair.entity2.text} <= set().union(*shown.labels)
    assert not {pair.entity1.text, pair.entity2.text} & set().union(*graph.labels)
    plain = transfer.unmarked(graph, pair)
    assert not any(label.endswith("_IP") for own in plain.labels for label in own)
    parse, order = transfer.parse_alone(graph, pair), transfer.order_alone(graph, pair)
    assert parse.n_vertices + order.n_vertices == graph.n_vertices and order.n_vertices == n
    assert len(parse.edges) + len(order.edges) == len(graph.edges)
    hidden = transfer.words_alone(graph, pair)
    assert not any(label.startswith("PROT") for own in hidden.labels for label in own)
    assert transfer.between(pair) > 0


def test_sentences_names_and_labels_that_two_corpora_share(monkeypatch):
    monkeypatch.setattr(transfer, "articles", lambda name: set())
    corpora = {name: make_ppi_corpus(n_documents=5, random_state=0) for name in "ab"}
    sentences = {transfer.plain(s.text) for s in corpora["a"] if s.pairs}
    names = {transfer.plain(e.text) for e in corpora["a"].entities}
    found = transfer.shared(corpora, "a", "b")
    assert found[:4] == (0, len(sentences), len(sentences), len(names))
    assert found[4] == found[5] == len(transfer.majority(corpora["a"]))


def test_a_table_copied_by_hand_stays_until_its_script_has_run(tmp_path):
    note = pages.BY_HAND.format("some")
    page = f"# P\n\n<!-- table: some -->\n\n{note}\n\n| a |\n\n<!-- end of table -->\n"
    assert pages.filled(page, tmp_path) == page
    pages.save("some", ["| b |\n"], tmp_path)
    assert "| b |" in pages.filled(page, tmp_path) and note not in pages.filled(page, tmp_path)
