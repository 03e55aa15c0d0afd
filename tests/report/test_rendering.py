"""Templates: everything from data is escaped, nothing that a template needs may be absent."""

from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from rankwise.report.rendering import environment, render_page
from rankwise.report.sections import Figure, Tile
from rankwise.workflow.verdict import Verdict

HOSTILE = [
    '<script>alert("x")</script>',
    "{{ 7 * 7 }}",
    "{% include 'style.css' %}",
    "{# hidden",
    "'\"><img src=x onerror=alert(1)>",
    "&lt;b&gt;",
    "]]></svg>",
    "</style><script>",
    "\x1b[31m\u202e",
]
PAGE = """{% extends "base.html" %}
{% import "parts.html" as parts %}
{% block top %}{{ parts.verdict(verdict) }}{{ parts.tiles(tiles) }}{% endblock %}
{% block cards %}
{% call parts.card(text, wide=true) %}{{ parts.facts([(text, text)]) }}{% endcall %}
{{ parts.figures(figures) }}
{{ parts.warning(text) }}{{ parts.commands([text, text]) }}
{% endblock %}
"""


def values(text, **changes):
    figures = [Figure(text, Markup("<svg></svg>"), text, text, ((text, "a"),))] * 3
    tiles = [Tile(text, text, text)]
    page = {"title": text, "subtitle": text, "version": text, "tiles": tiles, "figures": figures}
    return page | {"text": text, "verdict": Verdict(text, text)} | changes


@pytest.fixture
def page_of_parts(monkeypatch):
    """A page made of every part, as another page would be written."""
    loader = environment().loader
    found = loader.get_source

    def source(env, name):
        return (PAGE, None, lambda: False) if name == "every_part.html" else found(env, name)

    monkeypatch.setattr(loader, "get_source", source)
    return "every_part.html"


@pytest.mark.parametrize("text", HOSTILE)
def test_every_part_escapes_what_comes_from_data(page_of_parts, text):
    page = render_page(page_of_parts, **values(text))
    harmless = render_page(page_of_parts, **values("harmless"))
    assert page.count("<") == harmless.count("<") and page.count("<svg>") == 3
    assert page.count('"') == harmless.count('"')
    assert "49" not in page.split("</style>")[1]
    assert "\x1b" not in page and "\u202e" not in page


def test_charts_of_an_odd_number_end_in_a_row_of_their_own(page_of_parts):
    page = render_page(page_of_parts, **values("x"))
    assert page.count('class="last"') == 1
    page = render_page(page_of_parts, **values("x", figures=values("x")["figures"][:2]))
    assert 'class="last"' not in page


def test_an_absent_value_is_an_error(page_of_parts):
    given = values("x")
    for name in given:
        rest = {key: value for key, value in given.items() if key != name}
        with pytest.raises(UndefinedError, match=name):
            render_page(page_of_parts, **rest)


def test_every_template_is_packaged():
    declared = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"report/templates/*"' in declared
    folder = files("rankwise.report") / "templates"
    for name in ("base.html", "parts.html", "report.html", "crossval.html", "style.css"):
        assert (folder / name).is_file()
        environment().get_template(name)
