"""Compiled code is kept on disk under a name that covers everything that is frozen into it."""

import os
import shutil

import pytest
from commands import ROOT, in_a_process, python

from tile_envs.base.compiled import digest, package_of

PUSH = """
import numpy as np
from tile_envs.base.compiled import compiled_loop
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
paid = rewards(game_tables(game), rows_of(game, board))
assert paid.tolist() == game.afterstates(board)[1][0].tolist(), paid
print(sum(rewards.stats.cache_hits.values()), paid)
"""


def run(folder):
    """Return whether compiled code was found on disk, and the rewards."""
    cache = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    hits, _, printed = python("loop.py", cwd=folder, env=cache).stdout.partition(" ")
    return hits == "1", printed


@pytest.mark.parametrize("named", ["/dev/null/cache", ""])
def test_where_no_code_can_be_kept_it_is_compiled_with_one_warning(named, tmp_path):
    (tmp_path / "loop.py").write_text(PUSH, encoding="utf-8")
    (tmp_path / "__pycache__").touch()  # a file, so no folder
    places = {"NUMBA_CACHE_DIR": named, "HOME": os.devnull, "PYTHONPATH": str(ROOT)}
    done = python("loop.py", cwd=tmp_path, env=os.environ | places)
    assert done.stdout.startswith("0 ")
    assert done.stderr.count("compiled code cannot be kept") == 1


def test_without_a_compiler_networks_are_refused_in_a_line():
    words, uncompiled = ("-m", "baselines", "evaluate"), os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = in_a_process(*words, "strong", env=uncompiled)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unset NUMBA_DISABLE_JIT" in done.stderr
    assert "mean" in python(*words, "random", "--episodes", 2, env=uncompiled).stdout


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


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_what_is_damaged_on_disk_is_compiled_anew(suffix, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "loop.py").write_text(PUSH, encoding="utf-8")
    compiled_anew = run(tmp_path)
    for path in (tmp_path / "cache").rglob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:10])
    assert run(tmp_path) == compiled_anew
    assert run(tmp_path) == (True, compiled_anew[1])


def test_after_an_edit_of_the_tables_no_old_code_runs(tmp_path):
    """Old code would read the rewards of the new tables at the wrong bit."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tile_envs", tmp_path / "tile_envs", ignore=ignored)
    (tmp_path / "loop.py").write_text(PUSH, encoding="utf-8")
    compiled_anew = run(tmp_path)
    assert not compiled_anew[0]
    assert run(tmp_path) == (True, compiled_anew[1])
    tables = tmp_path / "tile_envs" / "sliding" / "packed" / "tables.py"
    text = tables.read_text(encoding="utf-8")
    assert text.count("REWARD_SHIFT, REWARD_MASK = LINE_BITS + 5,") == 1
    tables.write_text(text.replace("LINE_BITS + 5,", "LINE_BITS + 4,"), encoding="utf-8")
    assert run(tmp_path) == compiled_anew


BOUNDED = (
    "both_engines_play or playouts_are_the_written or games_in_turn_teach or carousel_plays or "
    "set_of_sums or goes_on_after_the_goal and 2048 or threads_change_no_bit and 2584 or "
    "does_as_plain_python_does and restart-tc"
)
FILES = ("engines", "mcts", "small_learners", "ntuple", "expectimax")


@pytest.mark.slow
def test_no_loop_of_engines_learners_and_searches_leaves_its_arrays(tmp_path):
    """All but the hand-written instructions: numba checks no index of those."""
    bounded = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    files = (f"tests/test_{name}.py" for name in FILES)
    python("-m", "pytest", "-q", "-n", "2", "-k", BOUNDED, *files, cwd=ROOT, env=bounded)
    assert list(tmp_path.rglob("*.play_all-*.nbi")), "code without checks was taken from a cache"
