"""`save` and `load`: fitted models as files that hold no code."""

from __future__ import annotations

import os
import re
import warnings
from typing import IO, Any

import sklearn
from sklearn.utils.validation import check_is_fitted

from rankwise.exceptions import ReadError, VersionWarning
from rankwise.io.atomic import write_atomically
from rankwise.io.model_container import pack, unpack
from rankwise.io.model_probe import check_predicts, check_probe, probe
from rankwise.io.model_schemas import MODELS, Foreign, is_model, schema_named, schema_of
from rankwise.io.model_values import Decoder, Encoder, Unsaveable, as_dict
from rankwise.io.source import read_raw
from rankwise.numerics.import_paths import imported


def save(est: Any, path: str | os.PathLike, *, training_data: bool = False) -> None:
    """Write a fitted learner, or a pipeline that ends in one, to a file that holds no code.

    The file appears whole or not at all. The loaded model predicts the same bits.
    A file can hold all learners of rankwise, KernelMap, and pipelines of scikit-learn with
    ColumnTransformer, OneHotEncoder, OrdinalEncoder, SimpleImputer, StandardScaler, MinMaxScaler,
    MaxAbsScaler, RobustScaler, Normalizer, PolynomialFeatures and Nystroem, nested as you like.

    Anything else is a ValueError: other estimators, and a kernel, function, scorer or splitter that
    is code of your own (use the name of a kernel, kernel="precomputed", or set_params before
    saving).

    Parameters
    ----------
    est
        The fitted model.
    path
        The file to write.
    training_data : bool
        Methods that need the training items (hold-outs, paths, `pairwise_loo`, bounds,
        `partial_fit` after `fit`) work after loading only with True, which writes the items and
        their scores too. Linear models and reduced sets made by `partial_fit` keep their sums, and
        continue without the items.

    Examples
    --------
    >>> import tempfile
    >>> from rankwise import RankRLS, load, save
    >>> model = RankRLS().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.rw")
    ...     again = load(f"{folder}/model.rw")
    >>> again.predict([[1.0, 1.0]]) == model.predict([[1.0, 1.0]])
    array([ True])
    """
    if hasattr(est, "to_local"):  # fitted on a cluster
        est = est.to_local()
    if not is_model(est):
        raise ValueError(_unsaveable(est, "the model"))
    check_is_fitted(est)

    def encode_object(encoder: Encoder, value: Any, where: str, depth: int) -> dict:
        schema = schema_of(value)
        if schema is None:
            raise Unsaveable(_unsaveable(value, where))
        prefix = "" if where == "the model" else f"{where}."
        fields = schema.state(value, training_data).items()
        state = {k: encoder.encode(v, f"{prefix}{k}", depth + 1) for k, v in fields}
        return {"is": schema.name, "state": state}

    encoder = Encoder(encode_object)
    tree = encoder.encode(est, "the model")
    write_atomically(path, pack(tree, encoder.tensors, probe(est)))


def load(path: str | os.PathLike | IO) -> Any:
    """The model that `save` wrote.

    `load` builds only the classes that `save` knows, from numbers and text: no code in the file is
    executed, whoever wrote it. A file that is cut short, altered or foreign, or whose model does
    not predict what it predicted when it was saved, is a ReadError that says why.

    A model that was fitted to a frame matches the columns of a frame by name; other columns are
    ignored. A VersionWarning says if parts of scikit-learn were written with another version of it.

    Parameters
    ----------
    path
        A path, "-" for standard input, or an open binary file.

    Examples
    --------
    >>> import io
    >>> from rankwise import ReadError, load
    >>> try:
    ...     load(io.BytesIO(b"not a model"))
    ... except ReadError:
    ...     print("not a model of rankwise")
    not a model of rankwise
    """
    source = read_raw(path)
    contents = unpack(source.data, source.name)

    foreign: list[str] = []

    def decode_object(decoder: Decoder, node: dict, depth: int) -> Any:
        schema = schema_named(node.get("is"))
        if isinstance(schema, Foreign):
            foreign.append(schema.name)
        fields = as_dict(node.get("state")).items()
        return schema.build({k: decoder.decode(v, depth + 1) for k, v in fields})

    try:
        model = Decoder(contents.tensors, decode_object).decode(contents.model)
        if not is_model(model):
            raise ValueError("it holds no model")
        check_is_fitted(model)
        if contents.probe is not None:
            check_probe(model, contents.probe)
        else:
            check_predicts(model)
    except Exception as error:  # whatever a damaged field leads to
        version = str(contents.versions.get("rankwise"))[:40]
        other = _other_version(contents.versions) if foreign else ""
        reason = f"written by rankwise {version}, but {error}{other and f' ({other})'}."
        raise ReadError(reason, source.name) from error
    if foreign and (other := _other_version(contents.versions)):
        parts = ", ".join(dict.fromkeys(foreign))
        warnings.warn(
            f"{source.name} holds {parts}, {other}: {_compared(contents.probe)}.",
            VersionWarning,
            stacklevel=2,
        )
    return _matching_names(model)


def _compared(probe: object) -> str:
    if probe is None:
        return "compare its scores with some that you know"
    return "its scores of two items agree with those of saving"


def _other_version(versions: dict) -> str:
    """In words, if the file was written with another minor version of scikit-learn."""
    written = str(versions.get("scikit-learn"))[:20]
    if written.split(".")[:2] == sklearn.__version__.split(".")[:2]:
        return ""
    return f"written with scikit-learn {written} and read with {sklearn.__version__}"


def _matching_names(model: Any) -> Any:
    """The model; a pipeline that was fitted to a frame learns to match its columns by name."""
    is_named = type(model).__name__ == "Pipeline" and hasattr(model, "feature_names_in_")
    if is_named and hasattr(model, "predict"):
        return imported("rankwise.learners.named_pipeline:NamedPipeline").of(model)
    return model


def _unsaveable(value: Any, where: str) -> str:
    """Why a value cannot be saved, and the way out."""
    name = type(value).__name__
    if re.search(r"transformers\[\d+\]\[2\]$", where) and callable(value):
        return (
            f"{where} chooses columns by code ({name}), and a model file holds no code: fit with "
            "a list of their names or numbers, as the fitted transformers_ has it."
        )
    if where.rsplit(".", 1)[-1] == "loss":
        return (
            f"{where} is a {name} of your own, and a model file holds no code. Fit with a named "
            "loss, or keep the model with joblib.dump, which needs your class to load it."
        )
    if callable(value) and not hasattr(value, "fit"):
        return (
            f"{where} is a {name} of your own, and a model file holds no code. For a kernel use "
            'one of its names, or kernel="precomputed" with the matrix computed by you; else '
            "choose a named option with set_params before saving."
        )
    way_out = f"it can hold {', '.join(MODELS)}"
    if hasattr(value, "best_estimator_"):
        way_out = "save its best_estimator_ instead"
    elif not hasattr(value, "fit"):
        way_out = "give a number, text, array or named option with set_params before saving"
    return f"{where} is a {name}, which a model file cannot hold: {way_out}."
