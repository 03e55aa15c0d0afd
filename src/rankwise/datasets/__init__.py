"""Readers of data files, and generators of data whose true model is known."""

from rankwise.datasets.synthetic import make_ranking, make_rock_paper_scissors
from rankwise.io.edge_lists import read_edges, read_preferences, read_ratings
from rankwise.io.letor import read_letor, write_letor
from rankwise.io.ppi_corpus import read_ppi_corpus
from rankwise.io.sentences import Corpus, Dependency, Entity, Pair, Sentence, Token
from rankwise.io.tables import read_table

__all__ = [
    "Corpus",
    "Dependency",
    "Entity",
    "Pair",
    "Sentence",
    "Token",
    "make_ranking",
    "make_rock_paper_scissors",
    "read_edges",
    "read_letor",
    "read_ppi_corpus",
    "read_preferences",
    "read_ratings",
    "read_table",
    "write_letor",
]
