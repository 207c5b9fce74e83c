"""Grades of submissions: good, bad and hostile ones, each in a process of its own."""

import builtins
import re
import runpy
import shutil
import signal
import socket
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from commands import ROOT, command, typed
from players import FIRST_LEGAL, LOWEST
from test_strategies import check_nothing_is_left, process_ids

from baselines import evaluate, evaluate_exactly, grade, judge
from baselines.agents import RandomAgent, Task
from baselines.commands import grade as grade_command
from baselines.errors import Interrupted
from baselines.evaluation import judging, submissions
from baselines.evaluation.rows import read_rows

ASSIGNMENT = ROOT / "benchmarks" / "lessons" / "assignment"
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
CHANCES = """
    def action_probabilities(self, boards):
        masks = self.game.legal_actions(boards)
        return masks / masks.sum(axis=1, keepdims=True)
"""
FREE = """
def strategy(board):
    return min(3 * r + c for r in range(3) for c in range(3) if not board[r][c])
"""
NO_GRADE = {
    "raise ValueError('in line\\n two')": "ValueError: in line two",
    "from baselines.agents import RandomAgent": "one class with predict.*, found none",
    FIRST + "class Other(Mine): pass": "found Mine, Other",
    "class Mine:\n    def predict(self, boards): pass": "takes nothing, and is given game, seed",
    CLASS.replace("{answer}", "np.full(len(boards), 1)"): "Submission plays 1 on .* legal is",
    CLASS.replace("{answer}", "action_masks"): r"shape \(\d+, 4\)",
    CLASS.replace("{answer}", "self.rng.choice(4)"): "AttributeError: .* has no attribute 'rng'",
    CLASS.replace("{answer}", "action_masks.argmax(axis=1), 1"): "predict returns a state",
    "def strategy(board): return 'jump'": "read no move in 'jump'",
    "import numpy\n\ndef strategy(board):\n    return numpy.ones(2)[2]": r"\(\d\d.py, line 4\)",
    "from baselines.solver.optimal import OptimalAgent": "No module named 'baselines.solver'",
    "from baselines import solve": "cannot import name 'solve'",
    "import os; os._exit(0)": "its process has ended",
    "import builtins; builtins.TAKEN = 1": "expected one class",
}
"""Submissions, and why they have no grade."""


def folder_of(folder, *sources):
    folder.mkdir()
    for n, source in enumerate(sources):
        (folder / f"{n:02}.py").write_text(source)
    return folder


def test_those_that_fail_have_a_line_and_the_others_are_graded_still(tmp_path):
    before, folder = process_ids(), folder_of(tmp_path / "s", FIRST, *NO_GRADE, FIRST_LEGAL)
    (folder / "student").mkdir()
    (folder / "student" / "agent.py").write_text(FIRST + CHANCES)
    rows = grade(folder, ENV, SMALL, exact=True, seconds=10)
    check_nothing_is_left(before)
    for row, wanted in zip(rows[1:], NO_GRADE.values(), strict=False):
        assert re.search(wanted, row["error"] or ""), row
    assert not hasattr(builtins, "TAKEN")
    random = RandomAgent(Task.of(ENV, SMALL).game)
    expected = {"00.py": LOWEST, f"{len(NO_GRADE) + 1:02}.py": LOWEST, "student": random}
    graded = {row["agent"]: row for row in rows if row["error"] is None}
    assert graded.keys() == expected.keys()
    for name, agent in expected.items():
        same = evaluate_exactly(agent, ENV, SMALL, name=name)
        assert graded[name] | same == graded[name]


@pytest.mark.parametrize(
    ("env", "options"), [("TicTacToe-v0", {"side": "O"}), (ENV, {"shape": (3, 3)})]
)
def test_sampled_games_are_those_of_evaluate(tmp_path, env, options):
    sources = FIRST, FIRST_LEGAL if env == ENV else FREE
    for row in grade(folder_of(tmp_path / "s", *sources), env, options, 6, seed=3):
        same = evaluate(LOWEST, env, options, 6, seed=3, name=row["agent"])
        del same["moves_per_second"]
        assert (row["error"], row["illegal"]) == (None, 0)
        assert row | same == row


