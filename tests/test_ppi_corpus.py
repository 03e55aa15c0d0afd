"""Reading corpora of protein interactions."""

import gzip
import lzma

import numpy as np
import pytest

from rankwise.datasets import Dependency, Entity, read_ppi_corpus
from rankwise.exceptions import ReadError
from rankwise.graphs import candidate_graph
from tests.ppi_corpus import corpus_xml, made_documents, sentence_xml

PAIR = sentence_xml("d0.s0", ["GerE", "binds", "sigK", "."], [0, 2], [(0, 1, True)])


def read(tmp_path, text, name="made.xml", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_ppi_corpus(path, **options)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_reads_what_was_written(tmp_path, pack):
    text = corpus_xml(made_documents(3, np.random.default_rng(0)))
    corpus = read(tmp_path, pack(text.encode()))
    assert (len(corpus), corpus.documents) == (12, ["d0", "d1", "d2"])
    assert len(corpus.pairs) == 36 and len(corpus.entities) == 36 and not corpus.problems
    sentence = corpus.sentences[0]
    assert [token.text for token in sentence.tokens][:2] == ["the", "A0"]
    assert sentence.tokens[1].pos == "NN" and sentence.dependencies[0] == Dependency(2, 1, "nsubj")
    entity = sentence.entities[0]
    assert sentence.text[slice(*entity.spans[0])] == entity.text == "A0"
    pair = corpus.pairs[0]
    assert pair.document == "d0" and pair.sentence is sentence and pair.id == "d0.s0.p0"
    assert {pair.interaction for pair in corpus.pairs} == {True, False}


def test_one_candidate_a_pair_and_none_with_itself(tmp_path):
    listed = [(0, 0, True), (1, 0, False), (0, 1, True), (2, 1, False)]
    sentence = sentence_xml("s", ["a", "b", "c"], [0, 1, 2], listed)
    corpus = read(tmp_path, corpus_xml([[sentence]]))
    ends = [(p.entity1.text, p.entity2.text, p.interaction) for p in corpus.pairs]
    assert ends == [("a", "b", True), ("a", "c", None), ("b", "c", False)]
    assert corpus.self_interactions == 1
    corpus = read(tmp_path, corpus_xml([[sentence]]), unlisted="negative")
    assert [p.interaction for p in corpus.pairs] == [True, False, False]


BAD = {
    "entity outside the text": PAIR.replace('e1" charOffset="11-14"', 'e1" charOffset="11-144"'),
    "entity without token": PAIR.replace('e1" charOffset="11-14"', 'e1" charOffset="10-10"'),
    "missing parse": PAIR.replace('<parse parser="p" tokenizer="split">', "<other>").replace(
        "</parse>", "</other>"
    ),
    "token outside the text": PAIR.replace('t3" charOffset="16-16"', 't3" charOffset="17-16"'),
    "dependency of unknown token": PAIR.replace('t1="t0"', 't1="t9"'),
    "pair of unknown entity": PAIR.replace('e1="d0.s0.e0"', 'e1="other"'),
    "pair without a label": PAIR.replace('interaction="True"', 'interaction="maybe"'),
    "entity id twice": PAIR.replace('id="d0.s0.e1"', 'id="d0.s0.e0"'),
    "malformed file": PAIR + "<broken",
}


@pytest.mark.parametrize("kind", BAD)
def test_problems_are_named_or_skipped(tmp_path, kind):
    assert BAD[kind] != PAIR
    fine = PAIR.replace("d0.s0", "d1.s0")
    text = corpus_xml([[fine], [BAD[kind]]])
    with pytest.raises(ReadError, match='errors="skip"'):
        read(tmp_path, text)
    corpus = read(tmp_path, text, errors="skip")
    assert corpus.problem_counts[kind] >= 1 and str(corpus.problems[0])
    assert corpus.pairs[0].id == "d1.s0.p0"


def test_a_parse_may_be_empty_where_nothing_depends_on_it(tmp_path):
    alone = sentence_xml("s", ["GerE", "binds"], [0], [], arcs=[])
    assert len(read(tmp_path, corpus_xml([[alone]]))) == 1
    two = sentence_xml("s", ["GerE", "sigK"], [0, 1], [], arcs=[])
    with pytest.raises(ReadError, match="its parse is empty"):
        read(tmp_path, corpus_xml([[two]]))


@pytest.mark.parametrize("errors", ["raise", "skip"])
@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE c SYSTEM "file:///etc/passwd">',
    ],
)
def test_declarations_are_refused(tmp_path, errors, declaration):
    text = corpus_xml([[PAIR]]).replace("<corpus", declaration + "<corpus", 1)
    with pytest.raises(ReadError, match="declarations are refused"):
        read(tmp_path, text, errors=errors)


