"""Types as a user's type checker sees them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SCRIPT = TESTS / "typed_script.py"


def run(*command, **options):
    done = subprocess.run(
        [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_script_runs():
    assert run(SCRIPT.stem, cwd=TESTS).startswith("AutoresetMode.NEXT_STEP ('X', 'O')")


@pytest.mark.slow
def test_mypy_accepts_the_script(tmp_path):
    pytest.importorskip("mypy", reason="needs tile-envs[dev]")
    empty = tmp_path / "mypy.ini"
    empty.write_text("[mypy]\n")
    run("mypy", "--strict", f"--config-file={empty}", SCRIPT, cwd=ROOT)


@pytest.mark.slow
def test_pyright_accepts_the_script(tmp_path):
    pytest.importorskip("pyright", reason="needs pyright: pip install pyright")
    script = tmp_path / SCRIPT.name
    script.write_text(SCRIPT.read_text())
    # Type checkers do not follow the import hook of an editable installation.
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    assert "0 errors" in run("pyright", "--pythonpath", sys.executable, cwd=tmp_path)
