"""Readers and generators of data."""

from rankwise.datasets.letor import read_letor
from rankwise.datasets.synthetic import make_rock_paper_scissors

__all__ = ["make_rock_paper_scissors", "read_letor"]
