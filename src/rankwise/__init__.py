"""rankwise: learn to order things, exactly and fast, with scikit-learn conventions."""

from rankwise import applications, datasets, evaluation, graphs, metrics, selection
from rankwise.exceptions import (
    EstimateWarning,
    InvalidKernel,
    ReadError,
    TooLarge,
    UndefinedMetric,
)
from rankwise.learners.conditional import ConditionalRanker, ConditionalRankerCV
from rankwise.learners.mprank import MPRank
from rankwise.learners.mprank_cv import MPRankCV
from rankwise.learners.rank_boost import RankBoost
from rankwise.learners.rank_rls import RLS, RankRLS
from rankwise.learners.rank_rls_cv import RankRLSCV
from rankwise.learners.rank_svm import RankSVM
from rankwise.learners.rank_svm_cv import RankSVMCV
from rankwise.learners.svrank import SVRank
from rankwise.persistence import load, save
from rankwise.preferences import Preferences
from rankwise.spaces.kernel_map import KernelMap

__version__ = "0.1.0"

__all__ = [
    "RLS",
    "ConditionalRanker",
    "ConditionalRankerCV",
    "EstimateWarning",
    "InvalidKernel",
    "KernelMap",
    "MPRank",
    "MPRankCV",
    "Preferences",
    "RankBoost",
    "RankRLS",
    "RankRLSCV",
    "RankSVM",
    "RankSVMCV",
    "ReadError",
    "SVRank",
    "TooLarge",
    "UndefinedMetric",
    "applications",
    "datasets",
    "evaluation",
    "graphs",
    "load",
    "metrics",
    "save",
    "selection",
]
