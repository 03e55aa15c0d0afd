"""Slow, plain versions of magnitude-preserving ranking and boosting, pair by pair."""

import numpy as np
import piqp


def ordered_pairs(qid):
    """Every (i, j) of the same query, i = j included."""
    m = len(qid)
    return [(i, j) for i in range(m) for j in range(m) if qid[i] == qid[j]]


def objective(h, norm_squared, y, C, norm, epsilon=0.0, qid=None, weight=None):
    """‖h‖² + C/N Σ_ij v_i v_j max(0, |(h_j − h_i) − (y_j − y_i)| − ε)^norm, N = Σ_q (Σ v)²."""
    qid = np.zeros(len(y)) if qid is None else np.asarray(qid)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    total = pairs = 0.0
    for i, j in ordered_pairs(qid):
        gap = abs((h[j] - h[i]) - (y[j] - y[i]))
        total += weight[i] * weight[j] * max(0.0, gap - epsilon) ** norm
        pairs += weight[i] * weight[j]
    return norm_squared + C * total / pairs


def mprank(F, y, C, qid=None, weight=None):
    """w of MPRank with norm 2, from the normal equations of all ordered pairs."""
    qid = np.zeros(len(y)) if qid is None else np.asarray(qid)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    A, b, N = np.zeros((F.shape[1], F.shape[1])), np.zeros(F.shape[1]), 0.0
    for i, j in ordered_pairs(qid):
        d, z, v = F[j] - F[i], y[j] - y[i], weight[i] * weight[j]
        A, b, N = A + v * np.outer(d, d), b + v * z * d, N + v
    return np.linalg.solve(np.eye(len(b)) + C / N * A, C / N * b)


def ridge_by_query(F, y, factor, qid):
    """argmin ‖w‖² + Σ_i factor_i (residual_i − its query's mean residual)²."""
    A, b = np.eye(F.shape[1]), np.zeros(F.shape[1])
    for query in np.unique(qid):
        rows = qid == query
        D, z, c = F[rows] - F[rows].mean(0), y[rows] - y[rows].mean(), factor[rows][:, None]
        A, b = A + (c * D).T @ D, b + (c * D).T @ z
    return np.linalg.solve(A, b)


def pairwise_loo(F, y, C, qid=None):
    """Equation 17 by refitting, each item keeping the factor 2C m_q/N of the full sample."""
    qid = np.zeros(len(y)) if qid is None else np.asarray(qid)
    pairs = ordered_pairs(qid)
    size = np.array([np.sum(qid == q) for q in qid])
    factor = 2 * C * size / len(pairs)
    costs = []
    for i, j in pairs:
        if i != j:
            rest = np.setdiff1d(np.arange(len(y)), [i, j])
            h = F @ ridge_by_query(F[rest], y[rest], factor[rest], qid[rest])
            costs.append(((h[j] - h[i]) - (y[j] - y[i])) ** 2)
    return np.mean(costs)


def equation_13(K, K_new, y, C):
    """h(x′) = C′K′(I + K̄)⁻¹(M_Y − M_Ȳ), written out; rows of K_new are the items x′."""
    m = len(y)
    K_prime = K_new - K_new.mean(axis=1, keepdims=True)  # equation 14
    centring = np.eye(m) - 1.0 / m
    K_bar = 2 * C / m * centring @ K @ centring
    return 2 * C / m * K_prime @ np.linalg.solve(np.eye(m) + K_bar, y - y.mean())


def approximate_loo(K, y, C):
    """Section 2.6: Proposition 2 with h̄ for h̄′, pair by pair."""
    m = len(y)
    centring = np.eye(m) - 1.0 / m
    inverse = np.linalg.inv(np.eye(m) + 2 * C / m * centring @ K @ centring)
    U = 2 * C / m * (K - K.mean(axis=1, keepdims=True)) @ inverse  # equation 23
    h = U @ (y - y.mean())
    e, centre, total = h - y, h.mean() - y.mean(), 0.0
    for i in range(m):
        for j in range(m):
            if i == j:
                continue
            out = [k for k in range(m) if k not in (i, j)]
            V_ii, V_ij = (U[i, k] - U[i, out].sum() / (m - 2) for k in (i, j))
            V_jj, V_ji = (U[j, k] - U[j, out].sum() / (m - 2) for k in (j, i))
            top = (1 - V_ii - V_ij) * e[j] - (1 - V_ji - V_jj) * e[i]
            top -= ((1 - V_ii - V_ij) * (V_jj + V_ji) - (1 - V_ji - V_jj) * (V_ii + V_ij)) * centre
            total += (top / ((1 - V_jj) * (1 - V_ii) - V_ij * V_ji)) ** 2
    return total / (m * (m - 1))


def svrank_programme(F, y, C, epsilon, qid=None, norm=1):
    """The quadratic programme of section 2.4, one slack an unordered pair: the minimum of F."""
    m, n = F.shape
    qid = np.zeros(m) if qid is None else np.asarray(qid)
    N = len(ordered_pairs(qid))
    i, j = np.array([(i, j) for i, j in ordered_pairs(qid) if i < j]).T
    D, z, pairs = F[j] - F[i], y[j] - y[i], len(i)
    P = np.zeros((n + pairs, n + pairs))
    P[:n, :n] = 2 * np.eye(n)
    c = np.concatenate([np.zeros(n), np.full(pairs, 2 * C / N if norm == 1 else 0.0)])
    if norm == 2:
        P[n:, n:] = 4 * C / N * np.eye(pairs)
    G = np.block([[D, -np.eye(pairs)], [-D, -np.eye(pairs)]])
    h_u = np.concatenate([epsilon + z, epsilon - z])
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(pairs)])
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.setup(np.asfortranarray(P), c, G=np.asfortranarray(G), h_u=h_u, x_l=lower)
    solver.solve()
    x = solver.result.x
    return float(0.5 * x @ P @ x + c @ x), x[:n]


def rank_boost(X, y, n_rounds, qid=None, weight=None, learning_rate=1.0):
    """RankBoost over an explicit list of pairs; returns the training scores after every round."""
    m, n = X.shape
    qid = np.zeros(m) if qid is None else np.asarray(qid)
    weight = np.ones(m) if weight is None else np.asarray(weight, dtype=float)
    pairs = [(i, j) for i in range(m) for j in range(m) if qid[i] == qid[j] and y[i] > y[j]]
    winner, loser = np.array(pairs).T
    D = weight[winner] * weight[loser]
    smoothing = 1.0 / D.sum()
    candidates = []
    for j in range(n):
        x = X[:, j]
        values = np.unique(x[~np.isnan(x)])
        cuts = [*(values[:-1] + values[1:])[::-1] / 2, -np.inf]
        candidates += [np.where(np.isnan(x), d, x > cut) for cut in cuts for d in (0.0, 1.0)]
    H, history = np.zeros(m), []
    for _ in range(n_rounds):
        D = D / D.sum()
        advantages = np.array([D @ (h[winner] - h[loser]) for h in candidates])
        best = int(np.argmax(np.abs(advantages) > np.abs(advantages).max() - 1e-10))
        r, h = advantages[best], candidates[best]
        alpha = learning_rate * 0.5 * np.log((1 + r + smoothing) / (1 - r + smoothing))
        D = D * np.exp(alpha * (h[loser] - h[winner]))
        H = H + alpha * h
        history.append(H)
    return np.array(history)
