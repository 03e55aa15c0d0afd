"""Conditional ranking on relational data (Pahikkala, Airola, Stock, De Baets, Waegeman 2013)."""

from rankwise.learners.conditional.ranker import ConditionalRanker
from rankwise.learners.conditional.search import ConditionalRankerCV

__all__ = ["ConditionalRanker", "ConditionalRankerCV"]
