"""`python -m tile_envs.check` finds everything equal, and any difference makes it fail."""

import sys

import gymnasium as gym
import pytest
from commands import ROOT, python

from tile_envs import check
from tile_envs.games import ids
from tile_envs.tictactoe import TicTacToe

WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None  # as if it were not installed
from tile_envs import check
sys.argv[1:] = []
sys.exit(check.main())
"""


def test_each_game_of_the_package_is_the_same_whatever_plays_it():
    _, *rows, last = python("-c", WITHOUT_NUMBA, cwd=ROOT).stdout.splitlines()
    assert last == "Everything is equal, and as on every machine."
    found = {row.split()[0]: " ".join(row.split()[2:]) for row in rows}
    assert found == dict.fromkeys(check.HASHES, "9,600 equal not installed equal")
    assert {*found} == {each for each in ids() if "rules" not in gym.spec(each).kwargs}


def test_any_difference_makes_it_fail(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check"])
    monkeypatch.setattr(check, "HASHES", {"TicTacToe-v0": "0" * 16})
    monkeypatch.setattr(check, "difference", lambda *_: "rewards of step 7")
    monkeypatch.setattr(check, "WAYS", {way: {} for way in "abc"})
    assert check.main() == 1
    told = capsys.readouterr().out
    assert told.count("differs ") + told.count("differs\n") == 6  # in the table, and below it
    assert "f680fd872ba83604, not 0000000000000000" in told


@pytest.mark.parametrize("way", ["numpy", "single games"])
def test_another_game_is_told_apart(way):
    envs = gym.make_vec("TicTacToe-v0", check.N, **check.WAYS[way])
    assert check.difference(TicTacToe(), envs) == ""
    assert check.difference(TicTacToe("minimax"), envs) == "observations of step 1"
