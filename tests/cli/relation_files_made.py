"""Small files of a relation, for the tests of the command."""

import numpy as np


def write_nodes(path, X, prefix):
    lines = [f"{prefix}{i}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(X)]
    header = "name," + ",".join(f"f{j}" for j in range(X.shape[1]))
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def write_kernel(path, K, prefix, order):
    """A matrix of similarities whose columns are in another order than its rows."""
    lines = [f"{prefix}{i}," + ",".join(repr(float(K[i, j])) for j in order) for i in range(len(K))]
    path.write_text(
        "\n".join(["," + ",".join(f"{prefix}{j}" for j in order), *lines]) + "\n", encoding="utf-8"
    )


def write_relation(folder, seed=0):
    """drugs.csv, targets.csv, kd.csv, kt.csv; known.csv (80 % of 16 × 13 pairs), all.csv (20 × 16).

    matrix.csv holds the pairs of known.csv with missing cells.
    """
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(20, 3)).round(4), rng.normal(size=(16, 2)).round(4)
    Y = A @ rng.normal(size=(3, 2)) @ B.T + 0.5 * rng.normal(size=(20, 16))
    write_nodes(folder / "drugs.csv", A, "d")
    write_nodes(folder / "targets.csv", B, "t")
    write_kernel(folder / "kd.csv", A @ A.T, "d", rng.permutation(20))
    write_kernel(folder / "kt.csv", B @ B.T, "t", rng.permutation(16))
    seen = rng.random((16, 13)) < 0.8
    pairs = [f"d{i},t{j},{Y[i, j]:.4f}" for i, j in np.argwhere(seen)]
    (folder / "known.csv").write_text(
        "compound,protein,pKi\n" + "\n".join(pairs) + "\n", encoding="utf-8"
    )
    pairs = [f"d{i},t{j},{Y[i, j]:.4f}" for i in range(20) for j in range(16)]
    (folder / "all.csv").write_text(
        "compound,protein,pKi\n" + "\n".join(pairs) + "\n", encoding="utf-8"
    )
    cells = [[f"{Y[i, j]:.4f}" if seen[i, j] else "" for j in range(13)] for i in range(16)]
    rows = [f"d{i}," + ",".join(row) for i, row in enumerate(cells)]
    header = "drug," + ",".join(f"t{j}" for j in range(13))
    (folder / "matrix.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return A, B, Y