def test_the_seed_of_a_class_is_drawn_and_can_be_given(tmp_path):
    folder = folder_of(tmp_path / "s", CLASS.replace("{answer}", "{}[self.seed]"))
    given = [{}, {}, {"agent_seed": 7}]
    rows = [grade(folder, ENV, SMALL, 1, **seed)[0] for seed in given]
    told = [int(re.findall(r"KeyError: (\d+)", row["error"])[0]) for row in rows]
    assert told == [row["agent_seed"] for row in rows]
    assert told[0] != told[1]
    assert told[2] == 7


@pytest.mark.parametrize("env", [ENV, "TicTacToe-v0"])
def test_one_rule_for_illegal_answers_holds_for_all_that_is_judged(tmp_path, env):
    """It tries a direction 15 times, or a cell 5 times, then the next one."""
    each = "lambda n: n // 15 % 4" if env == ENV else "lambda n: n // 5 % 9"
    source = f"n, each = 0, {each}\ndef strategy(board):\n    global n; n += 1\n    return each(n)"
    options = SMALL if env == ENV else {}
    (row,) = grade(folder_of(tmp_path / "s", source), env, options, 20)
    same = judge(source, env, 20, seconds=60, env_kwargs=options)
    names = ("mean", "illegal", "repeated", "quantiles", "low")
    assert [row[name] for name in names] == [same[name] for name in names]
    assert row["illegal"] > 20


SENT = {
    "actions": (float("inf"), [[[]]], 2**64, "9" * 5000),
    "probabilities": ([2, -1, 0, 0], None, float("nan")),
    "strategy": ({}, -1),
    "[]": ("left",),
}


@pytest.mark.parametrize(("kind", "answer"), [(kind, sent) for kind in SENT for sent in SENT[kind]])
def test_nothing_that_a_process_sends_ends_the_grading(tmp_path, monkeypatch, kind, answer):
    def sends(self, message, *_):
        return {"kind": kind, "answers": [answer] * len(message)}

    monkeypatch.setattr(submissions.Submission, "_start", lambda *_: None)
    monkeypatch.setattr(submissions.Submission, "_exchange", sends)
    (row,) = grade(folder_of(tmp_path / "s", ""), ENV, SMALL, exact=True)
    assert row["error"]
    (row,) = grade(folder_of(tmp_path / "t", ""), ENV, SMALL, 2)
    assert row["error"] or row["illegal"]


def test_each_entry_of_the_folder_has_a_line_and_a_folder_is_one_submission(tmp_path):
    hidden = ("__MACOSX/._agent.py", ".ipynb_checkpoints/agent.py", "c/.agent.py")
    first = ("b/hw1/agent.PY", "d/one.py", "d/two.py", "wide/agent.py", "=1+1.py", *hidden)
    files = dict.fromkeys(first, FIRST) | dict.fromkeys(("c/agent.ipynb", "g.zip", "f/"), "")
    files |= {
        "a/agent.py": "import helper\n" + CLASS.replace("{answer}", "helper.first(action_masks)"),
        "a/helper.py": "def first(masks): return masks.argmax(1)\n\nclass Node: pass",
        "e.py": FIRST_LEGAL.encode("utf-16"),
        "large.py": "#" * (1 << 20 | 1),
        "wide/values.npy": "0" * (32 << 20),
    }
    for name, text in files.items():
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "s" / "c" / "link.py").symlink_to(tmp_path / "s" / "e.py")
    out = tmp_path / "grades.csv"
    done = command("grade", tmp_path / "s", *EXACTLY, "--out", out)
    errors = {row["agent"]: row["error"] for row in read_rows(out)}
    assert "\n'=1+1.py," in out.read_text()
    wanted = {"c": "agent.ipynb", "d": "one.py, two.py", "f": "nothing", "g.zip": "g.zip"}
    wanted |= {"large.py": "1.0 MiB", "wide": "32 MiB"}
    assert errors.keys() == {*wanted, "a", "b", "e.py", "=1+1.py"}, done.stderr
    for name, error in errors.items():
        assert wanted.get(name, "") in error
        assert bool(error) == (name in wanted), (name, error)


