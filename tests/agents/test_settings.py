"""Settings that were made in Python, and those of the users' learners."""

from dataclasses import dataclass

import pytest

from baselines.settings import read_settings
from baselines.tabular.qtable import QTable, QTableSettings
from tile_envs.tictactoe import TicTacToe


def test_a_learner_checks_settings_that_were_made_in_python():
    with pytest.raises(ValueError, match=r"n_envs .* -1"):
        QTable(TicTacToe(), 0, QTableSettings(n_envs=-1))


def test_settings_of_the_users_are_plain_dataclasses_and_lists_become_tuples():
    @dataclass
    class Mine:
        rate: float = 0.5
        cells: tuple[str, ...] = ()

    assert read_settings(Mine, {"cells": ["a"], "rate": 1}) == Mine(1.0, ("a",))
    with pytest.raises(ValueError, match=r"rate .* 'fast'"):
        read_settings(Mine, {"rate": "fast"})
