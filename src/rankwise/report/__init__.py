"""HTML pages that need no network and no scripts: a trained model judged on data, and learners
compared by cross-validation.

page           build_report: the page, put together from its sections
crossval_page  build_crossval_page: learners side by side
statement_page the report of a model that is judged by preferences
board_page     build_board_page: the leaderboard of votes
sections       the sections as values: texts, tables and figures
charts         the charts of the sections, drawn from arrays
svg            axes and marks as SVG
rendering      pages from templates
templates      the frame of a page, the parts that pages share, each page, the style sheet
"""

from rankwise.report.board_page import build_board_page
from rankwise.report.crossval_page import Candidate, build_crossval_page
from rankwise.report.page import build_report

__all__ = ["Candidate", "build_board_page", "build_crossval_page", "build_report"]
