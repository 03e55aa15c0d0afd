"""
How many basis items does a kernel need?
========================================

A reduced set of r basis items lowers the cost from m³ to m r². Cross-validation must also remove
held-out items from the basis, or its estimate is too good. This example compares the exact
leave-pair-out error, with removal, to the error on new items.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankRLSCV, metrics

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(1500, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=1500)
train, test = slice(0, 200), slice(200, None)
sizes = [5, 10, 20, 40, 80]
estimated, errors, true = [], [], []
for size in sizes:
    model = RankRLSCV(kernel="rbf", gamma=0.5, basis=size, random_state=0, cv="leave-pair-out")
    model.fit(X[train], y[train])
    estimated.append(1 - model.best_score_)
    errors.append(model.cv_results_["score_se"][model.cv_results_["alpha"] == model.alpha_][0])
    true.append(metrics.ranking_error(y[test], model.predict(X[test])))
    print(f"{size:4d} basis items: estimated {estimated[-1]:.3f}, on new items {true[-1]:.3f}")
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(sizes, estimated, errors, fmt="o-", capsize=3, label="leave-pair-out, exact")
axes.plot(sizes, true, "s--", label="1,300 new items")
axes.set(xscale="log", xlabel="basis items, of 200", ylabel="pairs in the wrong order")
axes.legend()
axes.grid(alpha=0.3)
