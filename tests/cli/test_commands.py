"""Help of every command."""

import pytest

from rankwise.cli import COMMANDS
from tests.cli_files import run


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_examples(command):
    text = run(*([command] if command else []), "--help").output
    assert "rankwise" in text
    assert ("Five minutes" if command is None else "Examples:") in text
