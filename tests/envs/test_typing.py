"""Types as a user's type checker sees them."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from commands import ROOT, python

SCRIPT = Path(__file__).with_name("typed_script.py")


def test_the_script_runs():
    runpy.run_path(str(SCRIPT))


@pytest.mark.slow
def test_mypy_accepts_the_script(tmp_path):
    pytest.importorskip("mypy", reason="needs tile-envs[dev]")
    empty = tmp_path / "mypy.ini"
    empty.write_text("[mypy]\n")
    # As for users, to whom the package is a library: what it imports is not checked.
    options = "--strict", "--follow-imports=silent", f"--config-file={empty}"
    python("-m", "mypy", *options, SCRIPT, cwd=ROOT)


@pytest.mark.slow
def test_pyright_accepts_the_script(tmp_path):
    pytest.importorskip("pyright", reason="needs pyright: pip install pyright")
    (tmp_path / SCRIPT.name).write_text(SCRIPT.read_text())
    # Type checkers do not follow the import hook of an editable installation.
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = python("-m", "pyright", "--pythonpath", sys.executable, cwd=tmp_path)
    assert "0 errors" in done.stdout
