"""Judges of other people's agents: of a strategy, and of folders of submissions, also hostile."""

import builtins
import inspect
import json
import os
import re
import runpy
import shutil
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from commands import ROOT, command, typed
from players import FIRST_LEGAL, LOWEST

from baselines import evaluate, evaluate_exactly, grade, judge
from baselines.agents import RandomAgent, Task
from baselines.errors import Interrupted
from baselines.evaluation import confined, judging, submissions
from baselines.evaluation.rows import read_rows
from baselines.evaluation.sampled import Stopped

LESSONS = ROOT / "benchmarks" / "lessons"
ASSIGNMENTS = sorted((LESSONS / "assignments").glob("?-*"))
OPTIMUM = 5468.48679741  # on 3×3, benchmarks/results/solved.csv
ENV, SMALL = "Tiles2048-v0", {"shape": (2, 2)}
LEFT = "def strategy(board): return 'left'"
KINDS = "action, np.int64(action), 'wdsa'[action], ['up', 'Right', 'DOWN', '[left]'][action]"


def free(board):
    return min(3 * r + c for r in range(3) for c in range(3) if not board[r][c])


def check_same(row, same):
    """Check that a row without failures is that of `evaluate`, whose agent has another name."""
    given = ("illegal", "repeated", "failed", "failure")
    assert [row.pop(name) for name in given] == [0, 0, 0, None]
    for each in (row, same):
        del each["agent"], each["moves_per_second"]
    assert row == same


def test_a_strategy_plays_the_games_of_evaluate_whatever_kinds_of_answers_it_gives():
    source = FIRST_LEGAL.replace("return action", f"return ({KINDS})[np.sum(board) // 2 % 4]")
    row = judge(source, episodes=3, seed=7, seconds=np.float32(60))
    check_same(row, evaluate(LOWEST, ENV, episodes=3, seed=7))


@pytest.mark.parametrize("side", ["X", "O", "both"])
def test_a_function_is_judged_by_its_source_and_its_side_wins_and_loses(side):
    for options in ({"side": side}, {"side": side, "max_episode_steps": 3}):
        row = judge(free, "TicTacToe-v0", 50, 1, seconds=10**12, env_kwargs=options)
        assert row["agent"] == "free"
        check_same(row, evaluate(LOWEST, "TicTacToe-v0", options, 50, 1))


def sends(content):
    return f"import os, sys; os.write(int(sys.argv[2]), {content!r})"


ESCAPE = "import ctypes; ctypes.CDLL(None).prctl(1, 0); ctypes.CDLL(None).setsid()"
TAKES = """taken = []
    try:
        while len(taken) < 400: taken.append(bytearray(1 << 20))
    except MemoryError: pass
    raise ValueError(len(taken))"""
CPU_SECONDS = "import resource; raise ValueError(resource.getrlimit(resource.RLIMIT_CPU)[1])"
HOSTILE = {
    "loops": ("while True: pass", "used up its seconds"),
    "loops for ever": (f"{ESCAPE}\n    while True: pass", "used up its seconds"),
    "sends digits": (sends(b'{"answers": [' + b"9" * 4400 + b"]}\n"), "no answers|answer in lines"),
    "sends text": (sends(b'{"answers": ["' + b"9" * 4000 + b'"]}\n'), None),
    "sends lists": (sends(b"[5]\n"), "no answers"),
    "links": ("import os; os.symlink('/', PATH)", "Read-only|No such file"),
    "exits": ("import os; os._exit(3)", "its process has ended"),
    "raises SystemExit": ("raise SystemExit(0)", "SystemExit: 0"),
    "takes memory": ("x = []\n    while True: x.append(bytearray(1 << 20))", "MemoryError"),
    "tells how many MiB it takes": (TAKES, r"ValueError: (6[4-9]|[7-9]\d|1[01]\d|12[0-8]) "),
    "tells how long it may compute": (CPU_SECONDS, "ValueError: 120 "),
    "tells secrets": ("import os; raise ValueError(sorted(os.environ))", r"^ValueError: \["),
    "prints": ("print('x' * 100_000); return 'left'", None),
    "writes files": ("f = open(PATH, 'w'); f.write('x')", "Read-only|No such file|File too large"),
    "forks": ("import os\n    for _ in range(5): os.fork()", "Resource temporarily unavailable"),
    "recurses": ("return strategy(board)", "RecursionError"),
    "raises": ("return 1 / 0", "ZeroDivisionError: division by zero"),
    "returns NaN": ("return float('nan')", None),
    "changes the board": ("board[0][0] = 2048; board.clear(); return 'left'", None),
    "kills": ("import os; assert not os.getppid(); os.kill(-1, 9)", "LookupError|AssertionError"),
    "is async": ("pass\nasync def strategy(board): return 'left'", "async"),
    "does not define one": ("pass\ndel strategy", "one function strategy.*, found none"),
    "is no Python": ("(", "SyntaxError"),
}


