"""Labelled graphs as sparse features: the all-paths graph kernel."""

from rankwise.graphs.all_paths_vectorizer import AllPathsVectorizer
from rankwise.graphs.labelled_graph import LabelledGraph
from rankwise.graphs.sentence_graph import candidate_graph

__all__ = ["AllPathsVectorizer", "LabelledGraph", "candidate_graph"]
