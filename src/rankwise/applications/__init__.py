"""Whole tasks built from the other parts: rankwise.applications.ppi finds interactions in text."""

from rankwise.applications import ppi

__all__ = ["ppi"]
