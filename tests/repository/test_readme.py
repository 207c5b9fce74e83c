"""The pages cannot lie: their code runs, their commands run, the tests that they name exist."""

import ast
import re
import shlex

import pytest
from commands import ROOT, faults_of

PAGES = ("README.md", "tile_envs/README.md", "baselines/README.md", "benchmarks/pages/ladder.md")
README, ENVIRONMENTS, AGENTS, LADDER = ((ROOT / page).read_text() for page in PAGES)
TEXT = README + ENVIRONMENTS + AGENTS


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(text):
    """Return the commands of a text but `report`, whose pages other tests compare with the rows."""
    lines = [line.partition("#")[0].strip() for line in "".join(blocks(text, "bash")).splitlines()]
    return [line for line in lines if line.startswith("python -m ") and "report" not in line]


def block_with(words):
    (block,) = [block for block in blocks(TEXT, "python") if words in block]
    return block


# What needs JAX is run where JAX is.
PYTHON = [block for block in blocks(TEXT, "python") if "import jax" not in block]
FIRST = blocks(README, "bash")[0].splitlines()[0].partition(" && ")[2]
COMMANDS = [FIRST, *commands(README), *commands(ENVIRONMENTS)]
IMPORTS = ast.Import, ast.ImportFrom

TINY = {
    "ntuple": "--network 01 --games 20 --iteration-games 10",
    "qtable": "--games 1000",
    "dqn": (
        "--games 2 --n-envs 8 --width 4 --hidden 4 --learning-starts 32 --batch-size 16 "
        "--gradient-steps 1 --buffer-size 6000 --replay-steps 2"
    ),
    "ppo": "--games 2 --n-envs 4 --width 4 --hidden 4 --n-steps 16 --batch-size 16",
    "my_agent:Cells": "--games 200",
}
"""By agent, settings that make training a matter of seconds; budgets in minutes are seconds."""

FEW_TESTS = """
from baselines import agents
from baselines.commands import train as after_training

after_training.GAMES = 1  # tests of a hundred games would take most of the time
for name, entry in agents.AGENTS.items():
    agents.agent_class(name).test_games = 2 if entry.learns else 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder in which the pages' files lie."""
    path = tmp_path_factory.mktemp("readme")
    (path / "powers3.py").write_text(block_with("register_game("))
    (path / "my_agent.py").write_text(block_with("class Cells("))
    (path / "strategy.py").write_text(block_with("def strategy("))
    (path / "submissions").mkdir()
    for corner in (path / "corner.py", path / "submissions" / "corner.py"):
        corner.write_text(block_with("class Corner:"))
    return path


def tiny(command):
    """Return the words that Python takes of a command, with a budget of seconds."""
    words = shlex.split(re.sub(r"--minutes \S+", "--minutes 0.02", command))[1:]
    asked = words[1:3]
    if asked == ["baselines", "train"]:
        words += shlex.split(TINY[words[3]])
    if asked[:1] == ["baselines"] and asked[1] in ("evaluate", "record", "compare"):
        words += [] if "--exact" in words else ["--episodes", "2"]
    return words


def run(commands, blocks, folder):
    """Run commands in their order, as later ones use what earlier ones have made; then blocks."""
    words = [*map(tiny, commands), *(["-c", block] for block in blocks)]
    return faults_of([[None, *job] for job in (["-c", FEW_TESTS], *words)], folder)[1:]


@pytest.fixture(scope="module")
def faults(folder):
    return run(COMMANDS, PYTHON, folder)


def check(commands, faults):
    for command, fault in zip(commands, faults, strict=True):
        shows = " watch " in command and "--" not in command
        if shows or " play " in command or ".play " in command:
            expected = "game.json: No such file" if "--replay" in command else "needs a terminal"
            assert expected in fault, command
        else:
            assert not fault, command


def test_the_commands_run(faults):
    import sb3_contrib  # noqa: F401 # the other process needs everything

    assert len(COMMANDS) > 8
    check(COMMANDS, faults[: len(COMMANDS)])


@pytest.mark.slow
@pytest.mark.parametrize(("page", "n"), [(AGENTS, 20), (LADDER, 16)], ids=["agents", "ladder"])
def test_the_commands_of_other_pages_run(page, n, folder):
    listed = commands(page)
    assert len(listed) >= n
    check(listed, run(listed, [], folder))
    assert page == LADDER or (folder / "cells.csv").read_text().count("\n") == 2


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.splitlines()[0])
def test_each_block_of_code_runs_by_itself(block, faults):
    imports = [node for node in ast.parse(block).body if isinstance(node, IMPORTS)]
    exec(compile(ast.Module(imports, []), "README.md", "exec"), {})  # a missing library shows here
    assert not faults[len(COMMANDS) + PYTHON.index(block)]


def test_tests_that_pages_name_are_there():
    named = re.findall(r"`(test_\w+\.py)::(\w+)`", TEXT)
    assert len(named) > 5
    for file, test in named:
        (path,) = (ROOT / "tests").rglob(file)
        assert f"\ndef {test}(" in path.read_text(), test