def processes():
    """Return the processes of submissions that no other test, at the same time, has begun."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            if confined.__file__ in process.cmdline():
                above = (p for p in process.parents() if confined.__file__ not in p.cmdline())
                if next((p.pid for p in above), 1) in (1, os.getpid()):
                    found.add(process.pid)
    return found


@pytest.mark.linux
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_strategy_gives_a_row_and_leaves_nothing_running(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    body, failure = HOSTILE[name]
    tmp_path.chmod(0o777)
    body = body.replace("PATH", repr(str(tmp_path / "file")))
    before = processes()
    limits = {"seconds": 1.0 if "loops" in name else 30.0, "memory": 128 << 20}
    row = judge(f"def strategy(board):\n    {body}", episodes=4 if failure is None else 1, **limits)
    if failure is None:
        assert (row["failed"], row["failure"]) == (0, None)
        assert row["illegal"] >= row["repeated"] + 4 >= 4 * 9
    else:
        assert row["failed"] == 1
        assert re.search(failure, row["failure"]), row["failure"]
        assert "OPENAI" not in row["failure"]
    assert not (tmp_path / "file").exists() or not (tmp_path / "file").stat().st_size
    assert processes() <= before


def test_the_last_fenced_block_of_an_answer_is_judged_and_an_error_has_its_line():
    answer = f"My idea:\n```text\nup\n```\nand this is it:\n\n```python\n{LEFT}\n```\n"
    assert judge(answer, episodes=1, seconds=60)["illegal"] >= 10
    row = judge(answer.replace("return 'left'", "\n    return 1 / 0"), episodes=4)
    assert "(strategy, line 2)" in row["failure"]
    assert (row["failed"], row["agent"]) == (3, "strategy, stopped with 1 game left")
    assert "SyntaxError" in judge("This is no program.", episodes=1)["failure"]


def test_games_that_have_ended_before_an_interruption_are_a_row(monkeypatch):
    class Interrupting(judging.Played):
        def __init__(self, env, seed):
            if seed == judging.game_seeds(7, 5)[2]:
                raise Interrupted(signal.SIGTERM)
            super().__init__(env, seed)

    monkeypatch.setattr(judging, "Played", Interrupting)
    with pytest.raises(Stopped) as stopped:
        judge(FIRST_LEGAL, episodes=5, seed=7, seconds=60)
    row = stopped.value.row
    assert (row["agent"], stopped.value.number) == ("strategy, stopped", signal.SIGTERM)
    check_same(row, evaluate(LOWEST, ENV, episodes=2, seed=7))


def test_the_command_judges_a_file_whose_time_is_that_of_a_game_and_others_go_on(tmp_path):
    path, rows = tmp_path / "slow.py", tmp_path / "rows.json"
    late = "n.append(0); time.sleep(60 * (len(n) > 30)); return 'a'"
    path.write_text(f"import time\nn = []\ndef strategy(board): {late}\n", encoding="utf-8-sig")
    printed = typed("evaluate", path, "--episodes", 6, "--seconds", 1, "--out", rows)
    assert re.search(r"(?s)slow\.py on.*it has used up its seconds", printed)
    (row,) = json.loads(rows.read_text())
    assert 1 < row["failed"] < 6
    assert row["mean"] > 0


EXACTLY = ("--env", ENV, "--shape", 2, 2, "--exact")
CLASS = """
import numpy as np

class Mine:
    def __init__(self, game, seed):
        self.game, self.seed = game, seed

    def predict(self, boards, action_masks):
        return """


def playing(answer):
    return f"{CLASS}{answer}\n"


FIRST = playing("action_masks.argmax(axis=1)")
FREE = f"{inspect.getsource(free)}strategy = free"
CHANCES = """
    def action_probabilities(self, boards):
        masks = self.game.legal_actions(boards)
        return masks / masks.sum(axis=1, keepdims=True)
