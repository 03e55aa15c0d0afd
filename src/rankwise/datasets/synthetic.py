"""Generated data whose true model is known."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from rankwise.io.sentences import Corpus, Dependency, Entity, KnownPairs, Sentence, Token
from rankwise.validation import check_count, check_positive

Seed = int | np.random.RandomState | None

STRATEGY_SPREAD = 0.1
"""Standard deviation of a player's preference for each move, before it is multiplied by w."""
INTERACTING, OTHER = ("binds", "phosphorylates", "inhibits"), ("resembles", "precedes", "follows")


def make_ranking(
    n_queries: int = 100,
    n_items: int | tuple[int, int] = 20,
    n_features: int = 10,
    *,
    n_informative: int | None = None,
    grades: int | None = None,
    signal_to_noise: float = 3.0,
    query_shift: float = 1.0,
    density: float | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Queries of items whose scores are a linear function of the features, plus noise.

    y = X w + shift of the query + noise, where w is standard normal for the first n_informative
    features and 0 for the others. The shift matters to regression, but not to rankers.

    Parameters
    ----------
    n_queries
        Number of queries.
    n_items
        Number of items per query, or (least, most) to draw it for every query.
    n_features, n_informative
        Numbers of features; by default all are informative.
    grades
        None for real scores; an integer g ≥ 2 for grades 0 … g − 1, each of which is about half as
        frequent as the one before, as in judgements of relevance.
    signal_to_noise
        Variance of X w divided by the variance of the noise; inf for no noise.
    query_shift
        Standard deviation of the shifts, divided by that of X w.
    density
        None for a dense array of standard normal features; a number in (0, 1] for CSR in which this
        share of the values is positive and the rest 0.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        With X (m, n); y (m,); qid (m,) integers from 0; coef (n,) the true w.

    Examples
    --------
    >>> from rankwise.datasets import make_ranking
    >>> data = make_ranking(n_queries=3, n_items=4, n_features=2, grades=3, random_state=0)
    >>> data.X.shape, data.y[:6]
    ((12, 2), array([2., 0., 2., 0., 0., 0.]))
    """
    least, most = n_items if isinstance(n_items, tuple) else (n_items, n_items)
    informative = n_features if n_informative is None else n_informative
    for name, value in (("n_queries", n_queries), ("n_items", least), ("n_features", n_features)):
        check_count(name, value, 1)
    check_count("the second number of n_items", most, least)
    check_count("n_informative", informative, 1)
    if informative > n_features:
        raise ValueError(f"n_informative must be at most n_features; got {informative!r}.")
    if grades is not None:
        check_count("grades", grades, 2)
    if signal_to_noise != np.inf:
        signal_to_noise = check_positive("signal_to_noise", signal_to_noise)
    query_shift = check_positive("query_shift", query_shift, zero=True)
    if density is not None and check_positive("density", density) > 1:
        raise ValueError(f"density must be at most 1; got {density!r}.")
    rng = check_random_state(random_state)
    qid = np.repeat(np.arange(n_queries), rng.randint(least, most + 1, size=n_queries))
    shape = (len(qid), n_features)
    if density is None:
        X = rng.normal(size=shape)
    else:
        X = sparse.random(*shape, density, "csr", random_state=rng)
    coef = np.where(np.arange(n_features) < informative, rng.normal(size=n_features), 0.0)
    signal = np.asarray(X @ coef)
    deviation = signal.std() or 1.0
    shift = rng.normal(scale=query_shift * deviation, size=n_queries)[qid]
    y = signal + rng.normal(scale=deviation / np.sqrt(signal_to_noise), size=len(qid))
    if grades is None:
        return Bunch(X=X, y=y + shift, qid=qid, coef=coef)
    shares = 0.5 ** np.arange(1, int(grades))
    cuts = np.quantile(y, np.cumsum(shares))
    return Bunch(X=X, y=np.searchsorted(cuts, y).astype(float), qid=qid, coef=coef)


def make_rock_paper_scissors(
    w: float, n_players: int = 100, n_games: int = 1000, random_state: Seed = None
) -> Bunch:
    """Games of rock-paper-scissors between players with mixed strategies, an intransitive relation.

    A player plays move i with probability softmax(w v)_i, where v ~ N(0, 0.1²) for each move. The
    strategies are almost uniform for w = 1, and mostly one move for w = 100 (section 6.1 of
    Pahikkala et al. 2013).

    Parameters
    ----------
    w : float
        How much players prefer one move.
    n_players, n_games : int
        Numbers of players and of games.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        X (n_players, 3) the strategies of the players; edges (2 n_games, 2) and y: each game
        between two random players gives one edge per direction, +1 from the winner, −1 from the
        loser, 0 in a draw; X_test (n_players, 3) new players, and Y_test (n_players, n_players)
        their probabilities of winning against each other, where a draw counts half.

    Examples
    --------
    >>> from rankwise.datasets import make_rock_paper_scissors
    >>> games = make_rock_paper_scissors(w=100, n_players=4, n_games=3, random_state=0)
    >>> games.edges.tolist(), games.y
    ([[3, 0], [0, 3], [0, 1], [1, 0], [2, 3], [3, 2]], array([-1.,  1.,  0., -0.,  1., -1.]))
    """
    w = check_positive("w", w)
    check_count("n_players", n_players, 2)
    check_count("n_games", n_games, 1)
    rng = check_random_state(random_state)
    X, X_test = _strategies(w, n_players, rng), _strategies(w, n_players, rng)
    first = rng.randint(n_players, size=n_games)
    second = (first + rng.randint(1, n_players, size=n_games)) % n_players
    outcome = _result(_draw_moves(X[first], rng), _draw_moves(X[second], rng)).astype(float)
    edges = np.column_stack([first, second, second, first]).reshape(-1, 2)
    y = np.column_stack([outcome, -outcome]).ravel()
    moves = np.arange(3)
    gain = _result(moves[:, None], moves)
    return Bunch(X=X, edges=edges, y=y, X_test=X_test, Y_test=(1 + X_test @ gain @ X_test.T) / 2)


def _strategies(w: float, n_players: int, rng: np.random.RandomState) -> np.ndarray:
    preference = w * rng.normal(scale=STRATEGY_SPREAD, size=(n_players, 3))
    odds = np.exp(preference - preference.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _draw_moves(strategies: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """One move for each row of probabilities: 0 rock, 1 paper or 2 scissors."""
    thresholds = strategies.cumsum(axis=1)[:, :2]
    return (rng.uniform(size=(len(strategies), 1)) > thresholds).sum(axis=1)


def _result(move: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 if the move wins (each beats the one before it), −1 if it loses, 0 in a draw."""
    return np.array([0, 1, -1])[(move - other) % 3]


def make_ppi_corpus(
    n_documents: int = 20, sentences_per_document: int = 2, *, random_state: Seed = None
) -> Corpus:
    """Sentences `A binds B` that tell of an interaction, and `A resembles B` that do not.

    A simulated corpus that is parsed already: each sentence has two proteins, one candidate pair,
    and a verb that decides whether they interact. O(sentences).

    Parameters
    ----------
    n_documents, sentences_per_document : int
        Numbers of documents, and of sentences in each.
    random_state
        Draws names and verbs.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from rankwise.datasets import make_ppi_corpus
    >>> corpus = make_ppi_corpus(n_documents=1, random_state=0)
    >>> [(sentence.text, sentence.pairs[0].interaction) for sentence in corpus]
    [('P26 precedes P92', False), ('P18 resembles P45', False)]
    """
    rng = check_random_state(random_state)
    sentences = []
    for document in range(n_documents):
        for number in range(sentences_per_document):
            interacts = bool(rng.randint(2))
            verb = (INTERACTING if interacts else OTHER)[rng.randint(3)]
            first, second = (f"P{name}" for name in rng.choice(100, size=2, replace=False))
            name = f"d{document}.s{number}"
            sentences.append(_sentence(name, f"d{document}", (first, verb, second), interacts))
    return Corpus("simulated", sentences)


def _sentence(name: str, document: str, words: tuple[str, str, str], interacts: bool) -> Sentence:
    starts = [0, len(words[0]) + 1, len(words[0]) + len(words[1]) + 2]
    spans = [(start, start + len(word)) for start, word in zip(starts, words)]
    tags = ("NN", "VBZ", "NN")
    tokens = tuple(Token(word, tag, *span) for word, tag, span in zip(words, tags, spans))
    links = (Dependency(1, 0, "nsubj"), Dependency(1, 2, "dobj"))
    entities = tuple(Entity(f"{name}.e{i}", words[i], (spans[i],), "protein") for i in (0, 2))
    sentence = Sentence(name, document, " ".join(words), tokens, links, entities)
    known: KnownPairs = {frozenset(entity.id for entity in entities): (f"{name}.p0", interacts)}
    sentence.add_pairs(known, unlisted=None)
    return sentence


def make_hybrid_search(
    n_queries: int = 300,
    n_documents: int = 30,
    dimensions: int = 32,
    *,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Documents that a lexical and a dense retriever found, with grades 0 to 3: simulated data.

    Each query has a topic u and each document an embedding v; what a reader wants is the sum of a
    lexical match and of Σ_j w_j u_j v_j, where only some dimensions matter (w_j falls from 2 to 0).
    `bm25` is the lexical match on a scale that differs from query to query, as that of BM25 does,
    with noise; the embeddings are u and v with noise. So neither signal is enough alone, a fixed
    fusion helps, and learnt weights of the dimensions help more. Grades cut the wanted score, with
    noise of its own, at the 60%, 80% and 93% points of all documents. O(m d).

    Parameters
    ----------
    n_queries, n_documents, dimensions
        Number of queries, documents of each, length of embeddings.
    noise
        How much the signals and the judgements are blurred.
    random_state
        Seed of all random numbers.

    Returns
    -------
    Bunch
        With qid (m,), docid (m,) text, y (m,) grades, bm25 (m,), query (m, d) and document (m, d)
        embeddings of each row, as float32.

    Examples
    --------
    >>> from rankwise.datasets import make_hybrid_search
    >>> data = make_hybrid_search(n_queries=5, n_documents=10, dimensions=4, random_state=0)
    >>> data.query.shape, data.y[:10]
    ((50, 4), array([0., 1., 3., 0., 0., 0., 0., 0., 0., 2.]))
    """
    for name, value in (("n_queries", n_queries), ("n_documents", n_documents)):
        check_positive(name, value)
    check_positive("dimensions", dimensions)
    check_positive("noise", noise, zero=True)
    rng = check_random_state(random_state)
    q, k, d = int(n_queries), int(n_documents), int(dimensions)
    topic, document = rng.normal(size=(q, 1, d)), rng.normal(size=(q, k, d))
    weights = np.linspace(2.0, 0.0, d)
    dense = (weights * topic * document).sum(axis=2) / np.sqrt((weights**2).sum())
    lexical = rng.normal(size=(q, k))
    wanted = lexical + dense + 0.7 * noise * rng.normal(size=(q, k))
    scale = np.exp(rng.normal(size=(q, 1)))
    bm25 = scale * (8.0 + 2.0 * (lexical + 0.7 * noise * rng.normal(size=(q, k))))
    blurred = [part + 0.3 * noise * rng.normal(size=part.shape) for part in (topic, document)]
    cuts = np.quantile(wanted, [0.6, 0.8, 0.93])
    return Bunch(
        qid=np.repeat([f"q{i}" for i in range(q)], k),
        docid=np.array([f"q{i}-d{j}" for i in range(q) for j in range(k)]),
        y=np.digitize(wanted, cuts).ravel().astype(float),
        bm25=bm25.ravel(),
        query=np.repeat(blurred[0], k, axis=1).reshape(q * k, d).astype(np.float32),
        document=blurred[1].reshape(q * k, d).astype(np.float32),
    )
