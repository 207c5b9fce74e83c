"""Writes the pages of the site made of code, programs, lessons and the API, and its navigation.

python .ci/site_pages.py FOLDER
"""

import base64
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = "tile_envs", "baselines"
PROGRAMS = """\
# Programs for RL libraries

[The environments](../../tile_envs/README.md#with-other-libraries) says what each library needs, and
[Libraries](../pages/libraries.md) what each program has learned.
"""
PACKAGE = """\
# {name}

::: {name}
    options:
      members: {members}
      show_root_heading: false
      show_root_toc_entry: false
"""
LINK = "<autoref optional identifier='{package}.{name}'>`{name}`</autoref>"


def program(path: Path) -> str:
    """Return the section of a program."""
    return f"\n## {path.name}\n\n```python\n{path.read_text()}```\n"


def package(name: str, folder: Path) -> str:
    """Return the page of a package: what it exports, as links, or defines; then its modules."""
    has_exports = "__all__" in (folder / "__init__.py").read_text()
    exported = import_module(name).__all__ if has_exports else []
    page = PACKAGE.format(name=name, members="false" if exported else "null")
    if exported:
        links = (LINK.format(package=name, name=each) for each in exported)
        page += f"\nFrom `{name}`: {', '.join(links)}\n"
    modules = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("__"))
    return page + "".join(f"\n::: {name}.{module}\n" for module in modules)


def lesson(path: Path) -> str:
    """Return a notebook as a page, and write its pictures beside it."""
    page = []
    for number, cell in enumerate(json.loads(path.read_text())["cells"]):
        source = "".join(cell["source"])
        page.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            if text := "".join(output.get("text", [])):
                page.append(f"```text\n{text}```")
            if picture := output.get("data", {}).get("image/png"):
                image = path.with_name(f"{path.stem}-{number}.png")
                image.write_bytes(base64.b64decode("".join(picture)))
                page.append(f"![What the code above draws]({image.name})")
    return with_lessons("\n\n".join(page))


def with_lessons(page: str) -> str:
    """Let a page's links to notebooks of lessons lead to their pages."""
    return re.sub(r"\(((?:\.\./|solutions/)?\d-[\w-]+)\.ipynb\)", r"(\1.md)", page)


def with_programs(page: str) -> str:
    """Let a page's links to programs, and to their folder, lead to their page and its sections."""
    page = re.sub(r"(\]\((?:benchmarks/)?libraries)/(\w+)\.py\)", r"\1/README.md#\2py)", page)
    return page.replace("](benchmarks/libraries)", "](benchmarks/libraries/README.md)")


def main(folder: Path) -> None:
    """Write all pages into a folder, beside those of the repository."""
    page = folder / "benchmarks" / "libraries" / "README.md"
    page.parent.mkdir()
    programs = sorted((ROOT / "benchmarks" / "libraries").glob("[!_]*.py"))
    programs = [path for path in programs if path.stem != "table"]  # which measures them
    page.write_text(PROGRAMS + "".join(map(program, programs)))
    for readme in (folder / "README.md", page.parent.parent / "README.md"):
        readme.write_text(with_programs(readme.read_text()))

    lessons = folder / "benchmarks" / "lessons"
    for notebook in sorted(lessons.rglob("*.ipynb")):
        notebook.with_suffix(".md").write_text(lesson(notebook))
    for about in lessons.glob("[!0-9]*.md"):
        about.write_text(with_lessons(about.read_text()))

    (folder / "api").mkdir()
    listed = "# API\n\n"
    for root in PACKAGES:
        for init in sorted((ROOT / root).rglob("__init__.py")):
            name = ".".join(init.parent.relative_to(ROOT).parts)
            (folder / "api" / f"{name}.md").write_text(package(name, init.parent))
            listed += f"- [{name}]({name}.md)\n"
    (folder / "api" / "README.md").write_text(listed)
    config = {"INHERIT": str(ROOT / ".ci" / "mkdocs.yml"), "nav": navigation(folder)}
    folder.with_name("mkdocs.yml").write_text(json.dumps(config))  # which is YAML, too


def navigation(folder: Path) -> list[dict[str, Any]]:
    """Return the navigation: pages by the folder in which they are, first its README."""

    def pages(pattern: str) -> list[str]:
        paths = (path.relative_to(folder) for path in folder.glob(pattern))
        return sorted(map(str, paths), key=lambda path: (not path.endswith("README.md"), path))

    benchmarks = pages("benchmarks/*.md") + pages("benchmarks/pages/*.md")
    api: list[Any] = [{name: pages(f"api/{name}*.md")} for name in PACKAGES]
    return [
        {"Home": "README.md"},
        {"Environments": pages("tile_envs/*.md") + pages("tile_envs/*/*.md")},
        {"Agents": pages("baselines/**/*.md")},
        {"Benchmarks": benchmarks + pages("benchmarks/libraries/*.md")},
        {"Lessons": pages("benchmarks/lessons/**/*.md")},
        {"API": ["api/README.md", *api]},
        {"Project": [path for path in pages("*.md") if path != "README.md"]},
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
