"""A trained model and data as one HTML page that needs nothing else: no network, no scripts."""

from rankwise.report.page import build_report

__all__ = ["build_report"]