def test_depth_and_length_are_bounded(tmp_path):
    with pytest.raises(ReadError, match="nested more than 64 deep"):
        read(tmp_path, "<a>" * 100)
    path = tmp_path / "long.xml.xz"
    with lzma.open(path, "wb", preset=0) as stream:
        stream.write(b'<corpus source="')
        for _ in range(6):
            stream.write(b"x" * (1 << 20))
    with pytest.raises(ReadError, match="without an element's end"):
        read_ppi_corpus(path)


def test_broken_compression_and_arguments(tmp_path):
    packed = gzip.compress(corpus_xml([[PAIR], [PAIR]]).encode())
    with pytest.raises(ReadError, match="broken compression"):
        read(tmp_path, packed[:-30])
    with pytest.raises(ValueError, match="errors must be one of"):
        read(tmp_path, packed, errors="ignore")
    with pytest.raises(ValueError, match="holds no sentence"):
        read(tmp_path, "<corpus/>")
    with pytest.raises(FileNotFoundError):
        read_ppi_corpus(tmp_path / "none.xml")


def test_tokenizers_and_parsers(tmp_path):
    other = sentence_xml("s", ["GerE", "binds", "sigK"], [0, 2], [], tokenizer="first")
    both = PAIR.replace("d0.s0", "s")
    for part in ("parse", "tokenization"):
        piece = other[other.index(f"<{part} ") : other.index(f"</{part}>") + len(part) + 3]
        both = both.replace(f"<{part} ", piece + f"<{part} ", 1)
    text = corpus_xml([[both]])
    assert len(read(tmp_path, text).sentences[0].tokens) == 4
    assert len(read(tmp_path, text, tokenizer="first").sentences[0].tokens) == 3
    with pytest.raises(ReadError, match="no parse with its tokens named 'none'"):
        read(tmp_path, text, tokenizer="none")


def test_offsets_that_leave_the_last_character_out(tmp_path):
    text = corpus_xml([[PAIR.replace('"11-14"', '"11-15"').replace('"0-3"', '"0-4"')]])
    assert [e.spans for e in read(tmp_path, text).entities] == [((0, 4),), ((11, 15),)]


CONLLU = """# newdoc id = d1
# sent_id = s1
# text = GerE binds sigma K.
# pair = e1 e2 True
1\tGerE\tgerE\tNOUN\tNN\t_\t2\tnsubj\t_\tEntity=e1
2\tbinds\tbind\tVERB\tVBZ\t_\t0\troot\t_\t_
3-4\tsigmaK\t_\t_\t_\t_\t_\t_\t_\t_
3\tsigma\tsigma\tNOUN\tNN\t_\t4\tcompound\t_\tEntity=e2:gene
4\tK\tK\tNOUN\t_\t_\t2\tobj\t_\tEntity=e2|SpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = s2
1\tA\t_\tNOUN\tNN\t_\t2\tnsubj\t2:nsubj|0:root\tEntity=x,y
2\tB\t_\tVERB\tVB\t_\t0\troot\t0:root\tEntity=z
"""


def test_conllu(tmp_path):
    corpus = read(tmp_path, CONLLU, "made.conllu")
    first, second = corpus.sentences
    assert corpus.documents == ["d1"] and first.text == "GerE binds sigma K."
    assert [pair.interaction for pair in corpus.pairs] == [True, None, None, None]
    assert first.entities[1] == Entity("e2", "sigma K", ((11, 18),), "gene")
    assert [token.pos for token in first.tokens] == ["NN", "VBZ", "NN", "NOUN", "."]
    assert first.dependencies[0] == Dependency(1, 0, "nsubj") and len(first.dependencies) == 4
    assert second.text == "A B" and second.dependencies == (Dependency(1, 0, "nsubj"),)
    assert candidate_graph(first, "e1", "e2").n_vertices == 5 + 4 + 5


@pytest.mark.parametrize(
    "old, new, kind",
    [
        ("VBZ\t_\t0", "VBZ\t0", "malformed line"),
        ("e1 e2 True", "e1 e2 perhaps", "malformed line"),
        ("# pair = e1 e2", "# pair = e1 e3", "pair of unknown entity"),
        ("2\tnsubj\t_\tEntity=e1", "7\tnsubj\t_\tEntity=e1", "dependency of unknown token"),
    ],
)
def test_bad_conllu(tmp_path, old, new, kind):
    text = CONLLU.replace(old, new)
    assert text != CONLLU
    with pytest.raises(ReadError, match=r"line|s1"):
        read(tmp_path, text, "made.conllu")
    corpus = read(tmp_path, text, "made.conllu", errors="skip")
    assert corpus.problem_counts == {kind: 1} and "s2" in [s.id for s in corpus]
