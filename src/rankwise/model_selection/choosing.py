import numpy as np

EQUAL = 1e-12


def largest_of_best(alphas, scores) -> int:
    best = np.flatnonzero(scores >= scores.max() - EQUAL)
    return int(best[np.argmax(alphas[best])])