SPY = """
import os
from pathlib import Path

def strategy(board):
    os.makedirs(os.path.expanduser("~/cache"))
    import torch, baselines.agents
    found = [path for path in PATHS if Path(path).exists()]
    kept = []
    for act in (lambda: os.rename(__file__, __file__ + "x"), lambda: os.remove(__file__),
                lambda: os.mkfifo("/submission/f"), lambda: open("/usr/x", "w")):
        try:
            act()
            kept.append(act)
        except OSError:
            pass
    raise ValueError(found, kept)
"""


@pytest.mark.linux
def test_a_submission_sees_itself_and_libraries_and_leaves_nothing(tmp_path, capsys):
    submissions._warn.cache_clear()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        folder = folder_of(tmp_path / "s", FIRST)
        root = Path(judging.__file__).parents[2]
        paths = [folder / "00.py", tmp_path / "socket", ASSIGNMENT, root / ".git"]
        paths += [root / "baselines" / name for name in ("solver", "strong", "search")]
        spy = SPY.replace("PATHS", repr([*map(str, paths)]))
        (folder / "01.py").write_text(spy)
        row = grade(folder, ENV, SMALL, 1)[1]
    if "use of your files" not in capsys.readouterr().err:
        assert row["error"].startswith("ValueError: ([], [])")


def test_with_a_full_disk_the_table_is_printed_and_the_file_is_named(tmp_path, monkeypatch, capsys):
    def full(rows, path):
        raise OSError(28, "the disk is full", str(path))

    monkeypatch.setattr(grade_command, "write_rows", full)
    with pytest.raises(OSError, match="disk"):
        grade_command.grade(folder_of(tmp_path / "s", "1 / 0"), out=tmp_path / "grades.csv")
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_the_command_prints_a_table_and_writes_a_line_for_each(tmp_path):
    folder, out = folder_of(tmp_path / "s", "while True: pass", FIRST), tmp_path / "grades.csv"
    printed = typed("grade", folder, *EXACTLY, "--seconds", 2, "--out", out)
    heading, columns, best, failed = printed.splitlines()
    share = evaluate_exactly(LOWEST, ENV, SMALL)["share"]
    assert columns.split() == ["share", "mean", "seconds"]
    assert best.split()[:2] == ["01.py", f"{share:.2%}"]
    rows = read_rows(out)
    assert all(heading.endswith(f"agent seed {row['agent_seed']}") for row in rows)
    assert (float(rows[1]["share"]), rows[1]["error"]) == (share, "")
    assert rows[0]["error"] == "it has used up its seconds"
    assert rows[0]["error"] in failed
    (folder / "00.py").write_text("1 / 0")
    printed = typed("grade", folder, "--env", "TicTacToe-v0", "--exact")
    assert printed.splitlines()[1].split() == ["win", "draw", "loss", "worst", "seconds"]
    (folder / "01.py").unlink()
    done = command("grade", folder, *EXACTLY)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "ZeroDivisionError" in done.stdout


def test_grades_before_an_interruption_are_kept(tmp_path, monkeypatch):
    load = judging.Submission.load

    def interrupted(self, **given):
        if given["files"] == ["01.py"]:
            raise Interrupted(signal.SIGTERM)
        load(self, **given)

    monkeypatch.setattr(judging.Submission, "load", interrupted)
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


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        pytest.param("Tiles2584-v0", {"shape": (2, 3)}, marks=pytest.mark.slow),
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
def test_students_tests_pass_with_the_solution_and_ask_more_of_the_template(
    file, status, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["test_agent.py", str(ASSIGNMENT / file)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(ASSIGNMENT / "test_agent.py", run_name="__main__")
    failed = re.findall(r"^FAIL: (\w+)", capsys.readouterr().err, re.MULTILINE)
    assert failed == ["test_it_reaches_95_percent_of_the_optimum"] * status
    assert end.value.code == status
