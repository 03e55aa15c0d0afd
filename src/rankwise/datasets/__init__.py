"""Readers and generators of data."""

from rankwise.datasets.letor import read_letor
from rankwise.datasets.letor_write import write_letor
from rankwise.datasets.lists import read_edges, read_preferences, read_ratings
from rankwise.datasets.ppi import read_ppi_corpus
from rankwise.datasets.sentences import Corpus, Dependency, Entity, Pair, Sentence, Token
from rankwise.datasets.synthetic import make_ranking, make_rock_paper_scissors
from rankwise.datasets.tables import read_table

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
