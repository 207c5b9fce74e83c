"""What is said when a library of an extra is missing."""

import re
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from commands import ROOT, faults_of
from gymnasium.error import DependencyNotInstalled

from tile_envs.errors import CLONE, extra

CASES = [
    ("tyro", "baselines", "baselines"),
    ("numba", "baselines", "baselines evaluate random"),
    ("pygame", "render", "tile_envs.play Tiles2048-v0 --window"),
    ("jax", "jax", "import tile_envs.jax"),
    ("psutil", "baselines", "from baselines import evaluate"),
    ("torch", "baselines", "baselines train dqn --help"),
]
"""A library that is missing, the extra that brings it, and a command or code that needs it."""


@pytest.mark.parametrize("name", ["no_such_library", "json.no_such_part"])
def test_a_missing_library_is_named_with_its_extra_and_other_errors_are_left_alone(name):
    what = r"-e '\.\[sb3\]'" if CLONE.exists() else r"'tile-envs\[sb3\]'"
    said = rf"^{re.escape(name)} is not installed: pip install {what}$"
    with pytest.raises(ModuleNotFoundError, match=said) as raised, extra("sb3"):
        import_module(name)
    assert raised.value.name == name
    assert isinstance(raised.value, DependencyNotInstalled)
    with pytest.raises(ImportError, match="cannot import name 'nothing'") as raised, extra("sb3"):
        from json import nothing  # noqa: F401
    assert raised.type is ImportError


def test_commands_and_code_say_what_to_install():
    words = [["-c", text] if "import" in text else ["-m", *text.split()] for *_, text in CASES]
    jobs = [[missing, *job] for (missing, *_), job in zip(CASES, words, strict=True)]
    for (missing, name, text), fault in zip(CASES, faults_of(jobs, ROOT), strict=True):
        said = re.search(rf"(\w+) is not installed: .* '\.\[{name}\]'\n\Z", fault)
        assert said, fault
        assert said[1] == missing or not find_spec(said[1])
        if "import" not in text:
            assert (fault[:3], "Traceback" in fault) == ("2: ", False)


def test_the_extras_that_errors_name_exist():
    packages = (ROOT / name for name in ("tile_envs", "baselines", "benchmarks"))
    texts = [path.read_text() for package in packages for path in package.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'\bextra\("(.+?)"', text)}
    assert {"baselines", "render"} <= named <= {*pyproject()["project"]["optional-dependencies"]}


def pyproject():
    # Python has a reader of TOML since 3.11; before, pytest brings one.
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return tomllib.loads((ROOT / "pyproject.toml").read_text())
