"""Tables as people write them: read in training, kept in the model, and read alike afterwards."""

import numpy as np
import pandas as pd
import pytest

import rankwise
from tests.cli_files import run, scores

CITIES = ["Bonn", "Rome", "Oslo"]


def write(path, *, cities=CITIES, comma=True, share=True, seed=0, target=True, order=None):
    """Semicolons, decimal commas, percentages, dates, yes and no, categories."""
    rng = np.random.default_rng(seed)
    names = ["id", "query", "city", "price", "share", "day", "open"] + ["score"] * target
    rows = []
    for i in range(80):
        city = int(rng.integers(3))
        price, part, day = rng.normal(), rng.random(), int(rng.integers(1, 28))
        is_open = int(rng.integers(2))
        value = [0.0, 1.0, 2.0][city] + price - part + 0.1 * day + is_open
        number = f"{price:.3f}".replace(".", ",") if comma else f"{price:.3f}"
        portion = f"{100 * part:.1f}%" if share else f"{part:.3f}"
        if comma:
            portion = portion.replace(".", ",")
        row = [f"d{i}", f"q{i // 8}", cities[city], number, portion, f"{day:02}.03.2024"]
        row += ["yes" if is_open else "no"] + [f"{value:.4f}".replace(".", ",")] * target
        rows.append(dict(zip(names, row)))
    names = order or names
    lines = [";".join(names)] + [";".join(row[name] for name in names) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    write(folder / "train.csv")
    run("train", folder / "train.csv", "--categorical", "city", "-o", folder / "m.rw", "-q")
    return folder


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_python_takes_the_raw_columns_of_the_table(folder, library):
    frames = pytest.importorskip(library)
    model = rankwise.load(folder / "m.rw")
    expected = scores(run("predict", folder / "m.rw", folder / "train.csv").stdout)
    raw = pd.read_csv(folder / "train.csv", sep=";", dtype=str)
    frame = raw if library == "pandas" else frames.DataFrame(raw.to_dict(orient="list"))
    np.testing.assert_allclose(model.predict(frame, raw["query"]), expected, rtol=1e-6)
    turned = frame[raw.columns[::-1].tolist()]
    np.testing.assert_allclose(model.predict(turned, raw["query"]), expected, rtol=1e-6)
    if library == "pandas":
        dated = raw.assign(day=pd.to_datetime(raw["day"], format="%d.%m.%Y"))
        np.testing.assert_allclose(model.predict(dated, raw["query"]), expected, rtol=1e-6)
        with pytest.warns(UserWarning, match="'city' has categories that the model has never seen"):
            model.predict(raw.assign(city="Paris"), raw["query"])
        with pytest.raises(ValueError, match="lacks 1 of the model's 5 features: 'city'"):
            model.predict(raw.drop(columns="city"), raw["query"])


def test_the_model_keeps_how_columns_were_read(folder, tmp_path):
    model = rankwise.load(folder / "m.rw")
    assert model.record["features"] == [
        *("city=Bonn", "city=Oslo", "city=Rome", "price", "share", "day", "open")
    ]
    kinds = {one["name"]: one.get("kind", "number") for one in model.record["reading"]["learnt"]}
    assert kinds == {
        "city": "category",
        "price": "number",
        "share": "percent",
        "day": "date",
        "open": "truth",
    }
    weights = dict(zip(model.record["features"], model.ranker.coef_))
    assert weights["price"] == pytest.approx(1.0, abs=0.05)
    assert weights["city=Rome"] - weights["city=Bonn"] == pytest.approx(1.0, abs=0.1)
    expected = scores(run("predict", folder / "m.rw", folder / "train.csv").stdout)
    turned = ["score", "open", "day", "share", "price", "city", "query", "id"]
    write(tmp_path / "turned.csv", order=turned)
    np.testing.assert_array_equal(
        scores(run("predict", folder / "m.rw", tmp_path / "turned.csv").stdout), expected
    )
    run("evaluate", folder / "m.rw", folder / "train.csv")
    run("report", folder / "m.rw", folder / "train.csv", "-o", tmp_path / "r.html")
    found = run("explain", folder / "m.rw", folder / "train.csv", "--query", "q1")
    assert "city=" in found.stdout


def test_new_data_are_read_alike_or_refused(folder, tmp_path):
    write(tmp_path / "new.csv", cities=["Bonn", "Rome", "Lima"], target=False)
    found = run("predict", folder / "m.rw", tmp_path / "new.csv")
    assert "'city' has categories that the model has never seen ('Lima')" in found.stderr
    assert len(scores(found.stdout)) == 80
    write(tmp_path / "plain.csv", share=False)
    told = run("predict", folder / "m.rw", tmp_path / "plain.csv", code=2).stderr
    assert "line 2, column 'share'" in told and "no percent sign" in told
    write(tmp_path / "points.csv", comma=False)
    told = run("predict", folder / "m.rw", tmp_path / "points.csv", code=2).stderr
    assert "column 'price'" in told and "decimal comma" in told
    text = (folder / "train.csv").read_text(encoding="utf-8").replace("city", "town")
    (tmp_path / "town.csv").write_text(text.replace("price", "prize"), encoding="utf-8")
    told = run("predict", folder / "m.rw", tmp_path / "town.csv", code=2).stderr
    assert "lacks 2 of the model's 5 features: 'city', 'price'" in told


def test_errors_name_column_line_and_value(folder, tmp_path):
    told = run("train", folder / "train.csv", "-o", tmp_path / "m.rw", code=2).stderr
    assert "line 2, column 'city'" in told and "'Oslo' is not a number" in told
    assert "--categorical" in told and "--ignore 'city'" in told
    (tmp_path / "t.csv").write_text("a;score\n1,234;1\n2,500;2\n", encoding="utf-8")
    told = run("train", tmp_path / "t.csv", "-o", tmp_path / "m.rw", code=2).stderr
    assert "line 2, column 'a': '1,234' may be 1234 or 1.234" in told and "--decimal" in told
    run("train", tmp_path / "t.csv", "--decimal", ",", "-o", tmp_path / "m.rw", "-q")
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--target", "scroe"), "Did you mean 'score'?"),
        (("--query", "Quary"), "Did you mean 'query'?"),
        (("--ignore", "prices"), "Did you mean 'price'?"),
        (("--categorical", "citty"), "Did you mean 'city'?"),
        (("--groups", "dya"), "Did you mean 'day'?"),
        (("--categorical", "query"), "another meaning"),
        (("--encoding", "klingon"), "no encoding that is known"),
    ],
)
def test_mistaken_options(folder, tmp_path, options, expected):
    told = run("train", folder / "train.csv", *options, "-o", tmp_path / "m.rw", code=2).stderr
    assert expected in told


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_encodings(folder, tmp_path, encoding):
    text = (
        (folder / "train.csv")
        .read_text(encoding="utf-8")
        .replace("Bonn", "Köln")
        .replace("city", "città")
    )
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    options = ("--categorical", "città", "-o", tmp_path / "m.rw", "-q")
    if encoding in ("utf-8-sig", "utf-16"):
        run("train", tmp_path / "t.csv", *options)
    else:
        told = run("train", tmp_path / "t.csv", *options, code=2).stderr
        assert "encoding" in told and "line 1" in told
        run("train", tmp_path / "t.csv", "--encoding", encoding, *options)
    features = rankwise.load(tmp_path / "m.rw").record["features"]
    assert "città=Köln" in features


def test_missing_values(folder, tmp_path):
    lines = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[4].split(";")
    lines[4] = ";".join([*cells[:2], "", "", *cells[4:]])
    (tmp_path / "holes.csv").write_text("\n".join(lines), encoding="utf-8")
    options = ("--categorical", "city", "-o", tmp_path / "m.rw")
    told = run("train", tmp_path / "holes.csv", *options, code=2).stderr
    assert "line 5: 'city=Bonn' of d3 is missing" in told and "--missing" in told
    run("train", tmp_path / "holes.csv", "--missing", "mean", *options)
    model = rankwise.load(tmp_path / "m.rw")
    assert model.scaler.fill_[:3].sum() == pytest.approx(1.0)
    found = scores(run("predict", tmp_path / "m.rw", tmp_path / "holes.csv").stdout)
    assert np.isfinite(found).all()
