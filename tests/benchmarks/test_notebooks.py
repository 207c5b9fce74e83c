"""The notebooks print what they show: each is executed again, and its texts are compared.

Numbers of those in `ROUNDED`, which were seen to differ between processors, may differ by a third:
they round sums differently, and what is trained goes its way.

Run as a program, this file executes the notebooks that are named, and writes what they show.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from commands import ROOT

nbclient = pytest.importorskip("nbclient", reason="needs tile-envs[dev]")
nbformat = pytest.importorskip("nbformat", reason="needs tile-envs[dev]")

BENCHMARKS = ROOT / "benchmarks"
TOUR = BENCHMARKS / "tour.ipynb"
LESSONS = sorted((BENCHMARKS / "lessons").glob("*.ipynb"))
SOLUTIONS = sorted((BENCHMARKS / "lessons" / "solutions").glob("*.ipynb"))
NOTEBOOKS = {each.stem: each for each in (TOUR, *LESSONS)}
NOTEBOOKS |= {f"solutions-{each.stem}": each for each in SOLUTIONS}  # they run the lessons
ROUNDED = "8-policy-gradients", "9-planning", "solutions-5-search"
ROUNDED += "solutions-8-policy-gradients", "solutions-9-planning"


def cells(path, kind="code"):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.get("name") == "stdout")


def taken_apart(text):
    """Return the words of a text, and its numbers."""
    number = r"\d[\d,]*(?:\.\d+)?"
    numbers = [float(found.replace(",", "")) for found in re.findall(number, text)]
    return re.sub(number, "N", text).split(), numbers


def pictures(cell):
    kinds = (kind for output in cell.outputs for kind in output.get("data", {}))
    return sorted(kind for kind in kinds if kind.startswith("image"))


def executed(path, folder):
    """Return a notebook after its code has run, without marks of the machine.

    It runs in a folder, but a solution beside its lesson, which it runs.
    """
    folder = path.parent if path.resolve() in SOLUTIONS else folder
    notebook = nbformat.read(path, as_version=4)
    options = {"record_timing": False, "coalesce_streams": True, "timeout": None}
    where = {"metadata": {"path": folder}}
    nbclient.NotebookClient(notebook, resources=where, **options).execute()
    notebook.metadata.language_info.pop("version")
    return notebook


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_prints_what_it_shows(name, tmp_path, monkeypatch):
    path = NOTEBOOKS[name]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    again = [cell for cell in executed(path, tmp_path).cells if cell.cell_type == "code"]
    for before, after in zip(cells(path), again, strict=True):
        if name in ROUNDED:
            words, numbers = zip(*map(taken_apart, (printed(before), printed(after))), strict=True)
            assert words[1] == words[0]
            assert numbers[1] == pytest.approx(numbers[0], rel=1 / 3), printed(after)
        else:
            assert printed(after) == printed(before)
        assert pictures(after) == pictures(before)


@pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_every_cell_has_been_executed_in_order_without_marks_of_the_machine(path):
    code = cells(path)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(cell.metadata for cell in code), "execute it by this file"
    assert "version" not in nbformat.read(path, as_version=4).metadata.language_info
    outputs = [output for cell in code for output in cell.outputs]
    assert not any({"stderr", "error"} & {o.get("name"), o.output_type} for o in outputs)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_asks_shows_and_gives_exercises_and_is_small(path):
    text = "\n".join(cell.source for cell in cells(path, "markdown"))
    assert text.startswith(f"# Lesson {path.stem[0]}: ")
    for heading in ("Exercises", "What to read"):
        assert f"\n## {heading}\n" in text
    assert '%pip install --quiet "tile-envs[baselines]"' in cells(path)[0].source
    (asked,) = re.findall(r"(?s)\*\*Stop and think\.\*\*(.+?)<details>(.+?)</details>", text)
    assert [len(re.findall(r"(?m)^\d\. ", part)) for part in asked] == [3, 3]
    assert sum(pictures(cell) == ["image/png"] for cell in cells(path)) >= 2
    assert path.stat().st_size <= 300_000


@pytest.mark.parametrize(("lesson", "solved"), [*zip(LESSONS, SOLUTIONS, strict=True)])
def test_every_exercise_has_a_solution(lesson, solved):
    texts = [
        "\n".join(cell.source for cell in cells(path, "markdown")) for path in (lesson, solved)
    ]
    exercises = re.findall(
        r"(?m)^(\d)\. ", re.split("## (?:Exercises|What to read)\n", texts[0])[1]
    )
    assert re.findall(r"(?m)^## Exercise (\d)$", texts[1]) == exercises
    assert lesson.name == solved.name
    assert solved.stat().st_size <= 300_000


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        with TemporaryDirectory() as folder:
            nbformat.write(executed(path, folder), path)
