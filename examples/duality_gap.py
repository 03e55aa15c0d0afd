"""
Training with a known distance to the optimum
=============================================

In every iteration, the bundle method of RankSVM has an upper and a lower bound of the optimum.
Newton's method for the squared hinge has a bound from strong convexity. Both stop when the gap is
small enough, not after a fixed number of iterations.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankSVM

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 30))
y = X @ rng.normal(size=30) + 3 * rng.normal(size=20_000)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for loss, tol in (("hinge", 1e-6), ("squared_hinge", 1e-5)):
    model = RankSVM(alpha=1e-4, loss=loss, tol=tol).fit(X, y)
    gap = np.maximum(model.history_["gap"], 1e-12)
    axes.semilogy(np.arange(len(gap)), gap, "o-", ms=3, label=f"{loss}, {model.n_iter_} iterations")
    print(f"{loss:14} objective {model.objective_:.6f}, at most {model.gap_:.1e} above the minimum")
axes.set(xlabel="iteration", ylabel="gap", title="200 million pairs, none of them listed")
axes.legend()
axes.grid(alpha=0.3)
