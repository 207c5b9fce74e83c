"""Compiled code is kept on disk under a name that covers everything that is frozen into it."""

import os
import shutil

import pytest
from commands import ROOT, python

from tile_envs.base.compiled import digest, package_of

PUSH = """
import sys, time
import numpy as np
from tile_envs.base.compiled import announced, compiled_loop
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.sliding.packed.kernels import (game_tables, push, rows_of)

@compiled_loop
def rewards(game, rows):
    paid = np.zeros(4, np.uint64)
    for action in range(4):
        lines = rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3]
        paid[action] = push(game, np.uint64(action), *lines).reward
    return paid

game = SlidingGame(RULES_2048)
board = np.full((1, 4, 4), 10, np.uint8)
with announced("rewards"):
    paid = rewards(game_tables(game), rows_of(game, board))
    time.sleep(len(sys.argv) - 1)
assert paid.tolist() == game.afterstates(board)[1][0].tolist(), paid
print(sum(rewards.stats.cache_hits.values()))
"""


def test_where_no_code_can_be_kept_it_is_compiled_with_one_warning(tmp_path):
    (tmp_path / "loop.py").write_text(PUSH, encoding="utf-8")
    (tmp_path / "__pycache__").touch()  # a file, so no folder
    for named in ("/dev/null/cache", ""):
        places = {"NUMBA_CACHE_DIR": named, "HOME": os.devnull, "PYTHONPATH": str(ROOT)}
        done = python("loop.py", cwd=tmp_path, env=os.environ | places)
        assert done.stdout == "0\n"
        assert done.stderr.count("compiled code cannot be kept") == 1


def test_the_name_of_compiled_code_stands_for_all_files_of_a_users_package(tmp_path):
    inner, names = tmp_path / "mine" / "inner", set()
    inner.mkdir(parents=True)
    for text in ("N = 1", "N = 2"):
        for path in (inner.parent / "__init__.py", inner / "__init__.py", inner / "numbers.py"):
            path.write_text(text)
            digest.cache_clear()
            names.add(digest(package_of(inner / "loops.py")))
    assert len(names) == 6


def test_after_an_edit_of_the_tables_no_old_code_runs(tmp_path):
    """Nor does what is damaged on disk; old code would read the new rewards at the wrong bit."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tile_envs", tmp_path / "tile_envs", ignore=ignored)
    (tmp_path / "loop.py").write_text(PUSH, encoding="utf-8")
    cache = tmp_path / "cache"

    def is_kept(*words):
        """Run the loop; return whether its code was found on disk, and what was told."""
        cached = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        done = python("loop.py", *words, cwd=tmp_path, env=cached)
        return done.stdout == "1\n", "compiling rewards" in done.stderr

    assert is_kept("slowly") == (False, True)
    assert is_kept("slowly") == (True, False)
    for suffix in ("nbi", "nbc"):
        for path in cache.rglob(f"*.{suffix}"):
            path.write_bytes(path.read_bytes()[:10])
        assert not is_kept()[0]
    assert is_kept()[0]
    tables = tmp_path / "tile_envs" / "sliding" / "packed" / "tables.py"
    text = tables.read_text(encoding="utf-8")
    assert text.count("REWARD_SHIFT, REWARD_MASK = LINE_BITS + 5,") == 1
    tables.write_text(text.replace("LINE_BITS + 5,", "LINE_BITS + 4,"), encoding="utf-8")
    assert not is_kept()[0]


BOUNDED = (
    "both_engines_play or playouts_are_the_written or games_in_turn_teach or carousel_plays or "
    "goes_on_after_the_goal and 2048 or threads_change_no_bit and 2584 or "
    "does_as_plain_python_does and restart-tc"
)
FILES = "engines", "mcts", "learners", "ntuple", "expectimax"


@pytest.mark.slow
def test_no_loop_of_engines_learners_and_searches_leaves_its_arrays(tmp_path):
    """All but the hand-written instructions: numba checks no index of those."""
    bounded = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    files = [next((ROOT / "tests").rglob(f"test_{name}.py")) for name in FILES]
    python("-m", "pytest", "-q", "-n", "2", "-k", BOUNDED, *files, cwd=ROOT, env=bounded)
    assert list(tmp_path.rglob("*.play_all-*.nbi")), "code without checks was taken from a cache"
