"""Twenty-four items with real scores Y, two classes B and six queries QID."""

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 4))
Y = X[:, 0] + RNG.normal(size=24)
B = (Y > 0.2).astype(float)
QID = np.array(list("abcdef") * 4)
