"""Pages from templates: one Jinja2 environment, in which every text from data is escaped.

The templates are in the folder `templates`: `base.html` is the frame of a page, `parts.html` holds
the macros that pages share, and each page extends the frame in a file of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rankwise.io.plain_text import plain


@cache
def environment() -> Environment:
    """The environment of all pages. A value that a template needs but was not given is an error."""
    return Environment(
        loader=PackageLoader("rankwise.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render_page(template: str, **values: Any) -> str:
    """The page of this template as text.

    Strings are escaped; only charts, which are Markup, go into the page as they are. Unseen
    characters of data are written as their escapes.
    """
    return plain(environment().get_template(template).render(values), keep="\n")
