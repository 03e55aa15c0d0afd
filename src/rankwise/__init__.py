"""rankwise: learn to order things, exactly and fast, with scikit-learn conventions."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_ROOMS = ("applications", "datasets", "evaluation", "features", "graphs", "metrics", "selection")
_HOME = {
    "Censored": "supervision.censored",
    "ConditionalRanker": "learners.conditional_ranker",
    "ConditionalRankerCV": "learners.conditional_ranker_cv",
    "EstimateWarning": "exceptions",
    "GreedyRankRLS": "learners.greedy_rank_rls",
    "InvalidKernel": "exceptions",
    "KernelFilter": "learners.relation_baselines",
    "KernelMap": "learners.kernel_map",
    "MPRank": "learners.mprank",
    "MPRankCV": "learners.mprank_cv",
    "NearestNodes": "learners.relation_baselines",
    "Preferences": "supervision.preferences",
    "RLS": "learners.rank_rls",
    "RankBoost": "learners.rank_boost",
    "RankLogistic": "learners.rank_logistic",
    "RankLogisticCV": "learners.rank_logistic_cv",
    "RankRLS": "learners.rank_rls",
    "RankRLSCV": "learners.rank_rls_cv",
    "RankSVM": "learners.rank_svm",
    "RankSVMCV": "learners.rank_svm_cv",
    "PreferenceWarning": "exceptions",
    "ReadError": "exceptions",
    "SVRank": "learners.svrank",
    "TooLarge": "exceptions",
    "TwoStepRanker": "learners.two_step_ranker",
    "TwoStepRankerCV": "learners.two_step_ranker_cv",
    "UndefinedMetric": "exceptions",
    "export": "exports.writing",
    "load": "io.saved_models",
    "save": "io.saved_models",
}
"""The module of every public name. A name is imported when it is first used."""

__all__ = sorted([*_ROOMS, *_HOME])


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"rankwise.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"rankwise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
