"""Grades of submissions: good, bad and hostile ones, each in a process of its own."""

import builtins
import json
import re
import runpy
import shutil
import signal
from pathlib import Path

import gymnasium as gym
import pytest
from commands import command, in_a_process, refused, typed
from test_strategies import FIRST_LEGAL, LOWEST

from baselines import evaluate, evaluate_exactly, grade
from baselines.agents import RandomAgent
from baselines.errors import Interrupted
from baselines.evaluation import grading
from baselines.evaluation.rows import read_rows
from baselines.task import Task

ASSIGNMENT = Path(__file__).parent.parent / "benchmarks" / "lessons" / "assignment"
ENV, SMALL = "Tiles2048-v0", {"shape": (2, 2)}
EXACTLY = ("--env", ENV, "--shape", 2, 2, "--exact")
CLASS = """
import numpy as np

class Mine:
    def __init__(self, game, seed):
        self.game, self.seed = game, seed

    def predict(self, boards, action_masks):
        return {answer}
"""
FIRST = CLASS.replace("{answer}", "action_masks.argmax(axis=1)")
STOCHASTIC = (
    FIRST
    + """
    def action_probabilities(self, boards):
        masks = self.game.legal_actions(boards)
        return masks / masks.sum(axis=1, keepdims=True)
"""
)
FREE = """
def strategy(board):
    return min(3 * r + c for r in range(3) for c in range(3) if not board[r][c])
"""
NO_GRADE = {
    "(": "SyntaxError: '\\(' was never closed \\(.*, line 1\\)",
    "raise ValueError('in line\\n two')": "ValueError: in line two",
    "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
    "import os; os._exit(0)": "its process has ended",
    "from baselines.agents import RandomAgent": "no class with predict.* and no function strategy",
    FIRST + "class Other(Mine): pass": "several agents, Mine, Other: keep one",
    "class Mine:\n    def predict(self, boards): pass": "takes nothing, and is given game, seed",
    CLASS.replace("{answer}", "np.full(len(boards), 1)"): "Submission plays 1 on .* legal is",
    CLASS.replace("{answer}", "action_masks"): r"shape \(\d+, 4\)",
    CLASS.replace("{answer}", "np.ones(len(boards))"): "dtype float64",
    CLASS.replace("{answer}", "self.game.choose"): "actions must be",
    CLASS.replace("{answer}", "self.rng.choice(4)"): "AttributeError: .* has no attribute 'rng'",
    CLASS.replace("{answer}", "action_masks.argmax(axis=1), 1"): "predict returns a state",
    "def strategy(board): return 'jump'": "read no move in 'jump'",
    "import builtins; builtins.TAKEN = 1": "no class",
}
"""Submissions, and why they have no grade."""


def folder_of(folder, *sources):
    folder.mkdir()
    for n, source in enumerate(sources):
        (folder / f"{n:02}.py").write_text(source)
    return folder


def test_those_that_fail_have_a_line_and_the_others_are_graded_still(tmp_path):
    folder = folder_of(tmp_path / "submissions", FIRST, *NO_GRADE, FIRST_LEGAL)
    (folder / "student").mkdir()
    (folder / "student" / "agent.py").write_text(STOCHASTIC)
    rows = grade(folder, ENV, SMALL, exact=True)
    for row, wanted in zip(rows[1:], NO_GRADE.values(), strict=False):
        assert re.search(wanted, row["error"] or ""), row
    assert not hasattr(builtins, "TAKEN")
    random = RandomAgent(Task.of(ENV, SMALL).game)
    expected = {
        "00.py": LOWEST,
        f"{len(NO_GRADE) + 1:02}.py": LOWEST,
        "student/agent.py": random,
    }
    graded = {row["agent"]: row for row in rows if row["error"] is None}
    assert graded.keys() == expected.keys()
    for name, agent in expected.items():
        same = evaluate_exactly(agent, ENV, SMALL, name=name)
        assert graded[name] | same == graded[name]


@pytest.mark.parametrize(
    ("env", "options"), [(ENV, SMALL), ("TicTacToe-v0", {"side": "O"}), (ENV, {})]
)
def test_sampled_games_are_those_of_evaluate(tmp_path, env, options):
    sources = FIRST, FIRST_LEGAL if env == ENV else FREE
    for row in grade(folder_of(tmp_path / "s", *sources), env, options, 6, seed=3):
        same = evaluate(LOWEST, env, options, 6, seed=3, name=row["agent"])
        del same["moves_per_second"]
        assert (row["error"], row["illegal"]) == (None, 0)
        assert row | same == row


def test_the_seed_of_a_class_follows_that_of_the_games_and_does_not_tell_it(tmp_path):
    folder = folder_of(tmp_path / "s", CLASS.replace("{answer}", "{}[self.seed]"))
    (one,), (same,), (other,) = (grade(folder, ENV, SMALL, 1, seed=seed) for seed in (5, 5, 6))
    assert one["error"] == same["error"] != other["error"]
    assert int(one["error"].removeprefix("KeyError: ")) > 6


