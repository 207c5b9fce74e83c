"""The notebook prints what it shows: it is executed again, and its texts are compared."""

import os
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="needs tile-envs[dev]")
nbformat = pytest.importorskip("nbformat", reason="needs tile-envs[dev]")

NOTEBOOK = Path(__file__).parent.parent / "benchmarks" / "tour.ipynb"
CODE = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


def printed(cell):
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def pictures(cell):
    kinds = (kind for output in cell.outputs for kind in output.get("data", {}))
    return sorted(kind for kind in kinds if kind.startswith("image"))


@pytest.mark.filterwarnings("ignore")  # of Jupyter
def test_the_notebook_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    again = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(again, resources={"metadata": {"path": tmp_path}}).execute()
    for before, after in zip(
        CODE, [cell for cell in again.cells if cell.cell_type == "code"], strict=True
    ):
        assert printed(after) == printed(before)
        assert pictures(after) == pictures(before)


def test_every_cell_has_been_executed_in_order_and_shows_something():
    assert [cell.execution_count for cell in CODE] == list(range(1, len(CODE) + 1))
    assert all(printed(cell) or pictures(cell) for cell in CODE)
    assert {kind for cell in CODE for kind in pictures(cell)} >= {"image/png", "image/gif"}
