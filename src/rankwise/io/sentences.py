"""Parsed sentences with named entities and candidate pairs, as `read_ppi_corpus` returns them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

Span = tuple[int, int]
"""(start, end) of some characters of a text, the end not included."""
KnownPairs = dict[frozenset[str], tuple[str, bool | None]]
"""The ids of two entities -> the pair's own id, and whether they interact."""


@dataclass(frozen=True)
class Token:
    """A word, text[start:end] of its sentence, and its part of speech.

    Parameters
    ----------
    text, pos : str
        The word and its part of speech.
    start, end : int
        Its place in the text of the sentence.

    Examples
    --------
    >>> from rankwise.datasets import Token
    >>> Token("binds", "VBZ", 2, 7).text
    'binds'
    """

    text: str
    pos: str
    start: int
    end: int


@dataclass(frozen=True)
class Dependency:
    """A typed dependency between two tokens, given by their numbers in the sentence.

    Parameters
    ----------
    governor, dependent : int
        Numbers of the tokens.
    type : str
        Such as "nsubj".

    Examples
    --------
    >>> from rankwise.datasets import Dependency
    >>> Dependency(1, 0, "nsubj").governor
    1
    """

    governor: int
    dependent: int
    type: str


@dataclass(frozen=True)
class Entity:
    """A named entity of a sentence.

    Parameters
    ----------
    id, text : str
        Its name in the corpus, and its text.
    spans : tuple of (start, end)
        Its positions in the text, several if it is interrupted.
    type : str
        Such as "protein".

    Examples
    --------
    >>> from rankwise.datasets import Entity, Token
    >>> Entity("e1", "binds", ((2, 7),)).covers(Token("binds", "VBZ", 2, 7))
    True
    """

    id: str
    text: str
    spans: tuple[Span, ...]
    type: str = ""

    def covers(self, token: Token) -> bool:
        """Whether the entity and the token share a character."""
        return any(start < token.end and token.start < end for start, end in self.spans)


@dataclass(frozen=True)
class Pair:
    """A candidate: an unordered pair of entities of one sentence.

    Parameters
    ----------
    id : str
        Its name in the corpus.
    entity1, entity2 : Entity
        The pair.
    interaction : bool or None
        None is unknown.
    sentence : Sentence
        Where it stands.

    Examples
    --------
    >>> from rankwise.datasets import make_ppi_corpus
    >>> pair = make_ppi_corpus(n_documents=1, random_state=0).pairs[0]
    >>> pair.entity1.text, pair.entity2.text, pair.document
    ('P26', 'P92', 'd0')
    """

    id: str
    entity1: Entity
    entity2: Entity
    interaction: bool | None
    sentence: Sentence = field(repr=False, compare=False)

    @property
    def document(self) -> str:
        return self.sentence.document


@dataclass(eq=False)
class Sentence:
    """A sentence with its analysis.

    Parameters
    ----------
    id, document, text : str
        Names of the sentence and its document, and its text.
    tokens, dependencies, entities : tuple
        The analysis.
    pairs : tuple of Pair
        Every unordered pair of entities once.

    Examples
    --------
    >>> from rankwise.datasets import make_ppi_corpus
    >>> sentence = make_ppi_corpus(n_documents=1, random_state=0).sentences[0]
    >>> sentence.text, [token.pos for token in sentence.tokens]
    ('P26 precedes P92', ['NN', 'VBZ', 'NN'])
    """

    id: str
    document: str
    text: str
    tokens: tuple[Token, ...]
    dependencies: tuple[Dependency, ...]
    entities: tuple[Entity, ...]
    pairs: tuple[Pair, ...] = field(default=(), repr=False)

    def entity(self, wanted: Entity | str) -> Entity:
        """The entity that is given, or that has the given id."""
        for entity in self.entities:
            if entity is wanted or entity == wanted or entity.id == wanted:
                return entity
        name = getattr(wanted, "id", wanted)
        raise ValueError(f"sentence {self.id!r} has no entity {name!r}.")

    def tokens_of(self, entity: Entity) -> list[int]:
        """Numbers of the tokens that share a character with the entity."""
        return [number for number, token in enumerate(self.tokens) if entity.covers(token)]

    def add_pairs(self, known: KnownPairs, unlisted: bool | None) -> None:
        """Set one candidate for each pair of entities, labelled `unlisted` if it is not known."""
        pairs: list[Pair] = []
        for i, first in enumerate(self.entities):
            for second in self.entities[i + 1 :]:
                fallback = (f"{self.id}.p{len(pairs)}", unlisted)
                name, label = known.get(frozenset((first.id, second.id)), fallback)
                pairs.append(Pair(name, first, second, label, self))
        self.pairs = tuple(pairs)


@dataclass(frozen=True)
class Problem:
    """The reason why a part of a corpus was left out."""

    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(eq=False)
class Corpus:
    """Sentences in their order, and the problems met while reading them.

    Parameters
    ----------
    name : str
        Of the corpus.
    sentences : list of Sentence
        In their order.
    problems : list
        What was left out while reading, and why.
    self_interactions : int
        The number of pairs of an entity with itself, which were left out.

    Examples
    --------
    >>> from rankwise.datasets import make_ppi_corpus
    >>> corpus = make_ppi_corpus(n_documents=3, random_state=0)
    >>> corpus.documents, len(corpus), len(corpus.pairs)
    (['d0', 'd1', 'd2'], 6, 6)
    """

    name: str
    sentences: list[Sentence] = field(repr=False)
    problems: list[Problem] = field(default_factory=list, repr=False)
    self_interactions: int = 0

    @property
    def documents(self) -> list[str]:
        """The id of every document once, in the order of the corpus."""
        return list(dict.fromkeys(sentence.document for sentence in self.sentences))

    @property
    def entities(self) -> list[Entity]:
        return [entity for sentence in self.sentences for entity in sentence.entities]

    @property
    def pairs(self) -> list[Pair]:
        """Every candidate, sentence by sentence."""
        return [pair for sentence in self.sentences for pair in sentence.pairs]

    @property
    def problem_counts(self) -> Counter:
        return Counter(problem.kind for problem in self.problems)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)