@pytest.mark.parametrize(
    "answer",
    json.loads(
        '[[0], "left", null, {}, 1e999, NaN, 18446744073709551616, -1, [[[]]], [2, -1, 0, 0]]'
    ),
)
@pytest.mark.parametrize("kind", ["actions", "probabilities", "strategy", "[]"])
def test_nothing_that_a_process_sends_ends_the_grading(tmp_path, monkeypatch, kind, answer):
    class Hostile:
        def __init__(self, memory):
            self.load = lambda source, seconds: kind
            self.ask = lambda boards, seconds: [answer] * len(boards)
            self.stop = lambda: None

    monkeypatch.setattr(grading, "Process", Hostile)
    (row,) = grade(folder_of(tmp_path / "s", ""), ENV, SMALL, exact=True)
    assert row["error"]


def test_the_command_prints_a_table_and_writes_a_line_for_each(tmp_path):
    folder = folder_of(tmp_path / "s", "1 / 0", FIRST)
    out = tmp_path / "grades.csv"
    done = command("grade", folder, *EXACTLY, "--out", out)
    assert done.returncode == 0
    heading, columns, best, failed = done.stdout.splitlines()
    share = evaluate_exactly(LOWEST, ENV, SMALL)["share"]
    assert heading == f"{ENV}, shape=(2, 2), exactly"
    assert columns.split() == ["share", "mean", "seconds"]
    assert best.split()[:2] == ["01.py", f"{share:.2%}"]
    assert failed == "  00.py  no grade: ZeroDivisionError: division by zero"
    rows = read_rows(out)
    assert [row["error"] for row in rows] == ["ZeroDivisionError: division by zero", ""]
    assert float(rows[1]["share"]) == share
    printed = typed("grade", folder, "--env", "TicTacToe-v0", "--exact")
    assert "win       draw       loss      worst    seconds" in printed


def test_mistakes_are_one_line_before_any_submission_is_asked(tmp_path):
    folder = folder_of(tmp_path / "empty")
    assert "empty holds no submissions" in refused("grade", folder)
    assert "none is not there: expected a folder" in refused("grade", tmp_path / "none")
    (folder / "loops.py").write_text("while True: pass")
    assert "give the shape once" in refused(
        "grade", folder, "--env-kwargs", '{"shape": [2, 2]}', *EXACTLY
    )
    assert "exact solving is for boards of" in refused("grade", folder, "--shape", 5, 5, "--exact")
    assert "side X or O" in refused(
        "grade", folder, "--env", "TicTacToe-v0", "--env-kwargs", '{"side": "both"}', "--exact"
    )
    done = command("grade", folder, *EXACTLY, "--seconds", 1)
    assert done.returncode == 2
    assert done.stdout == "  loops.py  no grade: it has used up its seconds\n"
    assert done.stderr.endswith("holds no submission that can be graded.\n")


def test_grades_before_an_interruption_are_kept(tmp_path, monkeypatch):
    load = grading.Submission.load

    def interrupted(self, path, made_with):
        if path.name == "01.py":
            raise Interrupted(signal.SIGTERM)
        load(self, path, made_with)

    monkeypatch.setattr(grading.Submission, "load", interrupted)
    out = tmp_path / "grades.csv"
    done = command("grade", folder_of(tmp_path / "s", FIRST, FIRST), *EXACTLY, "--out", out)
    assert (done.returncode, len(read_rows(out))) == (143, 1)
    assert done.stderr == "stopped: 1 of 2 submissions graded.\n"


def test_the_solution_of_the_assignment_has_the_grade_that_its_page_tells(tmp_path):
    for name in ("template.py", "solution.py"):
        shutil.copy(ASSIGNMENT / name, tmp_path)
    rows = grade(tmp_path, ENV, {"shape": (2, 3)}, exact=True)
    page = (ASSIGNMENT / "README.md").read_text()
    for row in rows:
        assert row["error"] is None
        assert re.search(rf"  {row['agent']} +{row['share']:.2%} ", page)
    assert rows[0]["share"] >= 0.95


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("Tiles2584-v0", {"shape": (2, 3)}),
        ("Tiles2584-v0", {"shape": (2, 2)}),
        (ENV, {"shape": (2, 3), "spawn": {"2": 0.8, "4": 0.2}}),
        (ENV, {"shape": (3, 2), "spawn": {"4": 1.0}}),
    ],
)
def test_the_solution_is_optimal_in_the_games_that_its_page_proposes(env_id, options):
    planner = runpy.run_path(ASSIGNMENT / "solution.py")["Planner"]
    agent = planner(gym.make(env_id, **options).unwrapped.game, 0)
    assert evaluate_exactly(agent, env_id, options)["share"] == pytest.approx(1)


@pytest.mark.parametrize(("file", "status"), [("solution.py", 0), ("template.py", 1)])
def test_students_tests_pass_with_the_solution_and_ask_more_of_the_template(file, status):
    done = in_a_process(ASSIGNMENT / "test_agent.py", ASSIGNMENT / file)
    assert done.returncode == status, done.stderr
    assert (
        re.findall(r"^FAIL: (\w+)", done.stderr, re.MULTILINE)
        == ["test_it_reaches_95_percent_of_the_optimum"] * status
    )
