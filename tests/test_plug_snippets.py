"""The programs in the docstrings of `tile_envs.plug`: short, and mentioned in README."""

import pytest
from snippets import MOST_LINES, code_lines, snippets


@pytest.mark.parametrize("heading", snippets())
def test_snippets_are_short_programs(heading):
    snippet = snippets()[heading]
    compile(snippet, heading, "exec")
    assert 3 < code_lines(snippet) <= MOST_LINES
