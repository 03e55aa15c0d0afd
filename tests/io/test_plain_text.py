import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.io.plain_text import is_one_word, one_line, plain, shell_line, unseen_escaped


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain 12", "plain 12"),
        (
            "日本 ünï 👩\u200d👧 \u0915\u094d\u200d\u0937",
            "日本 ünï 👩\u200d👧 \u0915\u094d\u200d\u0937",
        ),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\x9b31m\x7f", r"a\x9b31m\x7f"),
        ("a\tb\r\n", r"a\tb\r\n"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2028\ud800", r"\u2028\ud800"),
        ("[/b] it's", "[/b] it's"),
    ],
)
def test_unseen_characters_are_written_out(text, shown):
    assert plain(text) == shown


@given(st.text())
def test_texts_can_be_printed_and_keep_to_their_place(text):
    plain(text).encode()
    assert plain(plain(text)) == plain(text)
    assert len(one_line(text).splitlines()) <= 1
    assert is_one_word(unseen_escaped(text)) and len(unseen_escaped(text).split()) == 1
    assert plain(text, keep="\n").count("\n") == text.count("\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    "word",
    [
        "a b",
        "it's",
        "$HOME `x`",
        "\x1b]0;m.rw",
        "two\nlines",
        "\\x1b'\x07",
        "\u202eä",
        "\udcff\udc80",
    ],
)
def test_bash_reads_a_shell_line_as_the_words(word):
    line = "printf %s " + shell_line([word])
    assert plain(line) == line
    environment = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=environment)
    assert done.stdout == os.fsencode(word)
