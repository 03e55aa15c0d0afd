"""What is held out: named schemes, folds of whole queries and groups, splitters, given folds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold

import rankwise
from rankwise.model_selection import folds
from rankwise.model_selection.folds import Folds, read_splits
from rankwise.supervision.queries import Queries

M = 12
Y = np.arange(M) % 3.0
ONE = Queries.from_labels(None, M)
QUERIES = Queries.from_labels(np.repeat(list("abcd"), 3), M)
GROUPS = np.array(["p", "q", "r"] * 4)


def held_sets(folds):
    return [held.tolist() for held, _ in folds.splits]


class TestNamedSchemes:
    def test_auto(self):
        assert Folds("auto", QUERIES, Y).kind == "leave-query-out"
        assert Folds("auto", ONE, Y).kind == "leave-pair-out"
        many = Queries.from_labels(None, 4001)
        folds = Folds("auto", many, np.zeros(4001))
        assert folds.kind == "folds" and str(folds) == "10 folds"

    def test_auto_knows_the_price_of_leave_pair_out(self):
        assert Folds("auto", ONE, Y, pair_matrices=66).kind == "leave-pair-out"
        assert Folds("auto", ONE, Y, pair_matrices=501).kind == "folds"
        many = Queries.from_labels(None, 2000)
        assert Folds("auto", many, pair_matrices=8).kind == "leave-pair-out"
        assert Folds("auto", many, pair_matrices=9).kind == "folds"
        assert Folds("leave-pair-out", ONE, Y, pair_matrices=501).kind == "leave-pair-out"

    def test_leave_query_out_and_leave_one_out(self):
        folds = Folds("leave-query-out", QUERIES, Y)
        assert held_sets(folds) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
        assert str(folds) == "leave-query-out"
        assert held_sets(Folds("leave-one-out", ONE, Y)) == [[i] for i in range(M)]

    def test_leave_pair_out_has_no_list_of_folds(self):
        folds = Folds("leave-pair-out", ONE)
        assert folds.is_leave_pair_out and folds.splits == [] and folds.blocks is None

    def test_scores_are_only_needed_by_splitters(self):
        assert len(Folds(3, ONE).splits) == 3
        stratified = Folds(StratifiedKFold(4), ONE, Y)
        assert all(sorted(Y[test]) == [0, 1, 2] for _, test in stratified.splits)
        columns = Folds(StratifiedKFold(4), ONE, Y[:, None])
        assert held_sets(columns) == held_sets(stratified)

    def test_items_that_a_training_set_leaves_aside_are_held_out_but_not_tested(self):
        ((held, test),) = Folds([([0, 1, 2], [5, 6])], ONE, Y).splits
        assert held.tolist() == list(range(3, M)) and test.tolist() == [5, 6]

    def test_units_are_queries_within_folds(self):
        folds = Folds(2, QUERIES, Y)
        labels = [folds.units(number, test) for number, (_, test) in enumerate(folds.splits)]
        assert len(set(np.concatenate(labels))) == len(QUERIES)


class TestGroups:
    def test_a_number_of_folds_keeps_groups_whole(self):
        folds = Folds(3, ONE, Y, groups=GROUPS)
        assert sorted(held_sets(folds)) == [list(range(i, M, 3)) for i in range(3)]

    def test_queries_and_groups_stay_whole(self):
        groups = np.arange(M)
        groups[[0, 3]] = 0  # joins the queries a and b
        folds = Folds(3, QUERIES, Y, groups=groups)
        assert sorted(held_sets(folds)) == [[0, 1, 2, 3, 4, 5], [6, 7, 8], [9, 10, 11]]
        with pytest.raises(ValueError, match=r"cv=4 .* the 3 sets of queries that share no group"):
            Folds(4, QUERIES, Y, groups=groups)

    def test_leave_one_out_leaves_each_group_out(self):
        folds = Folds("leave-one-out", ONE, Y, groups=GROUPS)
        assert folds.kind == str(folds) == "leave-group-out"
        assert held_sets(folds) == [list(range(i, M, 3)) for i in range(3)]
        assert [items.tolist() for items in folds.blocks] == held_sets(folds)

    def test_leave_query_out_also_holds_out_the_groups_that_it_touches(self):
        groups = np.arange(M)
        groups[[0, 3]] = 0
        folds = Folds("leave-query-out", QUERIES, Y, groups=groups)
        assert held_sets(folds) == [[0, 1, 2, 3], [0, 3, 4, 5], [6, 7, 8], [9, 10, 11]]
        assert [test.tolist() for _, test in folds.splits] == [items.tolist() for items in QUERIES]
        assert folds.blocks is None
        inside = Folds("leave-query-out", QUERIES, Y, groups=np.arange(M) // 3)
        assert len(inside.blocks) == 4

    def test_auto_with_groups(self):
        assert str(Folds("auto", QUERIES, Y, groups=np.arange(M) // 2)) == (
            "leave-query-out with the groups of its items"
        )
        folds = Folds("auto", ONE, Y, groups=GROUPS)
        assert str(folds) == "3 folds of groups" and len(folds.splits[0][0]) == 4
        assert Folds("auto", ONE, Y, groups=np.arange(M) // 2).is_leave_pair_out

    def test_auto_compares_few_groups_of_single_items(self):
        """A fold of one item has no pair to judge."""
        for m in (3, 4):
            few = Queries.from_labels(None, m)
            assert Folds("auto", few, Y[:m], groups=np.arange(m)).is_leave_pair_out

    @pytest.mark.parametrize("cv", ["auto", "leave-query-out", 2, 5])
    def test_groups_that_join_all_queries_leave_nothing_to_train_on(self, cv):
        with pytest.raises(ValueError, match=r"groups cross queries.*GroupKFold"):
            Folds(cv, QUERIES, Y, groups=GROUPS)
        apart = Folds(GroupKFold(3), QUERIES, Y, groups=GROUPS)
        assert str(apart) == "3 folds of groups"
        assert sorted(held_sets(apart)) == [list(range(i, M, 3)) for i in range(3)]

    def test_a_fold_of_all_items_is_refused(self):
        with pytest.raises(ValueError, match="cv fold 1 leaves no item to train on"):
            Folds([[0, 1], np.arange(M)], ONE, Y)
        with pytest.raises(ValueError, match="nothing to train on"):
            Folds("leave-one-out", ONE, Y, groups=np.zeros(M))

    def test_leave_pair_out_needs_three_groups(self):
        assert str(Folds("leave-pair-out", ONE, Y, groups=GROUPS)) == "leave-pair-out of groups"
        with pytest.raises(ValueError, match="three groups or more"):
            Folds("leave-pair-out", ONE, Y, groups=np.arange(M) % 2)

    def test_splitters_receive_the_groups(self):
        for splitter in (LeaveOneGroupOut(), GroupKFold(3)):
            folds = Folds(splitter, ONE, Y, groups=GROUPS)
            assert sorted(held_sets(folds)) == [list(range(i, M, 3)) for i in range(3)]

    @pytest.mark.parametrize("cv", [KFold(3), [[0, 1]], [([0, 1], [3, 4])]])
    def test_folds_that_split_a_group_are_refused(self, cv):
        with pytest.raises(ValueError, match=r"cv fold 0 trains on items of group p and tests"):
            Folds(cv, ONE, Y, groups=GROUPS)

    @pytest.mark.parametrize("groups", [GROUPS[:5], [*GROUPS[:-1], None]])
    def test_bad_labels_are_named(self, groups):
        with pytest.raises(ValueError, match="groups"):
            Folds(3, ONE, Y, groups=groups)
        with pytest.raises(ValueError, match="the 3 groups"):
            Folds(4, ONE, Y, groups=GROUPS)

    @given(
        st.lists(st.integers(0, 5), min_size=M, max_size=M),
        st.lists(st.integers(0, 3), min_size=M, max_size=M),
        st.sampled_from([2, 3, "leave-one-out", "leave-query-out", "auto"]),
    )
    def test_no_group_is_in_training_and_test(self, groups, qid, cv):
        groups, queries = np.array(groups), Queries.from_labels(qid, M)
        try:
            folds = Folds(cv, queries, Y, groups=groups)
        except ValueError as error:
            expected = ("possible number", "qid with two", "nothing to train on")
            assert any(words in str(error) for words in expected)
            return
        if folds.is_leave_pair_out:
            return
        tested = np.concatenate([test for _, test in folds.splits])
        assert sorted(tested) == list(range(M))
        for held, test in folds.splits:
            training = np.setdiff1d(np.arange(M), held)
            assert set(test) <= set(held)
            assert not set(groups[training]) & set(groups[test])
            if len(queries) > 1 and folds.kind != "leave-group-out":
                assert not set(queries.codes[training]) & set(queries.codes[test])


class TestReadSplits:
    def test_errors_come_before_the_first_fold(self):
        for splits in (1, 13, True, 2.5, None, "five"):
            with pytest.raises(ValueError, match="folds"):
                read_splits(splits, ONE, name="folds")

    def test_a_bootstrap_repeats_rows(self):
        splits = [([0, 0, 1], [5])]
        ((train, _),) = read_splits(splits, ONE, name="splits", repeats=True)
        assert train.tolist() == [0, 0, 1]
        with pytest.raises(ValueError, match="the training set of splits fold 0 names a row twice"):
            list(read_splits(splits, ONE, name="splits"))

    def test_integer_folds_are_shuffled_by_random_state(self):
        tests = [
            [test.tolist() for _, test in read_splits(3, ONE, name="cv", random_state=seed)]
            for seed in (None, 0, 1)
        ]
        assert tests[0] == tests[1] != tests[2]


def test_a_scheme_by_name_is_judged_like_given_folds(monkeypatch):
    """Halves of each query, the rows of the queries being shuffled."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(24, 3)), rng.normal(size=24), rng.permutation(np.arange(24) % 3)

    def halves(queries):
        for part in (0, 1):
            yield np.concatenate([items[part::2] for items in queries])

    monkeypatch.setitem(folds.SCHEMES, "leave-half-out", halves)
    by_hand = list(halves(Queries.from_labels(qid, 24)))
    named = rankwise.RankRLSCV(cv="leave-half-out").fit(X, y, qid=qid)
    expected = rankwise.RankRLSCV(cv=by_hand).fit(X, y, qid=qid)
    np.testing.assert_array_equal(named.cv_results_["score"], expected.cv_results_["score"])
    rankwise.RankSVMCV(cv="leave-half-out").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="queries must stay whole"):
        rankwise.evaluation.permutation_test(
            rankwise.RankRLS(), X, y, qid=qid, cv="leave-half-out", n_permutations=2
        )
