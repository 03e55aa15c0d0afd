"""The compiled pair counting that measures and losses share."""

from rankwise.order.swaps import (
    all_pairs,
    concordant_pairs,
    excess_sums,
    pair_counts,
    sorted_within,
    swapped_sums,
)

__all__ = [
    "all_pairs",
    "concordant_pairs",
    "excess_sums",
    "pair_counts",
    "sorted_within",
    "swapped_sums",
]
