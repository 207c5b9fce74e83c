"""README cannot lie: its code runs, its tables are the committed rows, CI runs its test command."""

import dataclasses
import re
from pathlib import Path

import pytest

from baselines.training import default_options
from benchmarks.learning import RUNS
from benchmarks.report import README, ROOT, filled

TEXT = README.read_text()


@pytest.mark.filterwarnings("ignore")  # what the libraries that it shows say about their own
def test_the_python_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 4
    namespace = {}
    for block in blocks:
        exec(block, namespace)
    assert namespace["after"].shape == (4096, 4, 4, 4)


def test_the_tables_are_those_of_the_committed_rows():
    assert filled(TEXT) == TEXT
    assert TEXT.count("<!-- table:") == 13


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.label} in {run.env}")
def test_what_learns_for_a_table_has_settings_that_are_allowed(run):
    preset = default_options(run.agent, run.env, run.preset)
    dataclasses.replace(preset.settings, **run.settings).check()


def test_the_first_screen_has_two_commands_and_ci_runs_the_second():
    commands = re.findall(r"```bash\n(.*?)\n```", TEXT, re.DOTALL)
    assert commands[:2] == [
        "pip install -e '.[baselines]' && "
        "python -m baselines train ntuple --minutes 1 --out runs/2048",
        "pip install -e '.[dev]' && pytest",
    ]
    assert TEXT[: TEXT.index(commands[1])].count("\n") < 25
    assert commands[1] in Path(ROOT, ".ci", "run").read_text()
