"""A small corpus in the unified PPI XML, written by the tests."""

from xml.sax.saxutils import quoteattr

VERBS = {True: ["binds", "activates", "phosphorylates"], False: ["resembles", "and", "follows"]}


def token_list(text):
    """(start, word) of words separated by spaces."""
    found, at = [], 0
    for word in text.split(" "):
        found.append((at, word))
        at += len(word) + 1
    return found


def sentence_xml(id, words, proteins, interactions, tokenizer="split", arcs=None):
    """Tokens `words`, proteins by place, interactions (i, j, bool) by places in `proteins`."""
    text = " ".join(words)
    tokens = token_list(text)
    lines = [f"<sentence id={quoteattr(id)} text={quoteattr(text)}>"]
    for e, place in enumerate(proteins):
        start, word = tokens[place]
        offsets = f"{start}-{start + len(word) - 1}"
        lines.append(
            f'<entity id="{id}.e{e}" charOffset="{offsets}" text={quoteattr(word)} type="protein"/>'
        )
    for p, (i, j, interacts) in enumerate(interactions):
        lines.append(
            f'<pair id="{id}.p{p}" e1="{id}.e{i}" e2="{id}.e{j}" interaction="{interacts}"/>'
        )
    lines.append(f'<sentenceanalyses><parses><parse parser="p" tokenizer="{tokenizer}">')
    arcs = [(i, i + 1, "dep") for i in range(len(words) - 1)] if arcs is None else arcs
    lines.extend(
        f'<dependency id="d{n}" t1="t{g}" t2="t{d}" type="{kind}"/>'
        for n, (g, d, kind) in enumerate(arcs)
    )
    lines.append(f'</parse></parses><tokenizations><tokenization tokenizer="{tokenizer}">')
    for n, (start, word) in enumerate(tokens):
        pos = "NN" if n in proteins else "XX"
        offsets = f"{start}-{start + len(word) - 1}"
        lines.append(
            f'<token id="t{n}" charOffset="{offsets}" POS="{pos}" text={quoteattr(word)}/>'
        )
    lines.append("</tokenization></tokenizations></sentenceanalyses></sentence>")
    return "\n".join(lines)


def corpus_xml(documents):
    """documents: a list of lists of sentences as XML."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', '<corpus source="made">']
    for d, sentences in enumerate(documents):
        parts += [f'<document id="d{d}">', *sentences, "</document>"]
    return "\n".join([*parts, "</corpus>"])


def made_documents(n_documents, rng, per_document=4):
    """Sentences 'the A verb B with C .': A and B interact if the verb says so, C with nobody."""
    documents = []
    for d in range(n_documents):
        sentences = []
        for s in range(per_document):
            interacts = bool(rng.integers(2))
            verb = str(rng.choice(VERBS[interacts]))
            words = ["the", f"A{d}", verb, "protein", f"B{s}", "with", "C1", "."]
            labels = [(0, 1, interacts), (0, 2, False), (1, 2, False)]
            arcs = [
                (2, 1, "nsubj"),
                (1, 0, "det"),
                (2, 4, "dobj"),
                (4, 3, "nn"),
                (2, 6, "prep_with"),
            ]
            sentences.append(sentence_xml(f"d{d}.s{s}", words, [1, 4, 6], labels, arcs=arcs))
        documents.append(sentences)
    return documents
