"""A trained model judged on data, as one HTML page that needs no network and no scripts.

page       build_report: the page, put together from its sections
sections   the sections as values: texts, tables and figures
charts     the charts of the sections, drawn from arrays
svg        axes and marks as SVG
rendering  pages from templates
templates  the frame of a page, the parts that pages share, one file for each page, the style sheet
"""

from rankwise.report.page import build_report

__all__ = ["build_report"]
