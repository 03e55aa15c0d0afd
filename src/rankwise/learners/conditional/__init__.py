"""Conditional ranking on relational data (Pahikkala, Airola, Stock, De Baets, Waegeman 2013)."""

from rankwise.learners.conditional.ranker import ConditionalRanker

__all__ = ["ConditionalRanker"]