"""
NO_GRADE = {
    "raise ValueError('in line\\n two')": "ValueError: in line two",
    "from baselines.agents import RandomAgent": "one class with predict.*, found none",
    FIRST + "class Other(Mine): pass": "found Mine, Other",
    "class Mine:\n    def predict(self, boards): pass": "takes nothing, and is given game, seed",
    playing("np.full(len(boards), 1)"): "Submission plays 1 on .* legal is",
    playing("action_masks"): r"shape \(\d+, 4\)",
    playing("self.rng.choice(4)"): "AttributeError: .* has no attribute 'rng'",
    playing("action_masks.argmax(axis=1), 1"): "predict returns a state",
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
    before, folder = processes(), folder_of(tmp_path / "s", FIRST, *NO_GRADE, FIRST_LEGAL)
    (folder / "student").mkdir()
    (folder / "student" / "agent.py").write_text(FIRST + CHANCES)
    rows = grade(folder, ENV, SMALL, exact=True, seconds=10)
    assert processes() <= before
    for row, wanted in zip(rows[1:], NO_GRADE.values(), strict=False):
        assert re.search(wanted, row["error"] or ""), row
    assert not hasattr(builtins, "TAKEN")
    random = RandomAgent(Task.of(ENV, SMALL).game)
    expected = {"00.py": LOWEST, f"{len(NO_GRADE) + 1:02}.py": LOWEST, "student": random}
    graded = {row["agent"]: row for row in rows if row["error"] is None}
    assert graded.keys() == expected.keys()
    for name, agent in expected.items():
        assert graded[name].items() >= evaluate_exactly(agent, ENV, SMALL, name=name).items()


OF_O, OF_SMALL = ("TicTacToe-v0", {"side": "O"}, FREE), (ENV, SMALL, FIRST_LEGAL)


@pytest.mark.parametrize(("env", "options", "strategy"), [OF_O, OF_SMALL])
def test_sampled_games_are_those_of_evaluate(tmp_path, env, options, strategy):
    for row in grade(folder_of(tmp_path / "s", FIRST, strategy), env, options, 6, seed=3):
        same = evaluate(LOWEST, env, options, 6, seed=3, name=row["agent"])
        del same["moves_per_second"]
        assert (row["error"], row["illegal"]) == (None, 0)
        assert row | same == row


def test_the_seed_of_a_class_is_drawn_and_can_be_given(tmp_path):
    folder, given = folder_of(tmp_path / "s", playing("{}[self.seed]")), ({}, {}, {"agent_seed": 7})
    rows = [grade(folder, ENV, SMALL, 1, **seed)[0] for seed in given]
    assert all(f"KeyError: {row['agent_seed']} " in row["error"] for row in rows)
    assert len({row["agent_seed"] for row in rows}) == 3
    assert rows[2]["agent_seed"] == 7


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
    files = dict.fromkeys(first, FIRST) | dict.fromkeys(("c/agent.ipynb", "g.zip"), "")
    files |= {
        "a/agent.py": "import helper\n" + playing("helper.first(action_masks)"),
        "a/helper.py": "def first(masks): return masks.argmax(1)\n\nclass Node: pass",
        "e.py": FIRST_LEGAL,
        "large.py": "#" * (1 << 20 | 1),
        "wide/values.npy": "0" * (32 << 20),
    }
    folder, out = tmp_path / "s", tmp_path / "grades.csv"
    (folder / "f").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-16" if name == "e.py" else None)
    (folder / "c" / "link.py").symlink_to(folder / "e.py")
    command("grade", folder, *EXACTLY, "--out", out)
    errors = {row["agent"]: row["error"] for row in read_rows(out)}
    assert "\n'=1+1.py," in out.read_text()
    wanted = {"c": "agent.ipynb", "d": "one.py, two.py", "f": "nothing", "g.zip": "g.zip"}
    wanted |= {"large.py": "1.0 MiB", "wide": "32 MiB"}
    assert errors.keys() == {*wanted, "a", "b", "e.py", "=1+1.py"}
    for name, error in errors.items():
        assert wanted.get(name, "") in error
        assert bool(error) == (name in wanted), (name, error)


SPY = """
import os
from contextlib import suppress
from pathlib import Path

def strategy(board):
    os.makedirs(os.path.expanduser("~/cache"))
    import torch, baselines.agents
    found = [path for path in PATHS if Path(path).exists()]
    for act in (
        "os.rename(__file__, __file__ + 'x')", "os.remove(__file__)",
        "os.mkfifo('/submission/f')", "open('/usr/x', 'w')",
    ):
        with suppress(OSError):
            found.append(eval(act))
    raise ValueError(found, *filter(str.isdigit, os.listdir("/proc")))
