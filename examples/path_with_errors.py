"""
A regularisation path with honest error bars
============================================

Every alpha is judged on 97,461 pairs of patients. A model that saw neither patient predicts each
pair, without refitting. The bar is the standard error of a U-statistic: pairs share
patients, so the error would be ten times too small if pairs were counted as independent.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from rankwise import RankRLSCV

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, options in {
    "linear": {},
    "Gaussian kernel": {"kernel": "rbf", "gamma": 0.02},
    "cubic kernel": {"kernel": "poly", "gamma": 0.1},
}.items():
    model = RankRLSCV(cv="leave-pair-out", **options).fit(X, y)
    grid = model.cv_results_
    print(f"{name:32} alpha {model.alpha_:<8g} {model.best_score_:.3f}")
    (line,) = axes.semilogx(grid["alpha"], grid["score"], label=name)
    low, high = grid["score"] - grid["score_se"], grid["score"] + grid["score_se"]
    axes.fill_between(grid["alpha"], low, high, color=line.get_color(), alpha=0.15)
axes.set(xlabel="alpha", ylabel="unseen pairs in the right order", title="Patients by risk")
axes.legend()
axes.grid(alpha=0.3)
