"""Compiled code is kept on disk under a name that covers everything that is frozen into it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tile_envs.base.compiled import digest, package_of

ROOT = Path(__file__).parent.parent

PUSH = """
import numpy as np
from tile_envs.base.compiled import compiled_loop
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.sliding.kernels import (game_tables, push, rows_of)

@compiled_loop
def rewards(game, rows):
    paid = np.zeros(4, np.uint64)
    for action in range(4):
        lines = rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3]
        paid[action] = push(game, np.uint64(action), *lines).reward
    return paid

game = SlidingGame(RULES_2048)
board = np.full((1, 4, 4), 10, np.uint8)
paid = rewards(game_tables(game), rows_of(game, board))
assert paid.tolist() == game.afterstates(board)[1][0].tolist(), paid
print(sum(rewards.stats.cache_hits.values()), paid)
"""

PLAY_OUT = """
import numpy as np
from baselines.search import mcts
from tile_envs.base import random_stream

words = random_stream.mix(random_stream.ahead(np.uint64(7), 60))
known = mcts.solve()
rules = mcts._nodes()[1], known.legal, known.to_move, known.winner
interpreted, compiled = np.zeros((2, 2, 3**9), np.int64)
play_out = mcts._compiled()
mcts.play_out(0, words, 2.0, *interpreted, *rules)
play_out(0, words, 2.0, *compiled, *rules)
assert np.array_equal(interpreted, compiled)
print(sum(play_out.stats.cache_hits.values()), compiled[0, 1], compiled[0, 3**8])
"""


@pytest.fixture
def copied(tmp_path):
    for package in ("tile_envs", "baselines"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    return tmp_path


def run(folder, script):
    """Return whether compiled code was found on disk, and what the script printed besides."""
    loop = folder / "loop.py"
    if not loop.exists():  # numba may ask when it was written
        loop.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "loop.py"],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    hits, _, printed = done.stdout.partition(" ")
    return hits == "1", printed


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_name_of_compiled_code_stands_for_all_files_of_a_users_package(tmp_path):
    names = set()
    for text in ("N = 1", "N = 2"):
        for file in ("__init__", "inner/__init__", "inner/numbers"):
            path = (tmp_path / "mine" / file).with_suffix(".py")
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
            digest.cache_clear()
            names.add(digest(package_of(tmp_path / "mine" / "inner" / "loops.py")))
    assert len(names) == 6


def test_after_an_edit_of_the_tables_no_old_code_runs(copied):
    """Old code would read the rewards of the new tables at the wrong bit."""
    compiled_anew = run(copied, PUSH)
    assert not compiled_anew[0]
    assert run(copied, PUSH) == (True, compiled_anew[1])
    tables = copied / "tile_envs" / "sliding" / "tables.py"
    edit(tables, "REWARD_SHIFT, REWARD_MASK = 25,", "REWARD_SHIFT, REWARD_MASK = 24,")
    assert run(copied, PUSH) == compiled_anew


def test_after_an_edit_of_the_positions_mcts_runs_no_old_code(copied):
    before = run(copied, PLAY_OUT)
    positions = copied / "tile_envs" / "tictactoe" / "positions.py"
    from_the_end = '(CELLS - 1 - np.argsort(-_MEMBERS[:, ::-1], axis=1, kind="stable"))'
    edit(positions, 'np.argsort(-_MEMBERS, axis=1, kind="stable")', from_the_end)
    after = run(copied, PLAY_OUT)
    assert not before[0]
    assert not after[0]
    assert before[1] != after[1]
