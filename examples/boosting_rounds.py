"""
Boosting with missing values, and when to stop
==============================================

In each round, RankBoost adds one threshold on one feature. A missing value counts as information.
Held-out queries choose the number of rounds; the staged predictions show the effect of more rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankBoost, metrics

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(80), 15)
X = rng.normal(size=(len(qid), 6))
y = np.digitize(X[:, 0] + (X[:, 1] > 0) + rng.normal(size=len(qid)), [0, 1]).astype(float)
X[rng.random(X.shape) < 0.2] = np.nan
train, test = qid < 40, qid >= 40
model = RankBoost(n_rounds=150, validation_fraction=0.25, random_state=0)
model.fit(X[train], y[train], qid=qid[train])
full = RankBoost(n_rounds=150).fit(X[train], y[train], qid=qid[train])
curve = [metrics.concordance(y[test], s, qid[test]) for s in full.staged_predict(X[test])]
print(f"{model.n_rounds_} rounds chosen: {model.score(X[test], y[test], qid=qid[test]):.3f}")
print(f"{full.n_rounds_} rounds: {curve[-1]:.3f}")
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(1 + np.arange(len(curve)), curve, label="new queries")
axes.plot(
    1 + np.arange(len(model.validation_scores_)),
    model.validation_scores_,
    alpha=0.6,
    label="held-out training queries",
)
axes.axvline(model.n_rounds_, color="grey", ls=":", label="chosen")
axes.set(xlabel="rounds", ylabel="pairs in the right order")
axes.legend()
axes.grid(alpha=0.3)
