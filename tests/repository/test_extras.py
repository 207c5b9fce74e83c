"""What is said when a library of an extra is missing."""

import ast
import re
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from commands import ROOT, in_a_process
from gymnasium.error import DependencyNotInstalled

from tile_envs.errors import extra

# Runs a module as a command, as if a library had not been installed.
COMMAND = """
import runpy, sys

class Missing:
    name = sys.argv[1]

    def find_spec(self, name, path, target=None):
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
del sys.argv[:2]
sys.path.insert(0, "")
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("name", ["no_such_library", "json.no_such_part"])
def test_a_missing_library_is_named_with_its_extra(name):
    said = rf"^{re.escape(name)} is not installed: in a clone, pip install -e '\.\[sb3\]'$"
    with pytest.raises(ModuleNotFoundError, match=said) as raised, extra("sb3"):
        import_module(name)
    assert raised.value.name == name
    assert isinstance(raised.value, DependencyNotInstalled)


def test_other_errors_are_left_alone():
    with pytest.raises(ImportError, match="cannot import name 'nothing'") as raised, extra("sb3"):
        from json import nothing  # noqa: F401
    assert raised.type is ImportError


@pytest.mark.parametrize(
    ("missing", "name", "command"),
    [
        ("tyro", "baselines", ["baselines"]),
        ("numba", "baselines", ["baselines", "evaluate", "random"]),
        ("torch", "baselines", ["baselines", "train", "dqn", "--help"]),
        ("scipy", "baselines", ["baselines", "evaluate", "random", "--episodes", "2"]),
        ("tyro", "baselines", ["benchmarks", "run", "--list"]),
        ("pygame", "render", ["tile_envs.play", "Tiles2048-v0", "--window"]),
    ],
)
def test_commands_say_what_to_install(missing, name, command):
    done = in_a_process("-c", COMMAND, missing, *command, cwd=ROOT)
    said = re.search(rf"error: (\w+) is not installed: .* '\.\[{name}\]'\n\Z", done.stderr)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said, done.stderr
    assert said[1] == missing or not find_spec(said[1])


def test_functions_of_the_baselines_say_what_to_install():
    code = "import sys; sys.modules['psutil'] = None; from baselines import evaluate"
    last = in_a_process("-c", code, cwd=ROOT).stderr.splitlines()[-1]
    assert last.endswith("psutil is not installed: in a clone, pip install -e '.[baselines]'")


def test_the_extras_that_errors_name_exist():
    known = set(pyproject()["project"]["optional-dependencies"])
    named = {
        node.args[0].value
        for package in ("tile_envs", "baselines", "benchmarks")
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "extra"
    }
    assert {"baselines", "render"} <= named <= known


def pyproject():
    # Python has a reader of TOML since 3.11; before, pytest brings one.
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())
