"""Slow, obvious versions of quadratic ranking: enumerate pairs, form matrices, solve."""

import numpy as np


def enumerate_pairs(y, qid=None, weight=None, loss="magnitude", ties="keep", query_weight="pairs"):
    """(h, j, z, w²) for every unordered pair of a query once, h the better one."""
    m = len(y)
    qid = [0] * m if qid is None else list(qid)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    found = []
    for label in set(qid):
        items = [i for i in range(m) if qid[i] == label]
        rows = []
        for a, i in enumerate(items):
            for j in items[a + 1 :]:
                h, l = (i, j) if y[i] >= y[j] else (j, i)
                gap = y[h] - y[l]
                if gap == 0 and not (loss == "magnitude" and ties == "keep"):
                    continue
                rows.append((h, l, gap, weight[i] * weight[j]))
        total_items, total_pairs = sum(weight[i] for i in items), sum(row[3] for row in rows)
        for h, l, gap, pair_weight in rows:
            z, w = target_and_weight(loss, gap)
            squared = pair_weight * w**2
            squared *= query_scale(query_weight, total_items, total_pairs)
            found.append((h, l, z, squared))
    return found


def query_scale(query_weight, total_items, total_pairs):
    """What the weight of each pair of a query is multiplied by."""
    if query_weight == "pairs":
        return 1.0
    divisor = {"size": total_items, "queries": total_pairs}[query_weight]
    return 1.0 / divisor if divisor else 0.0


def target_and_weight(loss, gap):
    """z and w of equations 20 to 22, or of an object with `pairs(difference)`."""
    if not isinstance(loss, str):
        return (part[0] for part in loss.pairs(np.array([gap])))
    return {"magnitude": (gap, 1.0), "unit": (1.0, 1.0), "relative": (gap, 1 / (gap or 1))}[loss]


def laplacian_and_target(pairs, m):
    """L = M Mᵀ and b = M N from the incidence matrix of equation 12, column by column."""
    L, b = np.zeros((m, m)), np.zeros(m)
    for h, l, z, squared in pairs:
        e = np.zeros(m)
        e[h], e[l] = 1.0, -1.0
        L += squared * np.outer(e, e)
        b += squared * z * e
    return L, b


def primal_solution(F, L, b, alpha):
    """w of (FᵀLF + λI) w = Fᵀb, equation 28."""
    return np.linalg.solve(F.T @ L @ F + alpha * np.eye(F.shape[1]), F.T @ b)


def dual_solution(K, L, b, alpha):
    """a of (LK + λI) a = b, equation 17."""
    return np.linalg.solve(L @ K + alpha * np.eye(len(K)), b)


def reduced_solution(K, basis, L, b, alpha):
    """b_R of equation 41: (K_R L K_Rᵀ + λ K_RR) b = K_R b, by pseudo-inverse."""
    K_MR, K_RR = K[:, basis], K[np.ix_(basis, basis)]
    return np.linalg.pinv(K_MR.T @ L @ K_MR + alpha * K_RR, rcond=1e-13) @ (K_MR.T @ b)


def objective(f, norm_squared, pairs, alpha):
    """Σ w²(z − (f_h − f_j))² + α‖f‖²."""
    return sum(w2 * (z - (f[h] - f[l])) ** 2 for h, l, z, w2 in pairs) + alpha * norm_squared
