"""Writes the pages of the site made of code: environments, programs, lessons and the API.

python .ci/site_pages.py FOLDER
"""

import base64
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import gymnasium as gym
from PIL import Image

import tile_envs  # noqa: F401 # registers the environments

ROOT = Path(__file__).parent.parent
ENVIRONMENT = """\
# {id}

![A game of {id}]({id}.png)

::: {env}
    options:
      heading_level: 1
      members: false
      show_root_heading: false
      show_root_toc_entry: false
"""
PROGRAMS = """\
# Programs for RL libraries

[Plugging in](../../README.md#plugging-in) says what each library needs, and
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


def environment(env_id: str, picture: Path) -> str:
    """Draw a game of an environment, after a few random moves; return its page."""
    env = gym.make(env_id, render_mode="rgb_array")
    _, info = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(3 if env_id.startswith("TicTacToe") else 60):
        *_, info = env.step(env.action_space.sample(info["action_mask"]))
    Image.fromarray(env.render()).save(picture)
    kind = type(env.unwrapped)
    return ENVIRONMENT.format(id=env_id, env=f"{kind.__module__}.{kind.__name__}")


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
    return re.sub(r"\((\d-[\w-]+)\.ipynb\)", r"(\1.md)", page)


def with_programs(page: str) -> str:
    """Let a page's links to programs, and to their folder, lead to their page and its sections."""
    page = re.sub(r"(\]\((?:benchmarks/)?libraries)/(\w+)\.py\)", r"\1/README.md#\2py)", page)
    return page.replace("](benchmarks/libraries)", "](benchmarks/libraries/README.md)")


def main(folder: Path) -> None:
    """Write all pages into a folder, beside those of the repository."""
    for env_id, spec in gym.registry.items():
        if str(spec.entry_point).startswith("tile_envs."):
            page = folder / "tile_envs" / f"{env_id}.md"
            page.write_text(environment(env_id, page.with_suffix(".png")))

    page = folder / "benchmarks" / "libraries" / "README.md"
    page.parent.mkdir()
    programs = sorted((ROOT / "benchmarks" / "libraries").glob("[!_]*.py"))
    programs = [path for path in programs if path.stem != "table"]  # which measures them
    page.write_text(PROGRAMS + "".join(map(program, programs)))
    for readme in (folder / "README.md", page.parent.parent / "README.md"):
        readme.write_text(with_programs(readme.read_text()))

    lessons = folder / "benchmarks" / "lessons"
    for notebook in sorted(lessons.glob("*.ipynb")):
        notebook.with_suffix(".md").write_text(lesson(notebook))
    index = lessons / "README.md"
    index.write_text(with_lessons(index.read_text()))

    (folder / "api").mkdir()
    listed = "# API\n\n"
    for root in ("tile_envs", "baselines"):
        for init in sorted((ROOT / root).rglob("__init__.py")):
            name = ".".join(init.parent.relative_to(ROOT).parts)
            (folder / "api" / f"{name}.md").write_text(package(name, init.parent))
            listed += f"- [{name}]({name}.md)\n"
    (folder / "api" / "README.md").write_text(listed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
