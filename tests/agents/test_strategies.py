"""The judge of written strategies, hostile ones included."""

import os
import re
import signal
import subprocess
import sys
import venv
from contextlib import suppress

import numpy as np
import psutil
import pytest
from commands import ROOT, typed
from players import FIRST_LEGAL, LOWEST, Stubborn

from baselines import evaluate, judge
from baselines.errors import Interrupted
from baselines.evaluation import confined, judging, submissions
from baselines.evaluation.sampled import Stopped

MIB = 1 << 20
KINDS = "action, np.int64(action), 'wdsa'[action], ['up', 'Right', 'DOWN', '[left]'][action]"


def check_same(row, same):
    given = ("illegal", "repeated", "failed", "failure")
    assert [row.pop(name) for name in given] == [0, 0, 0, None]
    for each in (row, same):
        del each["agent"], each["moves_per_second"]
    assert row == same


def test_a_strategy_plays_the_games_of_evaluate_whatever_kinds_of_answers_it_gives():
    source = FIRST_LEGAL.replace("return action", f"return ({KINDS})[np.sum(board) // 2 % 4]")
    row = judge(source, episodes=5, seed=7, seconds=np.float32(60))
    check_same(row, evaluate(LOWEST, "Tiles2048-v0", episodes=5, seed=7))


@pytest.mark.parametrize("side", ["X", "O", "both"])
@pytest.mark.parametrize("limit", [{}, {"max_episode_steps": 3}])
def test_a_function_is_judged_by_its_source_and_its_side_wins_and_loses(side, limit):
    def free(board):
        return min(3 * r + c for r in range(3) for c in range(3) if not board[r][c])

    options = {"side": side, **limit}
    row = judge(free, "TicTacToe-v0", 50, 1, seconds=10**12, env_kwargs=options)
    assert row["agent"] == "free"
    assert row["win"] or limit
    check_same(row, evaluate(LOWEST, "TicTacToe-v0", options, 50, 1))


def test_a_limit_of_steps_counts_illegal_ones_and_ends_a_sliding_game():
    options = {"max_episode_steps": 8}
    row = judge("def strategy(board): return 'left'", "Tiles2048-v0", 20, 1, env_kwargs=options)
    same = evaluate(Stubborn(3), "Tiles2048-v0", options, 20, 1)
    assert row["illegal"] > 0
    assert (row["quantiles"], row["reach"]) == (same["quantiles"], same["reach"])


def sends(content):
    return f"import os, sys; os.write(int(sys.argv[2]), {content!r})"


ESCAPE = "import ctypes; ctypes.CDLL(None).prctl(1, 0); ctypes.CDLL(None).setsid()"
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


def process_ids():
    return {process.pid for process in psutil.process_iter()}


def check_nothing_is_left(before):
    """Fail if a process of a submission that has begun after some others still runs.

    Those of another test at the same time have its process above them.
    """
    left = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess):
            if process.pid not in before and confined.__file__ in process.cmdline():
                above = (p for p in process.parents() if confined.__file__ not in p.cmdline())
                left += [process] * (next((p.pid for p in above), 1) in (1, os.getpid()))
    assert not left


@pytest.mark.linux
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_strategy_gives_a_row_and_leaves_nothing_running(name, tmp_path):
    body, failure = HOSTILE[name]
    tmp_path.chmod(0o777)
    body = body.replace("PATH", repr(str(tmp_path / "file")))
    before = process_ids()
    limits = {"seconds": 1.0 if "loops" in name else 30.0, "memory": 128 * MIB}
    row = judge(f"def strategy(board):\n    {body}", episodes=4 if failure is None else 1, **limits)
    assert row["failed"] == (failure is not None)
    if failure is None:
        assert row["failure"] is None
        assert row["illegal"] >= row["repeated"] + 4 >= 4 * 9
    else:
        assert re.search(failure, row["failure"]), row["failure"]
    assert not (tmp_path / "file").exists() or not (tmp_path / "file").stat().st_size
    check_nothing_is_left(before)


@pytest.mark.linux
def test_a_strategy_takes_no_more_memory_than_stated():
    """It answers with the MiB that it could take."""
    take = """
def strategy(board):
    taken = []
    try:
        while len(taken) < 400:
            taken.append(bytearray(1 << 20))
    except MemoryError:
        pass
    raise ValueError(len(taken))
"""
    failure = judge(take, episodes=1, seconds=60, memory=200 * MIB)["failure"]
    assert 100 < int(failure.split()[1]) <= 200


