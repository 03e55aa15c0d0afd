"""
A game without a best player
============================

In rock, paper, scissors everybody loses to somebody. No single score orders the players, but for
each opponent there is an order. A model of a reciprocal relation learns these orders from 1000
games and predicts them for new players. The matrix shows the circle of who beats whom.
"""

import matplotlib.pyplot as plt
import numpy as np

from rankwise import ConditionalRanker, metrics
from rankwise.datasets import make_rock_paper_scissors

games = make_rock_paper_scissors(w=100, random_state=0)
model = ConditionalRanker(alpha=1.0, relation="reciprocal", kernel="rbf", gamma=1.0)
model.fit(games.X, games.y, edges=games.edges)
S = model.predict(games.X_test)
error = metrics.conditional_error(games.Y_test, S)
print(f"{1 - error:.4f} of pairs of opponents in the right order, for new players")
order = np.lexsort((games.X_test.max(axis=1), games.X_test.argmax(axis=1)))
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for panel, (title, matrix) in zip(
    axes, {"true chance to win": games.Y_test, "predicted score": S}.items()
):
    panel.imshow(matrix[np.ix_(order, order)], cmap="RdBu_r")
    panel.set(title=title, xlabel="opponent", ylabel="new player, by favourite move")
