"""Numerical tools that know nothing about ranking: threads, tiles, factorisations, products."""
