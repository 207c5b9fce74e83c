"""The programs in the docstrings of `tile_envs.plug`: found by their headings, and run."""

import ast
import textwrap
from pathlib import Path

import tile_envs.plug

FOLDER = Path(tile_envs.plug.__file__).parent
MOST_LINES = 15


def snippets():
    """Return the programs by their headings.

    A program is the first indented block below a heading `## …` of a module's docstring.
    """
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for section in text.split("\n## ")[1:]:
            heading, _, below = section.partition("\n")
            lines = below.split("\n")
            begin = next(i for i, line in enumerate(lines) if line.startswith("    "))
            ends = (i for i, line in enumerate(lines) if i > begin and line[:1].strip())
            block = textwrap.dedent("\n".join(lines[begin : next(ends, None)])).strip() + "\n"
            assert heading not in found
            found[heading] = block
    return found


def run_snippet(heading):
    """Run a program in this process, as its own `__main__`; return its variables."""
    names = {"__name__": "__main__"}
    exec(compile(snippets()[heading], f"<{heading}>", "exec"), names)
    return names


def code_lines(snippet):
    """Return the number of lines of a program that are not empty."""
    return sum(bool(line.strip()) for line in snippet.splitlines())
