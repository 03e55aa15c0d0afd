import numpy as np
import pytest

from rankwise.datasets import read_ppi_corpus
from tests.ppi_corpus import corpus_xml, made_documents


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    """Two corpora of the same language."""
    folder = tmp_path_factory.mktemp("corpora")
    found = []
    for seed in (0, 1):
        path = folder / f"{seed}.xml"
        path.write_text(
            corpus_xml(made_documents(8, np.random.default_rng(seed))), encoding="utf-8"
        )
        found.append(read_ppi_corpus(path))
    return found