ANSWER = """I have an idea:
```text
up
```
and this is it:

```python
def strategy(board):
    return "left"
```
"""


def test_the_last_fenced_block_of_an_answer_is_judged_and_an_error_has_its_line():
    row = judge(ANSWER, episodes=2, seconds=60)
    assert (row["failed"], row["illegal"] >= 20) == (0, True)
    row = judge(ANSWER.replace('"left"', "1 / 0"), episodes=4)
    assert "(strategy, line 2)" in row["failure"]
    assert (row["failed"], row["episodes"]) == (3, 3)
    assert row["agent"] == "strategy, stopped with 1 game left"
    assert "SyntaxError" in judge("This is no program.", episodes=1)["failure"]


def test_secrets_of_the_environment_are_not_seen_and_time_is_bounded_by_the_kernel(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    told = "resource.getrlimit(resource.RLIMIT_CPU)[1], sorted(os.environ)"
    source = f"import os, resource\ndef strategy(board): raise ValueError({told})"
    failure = judge(source, episodes=1, seconds=5)["failure"]
    assert failure.startswith("ValueError: (70, [")
    assert "OPENAI" not in failure


def test_libraries_of_an_environment_that_is_private_are_found(tmp_path):
    venv.create(tmp_path / "private", symlinks=True)
    (site,) = (tmp_path / "private" / "lib").glob("python*/site-packages")
    (site / "word.py").write_text("WORD = 'up'")
    (site / "others.pth").write_text("\n".join([str(ROOT), *filter(None, sys.path)]))
    (tmp_path / "strategy.py").write_text("import word\ndef strategy(board): return word.WORD")
    (tmp_path / "private").chmod(0o700)
    program = "from baselines import judge; print(judge(open('strategy.py').read(), episodes=1))"
    python = str(tmp_path / "private" / "bin" / "python")
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert "illegal 10" in done.stdout, done.stderr


@pytest.mark.linux
def test_a_strategy_sees_no_other_process_or_the_warning_says_so(capsys):
    submissions._warn.cache_clear()
    look = "raise ValueError((*filter(str.isdigit, os.listdir('/proc')),))"
    row = judge(f"import os\ndef strategy(board): {look}", episodes=1)
    if "sight of other processes" not in capsys.readouterr().err:
        assert row["failure"] == "ValueError: ('1', '2') (strategy, line 2) (game 1)"


@pytest.mark.parametrize("games", [0, 2])
def test_games_that_have_ended_before_an_interruption_are_a_row(monkeypatch, games):
    seeds = judging.game_seeds(7, 5)

    class Interrupting(judging.Played):
        def __init__(self, env, seed):
            if seed == seeds[games]:
                raise Interrupted(signal.SIGTERM)
            super().__init__(env, seed)

    monkeypatch.setattr(judging, "Played", Interrupting)
    with pytest.raises(Interrupted) as stopped:
        judge(FIRST_LEGAL, episodes=5, seed=7, seconds=60, name="first")
    assert stopped.value.number == signal.SIGTERM
    if not games:
        assert str(stopped.value) == "stopped without a result: no game has ended."
        return
    row = stopped.value.row
    assert isinstance(stopped.value, Stopped)
    assert len(stopped.value.record.returns) == 2
    assert row["agent"] == "first, stopped"
    check_same(row, evaluate(LOWEST, "Tiles2048-v0", episodes=2, seed=7))


def test_time_is_that_of_a_game_and_other_games_go_on():
    slow = "import time\nn = 0\ndef strategy(board):\n    global n; n += 1\n"
    slow += "    time.sleep(60 * (n > 12)); return 'wasd'[n % 4]"
    row = judge(slow, episodes=2, seconds=1)
    assert row["failed"] == 2
    assert row["failure"] == "it has used up its seconds (game 1)"
    assert row["mean"] > 0


def test_the_command_judges_a_file_and_says_what_failed(tmp_path):
    path, rows = tmp_path / "corner.py", tmp_path / "rows.json"
    late = "n.append(0); return 1 / 0 if n[30:] else 'a'"
    path.write_text(f"n = []\ndef strategy(board): {late}\n", encoding="utf-8-sig")
    printed = typed("evaluate", path, "--episodes", 5, "--seconds", 3, "--out", rows)
    assert re.search(r"(?s)corner\.py on.*ZeroDivisionError", printed)
    assert '"repeated"' in rows.read_text()
