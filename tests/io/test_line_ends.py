"""Every reader of text answers the same for files of Windows and of Unix, with or without a mark of
the byte order, from paths with spaces and letters outside ASCII.
"""

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import sparse

from rankwise import Preferences
from rankwise.datasets import (
    read_edges,
    read_kernel,
    read_letor,
    read_ppi_corpus,
    read_preferences,
    read_qrels,
    read_ratings,
    read_run,
    read_table,
)
from rankwise.io.vote_tables import read_vote_table
from tests.ppi_corpus import corpus_xml, made_documents

CONLLU = (
    "# doc_id = d0\n# sent_id = s0\n# entity = e0 1-1\n# entity = e1 3-3\n"
    "1\tA\t_\tNN\tNN\t_\t2\tnsubj\t_\t_\n2\tbinds\t_\tVB\tVB\t_\t0\troot\t_\t_\n"
    "3\tB\t_\tNN\tNN\t_\t2\tobj\t_\t_\n\n"
)


def votes(path):
    preferences = read_vote_table(path, {"a": "a", "b": "b", "outcome": "won"}).preferences()
    return {name: getattr(preferences, name) for name in ("items", "winner", "loser", "tie")}


def corpus(path):
    found = read_ppi_corpus(path)
    parts = ("text", "entities", "tokens", "dependencies")
    return {
        "documents": found.documents,
        "sentences": [[getattr(each, part) for part in parts] for each in found.sentences],
        "pairs": [pair.interaction for pair in found.pairs],
    }


READERS = {
    "letor": (read_letor, "2 qid:1 1:0.5 2:1e-3 #doc a\n\n# c\n0 qid:2 2:3\n1 qid:2 1:1 # d2 \n"),
    "table": (
        lambda path: read_table(path, target="stars", query="city", categorical=["kind"]),
        'price,"kind",city,stars\n1.5,"a ""b""",Köln,3\n2,y,Köln,1\n3,x,Bonn,2\n',
    ),
    "tabs": (lambda path: read_table(path, target="y"), "x\ty\n1\t2\n3\t4\n"),
    "preferences": (read_preferences, "winner,loser,weight\n0,1,2\n2,1,1\n"),
    "preferences without a header": (read_preferences, "# c\n0\t1\n\n2\t1\n"),
    "edges": (read_edges, "row,column,value\na,x,1\nb,é,2\n"),
    "matrix": (lambda path: read_edges(path, form="matrix"), ",x,é\na,1,2\nb,3,\n"),
    "kernel": (read_kernel, ",a,é\na,1,0.5\né,0.5,1\n"),
    "ratings": (read_ratings, "user,item,rating\nu,0,3\nu,1,4\nv,1,2\n"),
    "qrels": (read_qrels, "q1 0 d1 2\n\nq2 0 dé 0\n"),
    "run": (read_run, "q1 Q0 d1 1 2.5 é\nq1 Q0 d2 2 1.5 é\n"),
    "votes": (votes, "a,b,won\nx,é,x\né,z,tie\n"),
    "corpus": (corpus, corpus_xml(made_documents(2, np.random.default_rng(0)))),
    "conllu": (corpus, CONLLU),
}


def dense(found):
    """Sparse features as arrays, which can be compared."""
    values = vars(found) if isinstance(found, Preferences) else dict(found)
    return {k: v.toarray() if sparse.issparse(v) else v for k, v in values.items()}


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["", "with mark"])
@pytest.mark.parametrize("name", READERS)
def test_line_ends(name, mark, tmp_path):
    read, text = READERS[name]
    unix, windows = (tmp_path / f"{system}, Köln 中" / "a file é.txt" for system in ("u", "w"))
    for path in (unix, windows):
        path.parent.mkdir()
    unix.write_bytes(text.encode())
    windows.write_bytes((mark + text.replace("\n", "\r\n")).encode())
    expected, found = dense(read(unix)), dense(read(windows))
    assert_equal(found, expected)
