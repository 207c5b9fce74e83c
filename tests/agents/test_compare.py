"""Agents that are compared: in what the runs play, as the same sides, and stopped halfway."""

import json
import re

import numpy as np
import pytest
from commands import command, refused, typed
from players import Interrupting

from baselines.commands.watch import games_of
from baselines.evaluation import sampled
from baselines.evaluation.comparison import Result, differences
from baselines.evaluation.rows import read_rows
from baselines.evaluation.sampled import play as play_games
from tile_envs.tictactoe import TicTacToe

QUICK = ("--episodes", 20)
SMALL = ("--env", "Tiles2048-v0", "--env-kwargs", '{"shape": [2, 2]}')


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of short runs: of both sides, and of X alone."""
    folder = tmp_path_factory.mktemp("runs")
    for name, options in {"both": (), "x": ("--side", "X")}.items():
        typed("train", "qtable", "--games", 2000, *options, "--out", folder / name)
    return folder


def rows_of(*words, out):
    typed(*words, *QUICK, "--out", out)
    return json.loads(out.read_text())


@pytest.mark.parametrize(("words", "sides"), [("", "XO"), ('--env-kwargs {"side":"O"}', "O")])
def test_all_agents_are_compared_as_the_same_sides(runs, tmp_path, words, sides):
    out, words = tmp_path / "rows.json", words.split()
    rows = rows_of("compare", "random", runs / "both", "minimax", *words, out=out)
    assert [row["side"] for row in rows] == [*3 * sides]
    assert [row["side"] for row in rows_of("evaluate", runs / "both", *words, out=out)] == [*sides]


def test_an_agent_that_cannot_play_a_side_is_named_before_the_first_game(runs):
    for words in (("compare", runs / "x", runs / "both"), ("watch", runs / "x", "--side", "O")):
        assert "was not trained to play O" in refused(*words)
    (game,) = games_of(str(runs / "both"), 0, "O")
    assert np.count_nonzero(game.playthrough.position.observation == -1) == 1


ENDS = [(("compare", "random"), 60, 2), (("evaluate",), 2, 1), (("evaluate",), 60, 2)]


@pytest.mark.parametrize(("words", "moves", "n_rows"), ENDS)
def test_an_interrupt_loses_no_row(runs, tmp_path, monkeypatch, words, moves, n_rows):
    """Of the second row: before its first game has ended, and later."""
    players = iter((lambda agent: agent, lambda agent: Interrupting(TicTacToe(), moves)))

    def play(agent, *arguments, **options):
        return play_games(next(players)(agent), *arguments, **options)

    monkeypatch.setattr(sampled, "play", play)
    monkeypatch.setattr(sampled, "N_ENVS", 1)
    out = tmp_path / "rows.csv"
    done = command(*words, runs / "both", *QUICK, "--out", out)
    assert done.returncode == 130
    whole, *others = read_rows(out)
    assert (whole["side"], whole["episodes"], len(others)) == ("X", "20", n_rows - 1)
    assert all(row["agent"].endswith(", stopped") for row in others)
    assert all(row["agent"] in done.stdout for row in others)


def test_named_agents_play_every_task_of_the_runs(tmp_path):
    spawns = ('{"2": 1.0}', '{"2": 0.5, "4": 0.5}')
    for n, spawn in enumerate(spawns):
        kwargs = f'{{"shape": [2, 2], "spawn": {spawn}}}'
        words = ("--env", "Tiles2048-v0", "--env-kwargs", kwargs, "--games", 10)
        typed("train", "qtable", *words, "--out", tmp_path / str(n))
    (tmp_path / "none").mkdir()
    folders = [tmp_path / name for name in ("0", "1", "none")]
    rows = rows_of("compare", *folders, "greedy", out=tmp_path / "rows.json")
    greedy = [row["env_kwargs"]["spawn"] for row in rows if row["agent"] == "greedy"]
    assert greedy == [json.loads(spawn) for spawn in spawns]
    assert "none holds no run: give" in refused("compare", tmp_path / "none")


def test_many_games_of_few_networks_claim_nothing_about_their_settings():
    """Two settings do not differ; their networks do, and 20,000 games tell that for certain."""
    rng, results = np.random.default_rng(3), []
    for n, mean in enumerate(rng.normal(900, 50, 10)):
        returns = rng.normal(mean, 300, 20_000)
        row = {"agent": "ab"[n // 5], "mean": returns.mean(), "env_kwargs": {}}
        results.append(Result(row, row["agent"], returns, {"train_seed": n % 5}))
    over_seeds, of_networks = differences(results)
    assert re.search(r"\(-\S+ to \d\S+\) over seeds, paired.* about \d+ more seeds", over_seeds)
    assert re.search(r"\(\d\S+ to \d\S+\) over games", of_networks)
    assert "of these networks" in differences([results[0], results[5]])[0]


def test_exact_results_are_compared_over_seeds(tmp_path):
    out, runs = tmp_path / "rows.csv", [tmp_path / name for name in ("a3", "a4", "b3", "b4")]
    for run, rate in zip(runs, (0.1, 0.1, 0.5, 0.5), strict=True):
        words = ("--games", 500, "--learning-rate", rate, "--seed", run.name[1], *SMALL)
        typed("train", "qtable", *words, "--out", run)
    said = typed("compare", *runs, "optimal", "--exact", "--out", out)
    *rows, a, b = read_rows(out)
    noted = [(row["path"], row["train_seed"]) for row in rows]
    assert noted == [*((str(run), run.name[1]) for run in runs), ("", "")]
    assert json.loads(rows[2]["settings"])["learning_rate"] == 0.5
    shares = [float(row["share"]) for row in rows[:2]]
    assert 0 <= float(a["share_low"]) <= np.mean(shares) <= float(a["share_high"]) <= 1
    assert (a["interval_of"], b["interval_of"]) == ("mean", "mean")
    assert said.count("over seeds") == 2  # from the optimum
