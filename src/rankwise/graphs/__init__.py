"""Labelled graphs as sparse features: the all-paths graph kernel."""

from rankwise.graphs.candidates import candidate_graph
from rankwise.graphs.labelled import LabelledGraph
from rankwise.graphs.vectorizer import AllPathsVectorizer

__all__ = ["AllPathsVectorizer", "LabelledGraph", "candidate_graph"]
