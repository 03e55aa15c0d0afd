"""Readers and generators of data."""

from rankwise.datasets.letor import read_letor
from rankwise.datasets.ppi import read_ppi_corpus
from rankwise.datasets.sentences import Corpus, Dependency, Entity, Pair, Sentence, Token
from rankwise.datasets.synthetic import make_rock_paper_scissors

__all__ = [
    "Corpus",
    "Dependency",
    "Entity",
    "Pair",
    "Sentence",
    "Token",
    "make_rock_paper_scissors",
    "read_letor",
    "read_ppi_corpus",
]
