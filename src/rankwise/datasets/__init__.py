"""Readers of data files, and generators of data whose true model is known."""

from rankwise.datasets.synthetic import (
    make_hybrid_search,
    make_ppi_corpus,
    make_ranking,
    make_rock_paper_scissors,
)
from rankwise.io.edge_lists import read_preferences, read_ratings
from rankwise.io.kernel_files import read_kernel
from rankwise.io.letor import read_letor, write_letor
from rankwise.io.ppi_corpus import read_ppi_corpus
from rankwise.io.relation_tables import read_edges
from rankwise.io.run_tables import training_table
from rankwise.io.sentences import Corpus, Dependency, Entity, Pair, Sentence, Token
from rankwise.io.tables import read_table
from rankwise.io.trec import read_qrels, read_run, write_run

__all__ = [
    "Corpus",
    "Dependency",
    "Entity",
    "Pair",
    "Sentence",
    "Token",
    "make_hybrid_search",
    "make_ppi_corpus",
    "make_ranking",
    "make_rock_paper_scissors",
    "read_edges",
    "read_kernel",
    "read_letor",
    "read_ppi_corpus",
    "read_preferences",
    "read_qrels",
    "read_ratings",
    "read_run",
    "read_table",
    "training_table",
    "write_letor",
    "write_run",
]
