"""The page in a real browser: rank, explain, change, by mouse and by keyboard; hostile texts."""

import json

import pytest

import rankwise as rw
from tests.browser import CHROMIUM, browser_page
from tests.serve.running import NAMES, items_of, serving, trained

pytest.importorskip("uvicorn", reason="the extra for serving is not installed")
pytest.importorskip("websockets", reason="websockets is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

NASTY = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>&"'
RECORD = {
    "reading": {"query": "user", "name": "title"},
    "recipe": {"learner": NASTY, "kernel": NASTY, "loss": NASTY, "scale": NASTY},
    "trained": {"source": NASTY, "summary": NASTY},
    "created": "2026-01-02T03:04:05+00:00",
    "path": {
        **{"parameter": "alpha", "chosen": 1.0, "by": NASTY, "scoring": None, "units": 12},
        **{"judged": f"share {NASTY}", "value": [1.0, 2.0], "score": [0.9, 0.8]},
        "score_se": [0.01, 0.01],
    },
}
MODEL, X = trained(features=[*NAMES[:2], NASTY], **RECORD)


def table(rows=range(6), users=("ann",), name=NASTY):
    lines = [["title", "user", *NAMES[:2], NASTY]]
    for i in rows:
        lines.append([f"{name} {i}", users[i % len(users)], *(f"{v:.3f}" for v in X[i])])
    cells = (['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines)
    return "\n".join(",".join(line) for line in cells)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    rw.save(MODEL, folder / "model.rw")
    with serving(folder / "model.rw") as (_, port), browser_page(folder / "profile") as page:
        yield page, f"http://127.0.0.1:{port}/"


@pytest.fixture
def page(session):
    page, address = session
    page.messages.clear()
    page.open(address)
    page.wait("!document.getElementById('card').hidden")
    yield page
    assert page.problems == []
    assert all(each.startswith((address, "data:,")) for each in page.addresses)
    assert page.run("window.hacked") is None
    assert page.run("document.querySelectorAll('main img, main script').length") == 0


def give(page, text, expected):
    page.run(f"at('table').value = {json.dumps(text)}; at('rank').click()")
    page.wait(f"document.querySelectorAll('#order li').length === {expected}")


def order(page):
    return page.run("[...document.querySelectorAll('#order .name')].map(e => e.title)")


def test_the_card_shows_what_the_model_says(page):
    text = page.run("document.getElementById('card').innerText")
    assert NASTY in text and "95% interval" in text and "Expect 0.900" in text


def test_rank_explain_and_change(page):
    give(page, table(), 6)
    scores = MODEL.predict(X[:6])
    best = [f"{NASTY} {i}" for i in sorted(range(6), key=lambda i: -scores[i])]
    assert order(page) == best
    widths = page.run("[...document.querySelectorAll('.bar')].map(e => parseFloat(e.style.width))")
    assert widths[0] == 100 and widths[-1] == 0 and widths == sorted(widths, reverse=True)
    page.run("document.querySelectorAll('#order button')[1].click()")
    page.wait("!at('change').hidden")
    page.run("document.querySelectorAll('#order button')[4].click()")
    page.wait("!at('parts').hidden")
    said = page.run("at('why-words').innerText")
    assert f"{best[1]} (A) is above {best[4]} (B)" in said
    assert page.run("at('parts').tBodies[0].rows.length") == 3
    page.run(
        "const f = document.querySelectorAll('#fields input[type=number]')[1];"
        "f.value = -50; f.dispatchEvent(new Event('input'))"
    )
    page.wait("document.querySelector('.moved.down') !== null")
    assert order(page)[-1] == best[1]
    page.wait("at('why-words').innerText.includes('(A) is below')")
    assert "Rank 6 of 6, before the change 2" in page.run("at('place').innerText")
    page.run("at('reset').click()")
    page.wait("document.querySelector('.moved') === null")
    assert order(page) == best


def test_keys_are_enough(page):
    give(page, table(), 6)
    page.run("document.querySelector('#order button').focus()")
    page.press("Enter", 13, "\r")
    page.press("ArrowDown", 40)
    page.press("ArrowDown", 40)
    page.press(" ", 32, " ")
    page.wait("!at('parts').hidden")
    pressed = "[...document.querySelectorAll('#order button')].map(e => e.ariaPressed)"
    assert page.run(pressed)[:3] == ["true", "false", "true"]
    page.press("Escape", 27)
    page.wait("at('parts').hidden && at('change').hidden")


def test_queries_are_ranked_one_at_a_time(page):
    give(page, table(users=("ann", "bob")), 3)
    assert not page.run("at('query-choice').hidden")
    page.run("at('query').value = 'bob'; at('query').dispatchEvent(new Event('change'))")
    page.wait("/ [135]$/.test(document.querySelector('#order .name')?.title)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no table yet"),
        ("price,stars", "no items below"),
        ("price,stars\n1", "Line 2 has 1 cells"),
        ("price,price\n1,2", "Two columns are called"),
        ("price,stars\n1,2", "lack 1 of the model's 3 features"),
        ("{broken", "not JSON"),
        ("[1, 2]", "list of objects"),
        (json.dumps([{"price": "x", "stars": 1, NASTY: 2}]), "not a number"),
    ],
)
def test_mistakes_are_said(page, text, words):
    page.run(f"at('table').value = {json.dumps(text)}; at('rank').click()")
    page.wait("!at('error').hidden")
    assert words in page.run("at('error').innerText")
    assert page.run("at('result').hidden")


def test_other_forms_of_tables(page):
    names = dict(zip([*NAMES[:2], NASTY], X[0].tolist()))
    give(page, json.dumps([names, names]), 2)
    give(page, "\n".join([json.dumps(names)] * 3), 3)
    tabs = "price\tstars\t" + '"' + NASTY.replace('"', '""') + '"' + "\n50,5\t3,1\t9,0\n51\t3\t9"
    give(page, tabs, 2)
    assert page.run("state.rows[0].price") == 50.5
    page.run("at('made-up').click()")
    page.wait("document.querySelectorAll('#order li').length === 8")


def test_an_uploaded_file(page, tmp_path):
    (tmp_path / "items.csv").write_text(table(range(4)), encoding="utf-8")
    document = page.send("DOM.getDocument")["root"]["nodeId"]
    node = page.send("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    page.send("DOM.setFileInputFiles", nodeId=node, files=[str(tmp_path / "items.csv")])
    page.wait("document.querySelectorAll('#order li').length === 4")


@pytest.mark.parametrize("dark", [False, True])
def test_phones_in_light_and_dark(session, dark):
    page, address = session
    page.open(address, width=390, height=800, dark=dark, phone=True)
    page.wait("!document.getElementById('card').hidden")
    give(page, table(), 6)
    page.run("for (const i of [0, 3]) document.querySelectorAll('#order button')[i].click()")
    page.wait("!at('parts').hidden")
    assert page.run("document.documentElement.scrollWidth") <= 390
    heights = page.run("[...document.querySelectorAll('button')].map(b => b.offsetHeight)")
    assert min(height for height in heights if height) >= 40
    paper = page.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == dark


def test_categories_are_chosen_from_their_levels(session, tmp_path):
    page, _ = session
    learnt = [{"name": "price"}, {"name": "city", "kind": "category", "levels": ["Bonn", NASTY]}]
    model, _ = trained(features=["price", "city=Bonn", f"city={NASTY}"], reading={"learnt": learnt})
    rw.save(model, tmp_path / "model.rw")
    with serving(tmp_path / "model.rw") as (_, port):
        page.open(f"http://127.0.0.1:{port}/")
        page.wait("!document.getElementById('card').hidden")
        give(page, "price;city\n50;Bonn\n51;Paris\n52,5;Bonn", 3)
        page.run("document.querySelectorAll('#order button')[0].click()")
        options = "[...document.querySelectorAll('#fields option')].map(e => e.value)"
        page.wait(f"{options}.length >= 2")
        assert page.run(options)[:2] == ["Bonn", NASTY]
        before = page.run("state.asked")
        page.run(
            "const s = document.querySelector('#fields select'); s.selectedIndex = 1;"
            "s.dispatchEvent(new Event('change'))"
        )
        page.wait(f"state.asked > {before} && at('error').hidden")
        assert page.run("window.hacked") is None
        page.run("at('made-up').click()")
        page.wait("document.querySelectorAll('#order li').length === 8")


def test_many_items_and_a_server_that_is_gone(session, tmp_path):
    page, _ = session
    model, X = trained()
    rw.save(model, tmp_path / "model.rw")
    with serving(tmp_path / "model.rw") as (process, port):
        page.open(f"http://127.0.0.1:{port}/")
        page.wait("!document.getElementById('card').hidden")
        give(page, json.dumps(items_of(X)), 50)
        page.run("at('more').click()")
        page.wait("document.querySelectorAll('#order li').length === 60")
        process.kill()
        process.wait()
        page.run("at('rank').click()")
        page.wait("!at('error').hidden")
        assert "does not answer" in page.run("at('error').innerText")
