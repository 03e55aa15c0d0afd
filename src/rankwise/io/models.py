"""`save` and `load`."""

from __future__ import annotations

import importlib.metadata

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import ReadError
from rankwise.io.atomic import write_atomically
from rankwise.io.container import pack, unpack
from rankwise.io.registry import BY_CLASS, BY_NAME, ESTIMATORS
from rankwise.io.source import read_raw
from rankwise.io.tree import Decoder, Encoder, Unsaveable, as_dict


def save(est, path, *, training_data=False) -> None:
    """Write a fitted learner, or a pipeline that ends in one, to a file that holds no code.

    The file appears whole or not at all. The loaded model predicts the same bits. What needs the
    training items (hold-outs, paths, `pairwise_loo`, bounds, continuing a `fit`) is there again
    only with training_data=True, which writes the items and their scores too; linear models and
    reduced sets made by `partial_fit` keep their sums and go on without. Known are all learners
    of rankwise, KernelMap, Pipeline, and scikit-learn's StandardScaler, MinMaxScaler,
    MaxAbsScaler, RobustScaler and Normalizer.

    Raises ValueError for anything else: a kernel, scorer or splitter that is code of your own
    (use a kernel's name, kernel="precomputed", or set_params before saving), other estimators.
    """
    if hasattr(est, "to_local"):  # fitted on a cluster
        est = est.to_local()
    if type(est).__name__ not in ESTIMATORS or type(est) not in BY_CLASS:
        raise ValueError(_unknown(est, "the model"))
    _check_fitted(est)

    def encode_object(encoder: Encoder, value, where: str, depth: int) -> dict:
        known = BY_CLASS.get(type(value))
        if known is None:
            raise Unsaveable(_unknown(value, where))
        fields = known.state(value, training_data).items()
        prefix = "" if where == "the model" else f"{where}."
        state = {k: encoder.encode(v, f"{prefix}{k}", depth + 1) for k, v in fields}
        return {"is": known.cls.__name__, "state": state}

    encoder = Encoder(encode_object)
    tree = encoder.encode(est, "the model")
    version = importlib.metadata.version("rankwise")
    write_atomically(path, pack(tree, encoder.tensors, version))


def load(path):
    """The model that `save` wrote to a path, "-" or an open binary file.

    Only the classes that `save` knows are made, from numbers and text alone: no code in the file
    is run, whoever wrote it. A file that is cut short, altered or foreign is a ReadError that says
    why.
    """
    source = read_raw(path)
    contents = unpack(source.data, source.name)

    def decode_object(decoder: Decoder, node, depth: int):
        name = node.get("is")
        if not isinstance(name, str) or name not in BY_NAME:
            raise ValueError(f"{name!r} is no class that this version of rankwise knows")
        fields = as_dict(node.get("state")).items()
        return BY_NAME[name].build({k: decoder.decode(v, depth + 1) for k, v in fields})

    try:
        model = Decoder(contents.tensors, decode_object).decode(contents.model)
        if type(model).__name__ not in ESTIMATORS:
            raise ValueError("there is no model in it")
        _check_fitted(model)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError) as error:
        written = str(contents.versions.get("rankwise"))[:40]
        raise ReadError(f"written by rankwise {written}, but {error}.", source.name) from error
    return model


def _check_fitted(est) -> None:
    if hasattr(est, "fit"):
        check_is_fitted(est)
    elif not est.__sklearn_is_fitted__():
        raise NotFittedError(f"this {type(est).__name__} holds no fitted model yet.")


def _unknown(value, where: str) -> str:
    name = type(value).__name__
    if callable(value) and not hasattr(value, "fit"):
        return (
            f"{where} is a {name} of your own, and a model file holds no code. For a kernel use "
            'one of its names, or kernel="precomputed" with the matrix computed by you; else '
            "choose a named option with set_params before saving."
        )
    way_out = f"known are {', '.join(ESTIMATORS)}"
    if hasattr(value, "best_estimator_"):
        way_out = "save its best_estimator_ instead"
    elif not hasattr(value, "fit"):
        way_out = "give a number, text, array or named option with set_params before saving"
    return f"{where} is a {name}, which a model file cannot hold: {way_out}."
