"""Links between pages lead somewhere, in the repository and on the site; tables are narrow."""

import json
import re
import subprocess
from functools import cache
from os.path import normpath
from pathlib import Path

import pytest
from commands import ROOT

PAGES = ".md", ".ipynb"
SITE = *PAGES, ".gif", ".svg", "LICENSE"
"""How the names of files end that `.ci/site` takes; it makes sections of programs."""

if not (ROOT / ".git").exists():
    pytest.skip("which files there are is asked of git", allow_module_level=True)
FILES = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")[:-1]
FOLDERS = {str(folder) for file in FILES for folder in Path(file).parents}
LINK = re.compile(r"\]\(\s*([^)\s]+)|^\[[^]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)", re.MULTILINE)


@cache
def text_of(page):
    """Return the text of a page without its code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


@cache
def anchors_of(page):
    """Return the anchors of a page's headings as GitHub makes them."""
    headings = re.findall(r"^#{1,6} +(.+)$", text_of(page), re.MULTILINE)
    texts = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w -]", "", text.strip()).lower().replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", [file for file in FILES if file.endswith(PAGES)])
def test_a_page_links_to_what_is_there(page):
    links = map("".join, LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page))))
    for link in links:
        if re.match("[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = normpath(Path(page).parent / path) if path else page
        assert target in FILES or target in FOLDERS, link
        assert target.endswith(SITE) or target.startswith("benchmarks/libraries"), link
        assert not anchor or anchor in anchors_of(target), link


def cells_of(line):
    """Return the cells of a table's line as they are rendered."""
    cells = re.split(r"(?<!\\)\|", line.strip("|"))
    return [re.sub(r"!?\[([^]]*)\]\([^)]*\)|[`*]", r"\1", cell).strip() for cell in cells]


@pytest.mark.parametrize("page", [file for file in FILES if file.endswith(".md")])
def test_tables_are_narrow_and_the_first_screen_is_short(page):
    lines = [line for line in text_of(page).splitlines() if line.startswith("|")]
    longest = max((len(cell) for line in lines for cell in cells_of(line)), default=0)
    assert longest <= (40 if page == "README.md" else 60)
    assert all(len(cells_of(line)) <= 9 for line in lines)
    if page == "README.md":
        text = (ROOT / page).read_text(encoding="utf-8")
        assert (text.count("\n") <= 130, len(text.split()) <= 1200) == (True, True)