"""


@pytest.mark.linux
def test_a_submission_sees_itself_and_libraries_and_leaves_nothing(tmp_path, capsys):
    """No other process and no file of others, or a warning says so."""
    submissions.say.cache_clear()
    folder = folder_of(tmp_path / "s", FIRST)
    root = Path(judging.__file__).parents[2]
    paths = [folder / "00.py", tmp_path / "socket", LESSONS, root / ".git"]
    paths += [root / "baselines" / name for name in ("solver", "strong", "search")]
    (folder / "01.py").write_text(SPY.replace("PATHS", repr([*map(str, paths)])))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        error, warned = grade(folder, ENV, SMALL, 1)[1]["error"], capsys.readouterr().err
    assert error.startswith("ValueError: ([], ") or "use of your files" in warned
    assert ", '1', '2') (" in error or "sight of other processes" in warned


def test_the_command_writes_a_line_for_each_and_fails_if_none_has_a_grade(tmp_path):
    folder, out = folder_of(tmp_path / "s", "while True: pass", FIRST), tmp_path / "grades.csv"
    printed = typed("grade", folder, *EXACTLY, "--seconds", 2, "--out", out)
    share, (late, first) = evaluate_exactly(LOWEST, ENV, SMALL)["share"], read_rows(out)
    assert (float(first["share"]), first["error"]) == (share, "")
    assert late["error"] == "it has used up its seconds"
    assert re.search(rf"(?s)01\.py +{share:.2%} .*{late['error']}", printed)
    (folder / "00.py").write_text("1 / 0")
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


VALUED = """
class Valued:
    def __init__(self, game, seed): pass
    def afterstate_values(self, boards): return VALUES
"""


def test_a_class_with_values_is_played_greedily_and_one_with_probabilities_exactly(tmp_path):
    class Greedy:
        def predict(self, boards):
            after, rewards, masks = Task.of(ENV, SMALL).game.afterstates(boards)
            empty = (after == 0).sum(axis=(2, 3))
            return np.where(masks, rewards + 8 * empty, -np.inf).argmax(axis=1)

    same = Greedy()
    values = "(boards == 0).sum(axis=(1, 2)) * 8"
    broken = "[1.0]", "[float('nan')] * len(boards)", "['a'] * len(boards)"
    sources = (VALUED.replace("VALUES", returned) for returned in (values, *broken))
    folder = folder_of(tmp_path / "s", *sources)
    exactly, *errors = grade(folder, ENV, SMALL, exact=True)
    assert exactly["share"] == evaluate_exactly(same, ENV, SMALL)["share"]
    assert all(row["error"].startswith("ValueError: ") for row in errors)
    assert sum("finite numbers, got" in row["error"] for row in errors) == 2
    assert grade(folder, ENV, SMALL, 20)[0]["mean"] == evaluate(same, ENV, SMALL, 20)["mean"]
    (folder / "00.py").write_text(VALUED.replace("afterstate_values", "action_probabilities"))
    assert "add --exact, or define predict" in grade(folder, ENV, SMALL, 1)[0]["error"]


def test_the_first_assignment_has_the_grades_that_the_teachers_page_tells(tmp_path):
    for name in ("template.py", "solution.py"):
        shutil.copy(ASSIGNMENTS[0] / name, tmp_path)
    page = (LESSONS / "teachers.md").read_text()
    for row in grade(tmp_path, ENV, {"shape": (2, 3)}, exact=True):
        assert re.search(rf"  {row['agent']} +{row['share']:.2%} ", page)


def graded(assignment, path):
    """Return the share of the optimum of a file, as the grader finds it for an assignment."""
    shutil.copy(assignment / path.name, path)
    if assignment is ASSIGNMENTS[1]:
        return grade(path.parent, ENV, {"shape": (3, 3)}, 1000, 1)[0]["mean"] / OPTIMUM
    return grade(path.parent, ENV, {"shape": (2, 3)}, exact=True)[0]["share"]


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda folder: folder.name)
def test_solutions_reach_the_marks_and_templates_have_what_the_page_tells(assignment, tmp_path):
    page = (LESSONS / "teachers.md").read_text()
    row = re.search(rf"\n\| {assignment.name[0]} (\| [\d.]+ % .+)", page)[1]
    half, full, template = map(float, re.findall(r"\| ([\d.]+) %", row)[:3])
    assert 100 * graded(assignment, tmp_path / "template.py") == pytest.approx(template, abs=0.006)
    (tmp_path / "template.py").unlink()
    assert half < full <= 100 * graded(assignment, tmp_path / "solution.py")


SOLVED = [(ASSIGNMENTS[0], "solution"), *((each, "template") for each in ASSIGNMENTS)]


@pytest.mark.parametrize(("assignment", "name"), SOLVED, ids=lambda part: Path(part).name)
def test_students_tests_ask_more_than_the_template(assignment, name, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["test_agent.py", str(assignment / f"{name}.py")])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(assignment / "test_agent.py", run_name="__main__")
    assert end.value.code == (name == "template")
