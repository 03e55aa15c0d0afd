"""Parsed sentences about pairs of proteins, made at random, for examples and tests."""

from __future__ import annotations

from sklearn.utils import check_random_state

from rankwise.datasets.synthetic import Seed
from rankwise.io.sentences import Corpus, Dependency, Entity, KnownPairs, Sentence, Token

INTERACTING, OTHER = ("binds", "phosphorylates", "inhibits"), ("resembles", "precedes", "follows")


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
