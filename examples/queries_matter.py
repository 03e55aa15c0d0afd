"""
Why queries matter
==================

Each query has its own level of scores, which does not say which document is better. A learner that
compares documents of different queries learns the level. A learner that knows the queries compares
only documents of the same query, where the level cancels.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import RankRLSCV, metrics

rng = np.random.default_rng(0)
levels = np.linspace(0, 10, 11)
without, within = [], []
for level in levels:
    qid = np.repeat(np.arange(60), 20)
    shift = rng.normal(size=60)[qid]
    quality = rng.normal(size=len(qid))
    X = np.column_stack([quality + level * shift, shift + 0.1 * rng.normal(size=len(qid))])
    X = np.hstack([X, rng.normal(size=(len(qid), 8))])
    y = quality - level * shift + 0.5 * rng.normal(size=len(qid))
    train, test = qid < 30, qid >= 30
    blind = RankRLSCV(cv=10).fit(X[train], y[train])
    told = RankRLSCV().fit(X[train], y[train], qid=qid[train])
    without.append(metrics.concordance(y[test], blind.predict(X[test]), qid[test]))
    within.append(metrics.concordance(y[test], told.predict(X[test]), qid[test]))
print("level  without qid  with qid")
for row in zip(levels, without, within):
    print("{:5.0f}  {:11.3f}  {:8.3f}".format(*row))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(levels, within, "o-", label="fit(X, y, qid=qid)")
axes.plot(levels, without, "s--", label="fit(X, y)")
axes.axhline(0.5, color="grey", lw=0.8)
axes.set(xlabel="how much queries differ in level", ylabel="pairs of new queries in order")
axes.legend()
axes.grid(alpha=0.3)
