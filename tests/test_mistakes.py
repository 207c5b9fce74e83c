"""Mistakes: one line that names the option and the value; nothing is written or has changed."""

import json
import os
import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numba
import numpy as np
import pytest
import torch
from commands import in_a_process, python, refused
from gymnasium.utils.env_checker import data_equivalence
from placers import LastCell
from players import Stubborn

from baselines import evaluate, evaluate_exactly, judge, load, questions, regret, solve, train
from baselines.agents import GreedyAgent, Task, game_from_json
from baselines.arrays import write_arrays
from baselines.deep.dqn import DQNLearner, DQNSettings
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.neural import Neural
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax
from baselines.search.mcts import MCTSAgent
from baselines.search.minimax import MinimaxAgent
from baselines.search.options import SearchOptions
from baselines.search.placing import ValuePlacer
from baselines.settings import read_settings
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.tabular.value_table import ValueTable, ValueTableSettings
from baselines.training.run_folder import lock_folder
from tile_envs import check, seeds, wrappers
from tile_envs.base import vector_env
from tile_envs.files import write_file
from tile_envs.rendering.canvas import picture_grid
from tile_envs.replay import read
from tile_envs.sliding import (
    RULES_2048,
    RULES_2584,
    Rules,
    SlidingEnv,
    SlidingGame,
    SlidingVectorEnv,
    register_game,
)
from tile_envs.sliding.packed.kernels import game_tables
from tile_envs.text import describe_actions, parse, read_board, show, show_hex
from tile_envs.tictactoe import TicTacToe, transitions
from tile_envs.wrappers import PenalizeIllegal, ShapeReward

SMALL = {"shape": (2, 2)}
NESTED = '{"a":' + "[" * 600 + "]" * 600 + "}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the runs q, of a small board, and x, of one side, and other files."""
    folder = tmp_path_factory.mktemp("mistakes")
    train("qtable", "Tiles2048-v0", SMALL, games=10, n_envs=10, out=folder / "q")
    train("qtable", games=20, n_envs=10, seed=3, side="X", out=folder / "x")
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").touch()
    (folder / "corner.py").write_text("def strategy(board): return 1 / 0")
    return folder


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


SHAPE_TWICE = '--shape 2 3 --env-kwargs {"shape":[2,2]}'
SHAPED = ("train qtable --env Tiles2048-v0", "evaluate greedy", "compare greedy", "watch greedy")
SHAPED += ("record greedy --out r", "grade x", "solve", "best --board 2", "play --hints optimal")
COMMANDS = [
    ("train random", "'random' qtable ntuple"),
    ("train ntuple --side X", "2048 'X'"),
    ("train ntuple --method q", "--method 'q'"),
    ("train ntuple --minutes 0", "minutes 0.0"),
    ("train value_table --env Tiles2048-v0", "ValueTable 2048 4×4"),
    ("train ppo --n-envs 999999999999", "999,999,999,999"),
    ("train dqn --device cuda:99", "device cuda:99"),
    ('train qtable --env-kwargs {"side":"O"}', "side env_kwargs"),
    ("train qtable --env-kwargs {", "--env-kwargs '{'"),
    ("train qtable --env-kwargs " + "[" * 50_000, "--env-kwargs"),
    ("train qtable --env-kwargs " + NESTED, "--env-kwargs"),
    ("train qtable --games many", "--games"),
    ("train qtable --gmaes 5", "--gmaes 5 (perhaps --games)"),
    ("train qtable --opponent god", "--opponent random minimax minimax_first self"),
    ("train qtable --seeds 0", "seeds 0"),
    ("train qtable --seeds 2 --epsilon 7", "epsilon 7"),
    ("train qtable --test-every 0", "test_every 0"),
    ("train qtable --checkpoint-every -1", "checkpoint_every -1"),
    ("train qtable --resume --out none", "none"),
    ("train qtable --out x", "x --out --resume"),
    ("train value_table --resume --out x", "value_table qtable"),
    ("train qtable --resume --out x --epsilon 0.5 --seed 4", "epsilon 1.0 0.5 seed 3 4"),
    ("train qtable --resume --out x --seed 3 --preset published", "n_envs 10 1"),
    ("train qtable --resume --out x --games 10", "--games 10"),
    ("train qtable --resume --out x --minutes 1e-9", "--minutes 1e-09"),
    ("train qtable --resume --out x --side O", "sides ('X',) ('O',)"),
    ('train qtable --resume --out x --env-kwargs {"max_illegal":3}', "env_kwargs 'max_illegal': 3"),
    ("evaluate nobody", "'nobody' random greedy minimax"),
    ("evaluate qtable", "qtable trained folder"),
    ("evaluate baselines.tabular.qtable:QTable", "QTable trained"),
    (r"evaluate C:\runs\n", "C: random"),
    ("evaluate random --env Powers-v0", "Powers-v0 --import"),
    ("evaluate random --episodes 1000000000000", "1,000,000,000,000"),
    ("evaluate random --out /proc/rows.csv", "/proc"),
    ("evaluate random --out rows.txt", "rows.txt .csv .json"),
    ("evaluate random --side X", "tic-tac-toe"),
    ("evaluate random --exact", "shape"),
    ("evaluate random --seed -1", "seed -1"),
    ("evaluate random --search 2", "search values"),
    ("evaluate q --search 0", "search 0"),
    ("evaluate q --search 2 --milis 3", "--milis"),
    ("evaluate q --table 8", "table search"),
    ("watch q --search 2 --milliseconds 0", "milliseconds 0"),
    ("evaluate q --env Tiles2584-v0", "Tiles2048-v0 Tiles2584-v0"),
    ('evaluate q --agent-kwargs {"a":1}', "options"),
    ("evaluate x --exact --side O", "qtable O X"),
    ("evaluate x --side random", "qtable O X"),
    ("export q --out x", "x --out"),
    ("export q --out full", "full mine.txt --out"),
    ("evaluate optimal --placer-agent optimal --exact", "--placer-agent"),
    ("evaluate random --placer-depth 2", "--placer-agent"),
    ("evaluate random --placer-agent greedy", "action_values"),
    ('evaluate random --placer-agent optimal --env-kwargs {"placer":"random"}', "--placer-agent"),
    ('evaluate strong --env-kwargs {"shape":[3,3]}', "strong 3×3"),
    (
        'evaluate optimal --env-kwargs {"shape":[2,2]} --agent-kwargs {"solution":"none"}',
        "none solution",
    ),
    ("solve --env TicTacToe-v0", "sliding games"),
    ("solve --shape 1 3", "2 to 4"),
    ("solve --shape 2 2 --query none.txt", "none.txt"),
    ("solve --shape 2 2 --out full/mine.txt", "mine.txt file"),
    ("solve --shape 2 2 --goal 7", "7 2048"),
    ("solve --shape 2 2 --goal 8 --out o", "goal"),
    ("solve --questions 1 --query -", "--query --questions"),
    ("grade none", "none folder"),
    ("grade x --exact --shape 5 5", "5×5"),
    ('grade x --exact --env TicTacToe-v0 --env-kwargs {"side":"both"}', "side X O"),
    ("play", "--against"),
    ("play --against nobody", "'nobody'"),
    ("play --against random --learn", "random learn"),
    ("play --against random", "terminal"),
    ("play --hints greedy", "terminal"),
    ("play --against ntuple", "ntuple learn qtable"),
    ("play --hints random --against random", "--against"),
    ("play --against random --env Tiles2048-v0", "--hints"),
    # What is played, recorded, watched and drawn.
    ("evaluate corner.py --episodes 2", "ZeroDivisionError"),
    ("evaluate corner.py --exact", "corner.py strategy"),
    ("evaluate corner.py --milliseconds 5", "corner.py strategy"),
    ("evaluate corner.py --search 0", "corner.py strategy"),
    ("evaluate none.py", "none.py"),
    ('evaluate greedy --exact --env-kwargs {"max_episode_steps":7}', "max_episode_steps"),
    ("record random --out x", "x run"),
    ("record random --format npz --out full", "full .npz"),
    ("watch greedy", "terminal"),
    ("watch greedy --html x.htm", "x.htm .html"),
    ("watch greedy --gif no/x.gif", "no"),
    ("watch greedy --speed 51 --gif x.gif", "50 51"),
    ("watch greedy --window --gif x.gif", "--window --serve"),
    ("watch greedy --serve --port 65536", "port 65536"),
    ("watch full", "full"),
    ("watch x.json", "x.json"),
    ("watch full --env Tiles2048-v0", "full --env --side"),
    ("plot q --out y.png --against steps", "'timesteps' games seconds return"),
    ("plot q --out y.png --metric loss", "'loss' return"),
    ("plot q --out y.pdf", "y.pdf .png .svg"),
    ("plot full --out y.png", "full"),
    # Texts.
    ("best --board 2,4/2,0 --agent greedy", "action_values"),
    # envs: empty words are no absent ones
    ("solve --env=", "environment ''"),
    ("watch q --gif x.gif --env=", "--env"),
    ("solve --import=no_such_module", "no_such_module"),
    ("solve --import=", "--import"),
    ("evaluate :Agent", "module ''"),
    ("train qtable --games 1 --out=", "''"),
    ("compare none-*/best_model.zip", "none-*/best_model.zip"),
    ("compare random greedy --exact", "shape"),
    # runs and the command line
    ("train qtable --seeds 2 --out .", "--out '.'"),
    ("train qtable --seeds 2 --out a/..", "--out 'a/..'"),
    ("compare greedy --shape 9 9", "9 1 to 8"),
    *((f"{words} {SHAPE_TWICE}", "shape once") for words in SHAPED),
]


@pytest.mark.parametrize(("typed", "named"), COMMANDS)
def test_a_command_names_a_mistake(folder, typed, named, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "isatty", lambda _: False)
    before = files_of(folder)
    line = refused(*typed.split())
    assert not [name for name in named.split() if name not in line], line
    assert files_of(folder) == before


TILES, TILES_2584, MARKS = SlidingGame(RULES_2048), SlidingGame(RULES_2584), TicTacToe()
TC = {"method": "tc", "direction": "backward"}
PLACED = {"placer": LastCell(), "shape": (2, 2)}
NONE_AT_ONCE = SimpleNamespace(predict=max, games_at_once=0)
MAKES, COLORS = (gym.make, gym.make_vec), asdict(RULES_2048.palette)
BOARD, SYNC = (
    SlidingGame(RULES_2048, (2, 2)),
    gym.make_vec("TicTacToe-v0", vectorization_mode="sync"),
)
STAGES = {"stages": (64,), "late_stages": (96,)}


def network(game=TILES, **settings):
    return NTuple(game, 0, NTupleSettings(**{"network": "0123"} | settings))


def search(game=TILES, **options):
    return Expectimax(network(), game, **options)


def planes(make=gym.make):
    return wrappers.OneHotPlanes(make("Tiles2048-v0"))


def masked_dqn(env):
    return MaskedDQN("BoardPolicy", env)


def rules(**changes):
    merges = [(1, 1, 2), (2, 2, 3)]
    chain = {"faces": (0, 1, 2, 4, 8), "merges": merges, "spawn": {1: 1.0}, "goal": 4}
    return Rules(**{"name": "Chain"} | chain | changes)


def wrapped(names, make=gym.make, env="Tiles2048-v0"):
    """Put wrappers around each other, the first one innermost."""
    env = make(env)
    for name in names.split():
        given = {"PenalizeIllegal": (1,), "ShapeReward": ({"empty": 1.0}, 1)}.get(name, ())
        env = getattr(wrappers, name)(env, *given)
    return env


SYNC = partial(gym.make_vec, vectorization_mode="sync")


def masked(**options):
    return wrappers.MaskInObservation(gym.make("Tiles2048-v0"), **options)


EVALUATIONS = evaluate, evaluate_exactly
X_WON_O_MOVED = np.array([[[1, 1, 1], [-1, -1, -1], [0, 0, 0]]])
ASKED = [
    (of_boards, np.zeros((1, *game.shape), int))
    for game in (TILES, MARKS)
    for of_boards in (game.afterstates, game.legal_actions, game.replies)
] + [(MinimaxAgent(MARKS).predict, np.zeros((1, 3, 3), int))]
CALLS = [
    (lambda: read_settings(QTableSettings, {"n_envs": 0}), "n_envs 0"),
    (lambda: read_settings(QTableSettings, {"gamma": float("nan")}), "gamma nan"),
    (lambda: read_settings(QTableSettings, {"initial": float("inf")}), "initial inf"),
    (lambda: read_settings(QTableSettings, {"trice": 1}), "'trice' opponent"),
    (lambda: read_settings(ValueTableSettings, {"draw": 2}), "draw loss_weight 2"),
    (lambda: read_settings(NTupleSettings, {"method": "sarsa"}), "method 'td' 'tc' 'sarsa'"),
    (lambda: read_settings(NTupleSettings, {"trace_decay": 0.5}), "trace_decay direction"),
    (lambda: read_settings(DQNSettings, {"hidden": [1] * 100_000}), "hidden 16"),
    (lambda: read_settings(DQNSettings, {"device": "tpu"}), "device"),
    (lambda: read_settings(DQNSettings, {"buffer_size": 64}), "learning_starts buffer_size"),
    (lambda: network(network="0012"), "'0012' 4×4"),
    (lambda: network(network="0123456789"), "4,294,967,296"),
    (lambda: network(stages=(3_000_000,)), "stages 3,000,000"),
    (lambda: network(half_games=9, initial=1.0), "half_games initial 1.0"),
    (lambda: network(half_games=9, stages=(64,), stage_games=5), "stage_games half_games 9 5"),
    (lambda: network(stages=(64,), late_stages=(32,), **TC), "late_stages stages 32"),
    (lambda: network(**STAGES, stage_games=7, late_games=5, **TC), "late_games 7 5"),
    (lambda: network(late_stages=(96,), **TC), "late_games 0"),
    (lambda: network(SlidingGame(RULES_2048, (2, 3)), network="4x6"), "4x6 2×3"),
    (lambda: network(SlidingGame(RULES_2048, (5, 5))), "5×5 dqn"),
    (lambda: network(MARKS), "NTuple tic-tac-toe"),
    (lambda: Neural(TILES), "Neural 2048 4×4"),
    (lambda: QTable(MARKS, 0, QTableSettings(sequential=True)), "sequential"),
    (lambda: QTable(TILES), "4×4 GiB"),
    *((partial(kind, MARKS, sides=("Z",)), "side 'Z'") for kind in (QTable, ValueTable, Neural)),
    (lambda: search(milis=3), "'milis' milliseconds"),
    (lambda: search(deeper="3:4"), "deeper '3:4'"),
    (lambda: search(deeper={65: 3}), "deeper 65 64"),
    (lambda: search(deeper={3: 2}), "deeper 2 3"),
    (lambda: search(table=1 << 30, threads=2), "table 2"),
    (lambda: search(TILES_2584, downgrade=2584), "2584"),
    (lambda: search(SlidingGame(RULES_2048, placer=LastCell()), samples=3), "placer"),
    (lambda: search(MARKS), "tic-tac-toe"),
    (lambda: search(SlidingGame(RULES_2048, (2, 3))), "NTuple 4×4 2×3"),
    (lambda: ValuePlacer(GreedyAgent(TILES), TILES), "action_values"),
    (lambda: ValuePlacer(network(), MARKS), "sliding games"),
    (lambda: ValuePlacer(network(), TILES_2584), "NTuple 2048 2584"),
    (lambda: MCTSAgent(TILES), "TicTacToe-v0 2048"),
    (lambda: MCTSAgent(MARKS).predict(np.zeros((2, 3, 4), np.int8)), "(n, 3, 3)"),
    (lambda: DQNLearner(BOARD).predict(np.ones((1, 3, 3), np.uint8)), "boards (2, 2) (3, 3)"),
    (lambda: masked_dqn(gym.make("CartPole-v1")), "tile_envs CartPole"),
    (lambda: masked_dqn(gym.wrappers.FlattenObservation(gym.make("Tiles2048-v0"))), "(4, 4)"),
    (lambda: train("qtable", trice=1), "'trice' opponent"),
    (lambda: train("qtable", games=2.5), "games 2.5"),
    (lambda: train("qtable", preset="none"), "'none' qtable TicTacToe-v0"),
    (lambda: train("qtable", resume=True), "resume out"),
    (lambda: train("qtable", env_kwargs={"side": "O"}), "side env_kwargs"),
    (lambda: train("qtable", "Tiles2048-v0", PLACED, out="run"), "LastCell"),
    (lambda: train("qtable", "Tiles2048-v0", opponent="self"), "opponent 'self'"),
    (lambda: judge(5), "5"),
    (lambda: judge(len), "len source"),
    (lambda: judge("", episodes=0), "episodes 0"),
    (lambda: judge("", episodes=1, seconds=float("nan")), "seconds nan"),
    (lambda: judge("", episodes=1, seconds=True), "seconds True"),
    (lambda: judge("", "Chess-v0"), "'Chess-v0'"),
    (lambda: judge(lambda board: "left", episodes=1), "lambda"),
    (lambda: evaluate("random", "CartPole-v1"), "'CartPole-v1'"),
    (lambda: evaluate("random", gym.make("CartPole-v1")), "'CartPole-v1'"),
    (lambda: evaluate("random", planes()), "OneHotPlanes"),
    (lambda: evaluate_exactly("random", planes(gym.make_vec)), "OneHotPlanes"),
    (lambda: load("random", 3), "env 3"),
    (lambda: train("qtable", 3), "env 3"),
    (lambda: evaluate(GreedyAgent(TILES)), "env"),
    (lambda: evaluate(QTable, "Tiles2048-v0"), "QTable trained"),
    (lambda: evaluate(int, "Tiles2048-v0"), "predict"),
    (lambda: load("strong", "TicTacToe-v0"), "tic-tac-toe"),
    (lambda: solve("Tiles2584-v0"), "solved"),
    (lambda: solve(SlidingGame(RULES_2584, (3, 4))), "smaller shape"),
    (lambda: regret("random", "TicTacToe-v0"), "tic-tac-toe"),
    (lambda: regret(GreedyAgent(TILES)), "env"),
    (lambda: questions("TicTacToe-v0"), "TicTacToe"),
    (lambda: questions("Tiles2048-v0", 999, env_kwargs=SMALL), "2×2 n=999"),
    # What is played.
    (lambda: judge(Stubborn(3).predict, episodes=1), "Stubborn.predict source"),
    (lambda: evaluate(Stubborn(2.9), "TicTacToe-v0"), "actions float64"),
    (lambda: evaluate(Stubborn(9), "TicTacToe-v0"), "actions 9"),
    (lambda: evaluate(Stubborn(-1), "TicTacToe-v0"), "actions -1"),
    (lambda: evaluate(NONE_AT_ONCE, "TicTacToe-v0"), "games_at_once 0"),
    (lambda: evaluate(GreedyAgent(TILES), "Tiles2584-v0"), "GreedyAgent 2048 2584"),
    (lambda: evaluate_exactly(GreedyAgent(TILES), "Tiles2048-v0", SMALL), "4×4 2×2"),
    # Seeds, games and rules.
    *((partial(seeds, seed, 1), f"seed {seed}") for seed in (-1, 2**32)),
    *((partial(seeds, 0, n), f"n {n}") for n in (0, 2**32 + 1)),
    *((partial(game_from_json, text), "game") for text in ("[]", '{"color": 1}')),
    (lambda: game_from_json('{"rules": 3}'), "rules"),
    (lambda: game_from_json('{"side": "Z"}'), "side 'Z'"),
    (lambda: game_from_json("{"), "Expecting"),
    (lambda: game_tables(SlidingGame(RULES_2048, placer=LastCell())), "LastCell"),
    (lambda: transitions(LastCell()), "opponent 'random' LastCell"),
    *((partial(rules, faces=faces), "faces") for faces in (range(33), (0, 1.5, 2), 5, (0, 2, 2))),
    (lambda: rules(faces=iter((0, 2, 2))), "faces"),
    (lambda: rules(faces=(0, 1, 2**63)), "9223372036854775808"),
    (lambda: rules(merges=5), "merge 5"),
    (lambda: rules(merges=[(1, 1, 9)]), "1 4 (1, 1, 9)"),
    (lambda: rules(merges=[(1, 1, 2), (1, 1, 3)]), "tiles 1"),
    (lambda: rules(spawn={3: 1.0}), "3 tile Chain"),
    (lambda: rules(spawn={1: 0.5}), "spawn"),
    (lambda: rules(goal=None), "None tile Chain"),
    (lambda: rules(name=""), "name"),
    (lambda: rules(palette=COLORS | {"tiles": ["#123456"]}), "5 tiles"),
    (lambda: rules(palette=COLORS | {"page": "red"}), "'red'"),
    (lambda: register_game("Tiles2048-v0", rules()), "Tiles2048-v0 registered"),
    *((lambda m=m: m("Tiles2048-v0", rules=rules()), "2048 'Chain'") for m in MAKES),
    *((kind, "rules None") for kind in (SlidingEnv, SlidingVectorEnv)),
    # Texts, replays and pictures.
    (lambda: read_board(BOARD, "2 4 8"), "2 rows faces 8'"),
    (lambda: read_board(BOARD, "2 4 / 8 3"), "'3' 2048"),
    (lambda: read_board(BOARD, "ffff0"), "'ffff0'"),
    *((partial(read_board, BOARD, x), "2 rows") for x in ([[2.0, 4], [8, 2]], [[2, 4], [8]], None)),
    (lambda: read_board(MARKS, "X X X / O O O / 6 7 8"), "play can lead to"),
    (lambda: read_board(MARKS, "X 2 1 / 3 4 5 / 6 7 8"), "3 rows cells"),
    *((partial(show, BOARD, x), "board") for x in ([[1, 2]], [[1, 99], [0, 0]], "2 4", None)),
    (lambda: show_hex(BOARD, [[16, 0], [0, 0]]), "65536"),
    (lambda: show_hex(MARKS, np.zeros((3, 3), int)), "tic-tac-toe"),
    *((partial(BOARD.indices, [[2, face]]), f"{face} tile 2048") for face in (7, 2.0, -2)),
    *((partial(BOARD.faces, [tile]), "tile indices") for tile in (-1, 18, 1.0)),
    (lambda: parse(TILES, "up", match="any"), "'any'"),
    (lambda: describe_actions([1, 0, 1]), "4 or 9"),
    (lambda: read("none.json"), "none.json"),
    (lambda: picture_grid(()), "pictures"),
    # Wrappers.
    (lambda: wrapped("MaskInObservation FlatObservation"), "before MaskInObservation"),
    (lambda: wrapped("FlatObservation OneHotPlanes"), "wrappers"),
    (lambda: wrapped("OneHotPlanes OneHotPlanes"), "one-hot planes"),
    (lambda: wrapped("PenalizeIllegal OneHotPlanes PenalizeIllegal"), "around PenalizeIllegal"),
    (lambda: wrapped("PenalizeIllegal Log2Reward"), "around PenalizeIllegal"),
    (lambda: wrapped("ShapeReward Log2Reward"), "around ShapeReward"),
    (lambda: wrapped("Log2Reward Log2Reward", gym.make_vec), "around Log2Reward"),
    (lambda: wrapped("ReplaceIllegal ReplaceIllegal", gym.make_vec), "around ReplaceIllegal"),
    (lambda: wrapped("ReplaceIllegal", env="CartPole-v1"), "tile_envs"),
    (lambda: wrapped("AfterstatesInObservation", env="CartPole-v1"), "tile_envs"),
    (lambda: wrapped("MaskInObservation", env="Pendulum-v1"), "Discrete"),
    (lambda: wrapped("Log2Reward", env="TicTacToe-v0"), "sliding games"),
    (lambda: wrapped("ShapeReward", gym.make_vec, env="TicTacToe-v0"), "sliding games"),
    (lambda: wrappers.ShapeReward(gym.make("Tiles2048-v0"), {"empty": 1.0}, 1.1), "gamma 1.1"),
    (lambda: wrappers.ShapeReward(gym.make("Tiles2048-v0"), {"full": 1}, 1), "potential 'full'"),
    (lambda: wrappers.PenalizeIllegal(gym.make("Tiles2048-v0"), -1), "penalty -1"),
    (lambda: masked(mask_dtype="float64"), "mask_dtype"),
    (lambda: masked(mask_key="observation"), "mask_key"),
    (lambda: masked(mask_space="Discrete"), "'Discrete'"),
    (lambda: masked(mask_dtype=np.float32, mask_space="MultiBinary"), "MultiBinary float32"),
    (lambda: wrapped("ReplaceIllegal", SYNC), "vectorization_mode"),
    # envs
    *(
        (partial(Task.of, "Tiles2048-v0", given), f"env_kwargs {given!r}")
        for given in ([], "shape")
    ),
    *((partial(call, "random", "Tiles2048-v0", []), "env_kwargs []") for call in EVALUATIONS),
    (lambda: train("qtable", "Tiles2048-v0", []), "env_kwargs []"),
    (lambda: train("qtable", "", games=1), "environment ''"),
    *((partial(of_boards, boards[0]), "boards") for of_boards, boards in ASKED[:-1]),
    *((partial(of_boards, boards + 0.5), "boards") for of_boards, boards in ASKED),
    *((partial(of_boards, boards + 99), "boards") for of_boards, boards in ASKED),
    *((partial(of_boards, X_WON_O_MOVED), "boards") for of_boards, _ in ASKED[3:]),
    *(
        (partial(TILES.draw, bad, "ansi"), "board")
        for bad in (None, "", [0] * 4, np.full((4, 4), 99))
    ),
    *(
        (partial(MARKS.draw, bad, "ansi"), "board")
        for bad in (None, "", [0] * 3, np.full((3, 3), 0.5))
    ),
    *(
        (partial(game.draw, np.zeros(game.shape, int), "svg"), "mode 'svg'")
        for game in (TILES, MARKS)
    ),
    # runs and the command line
    (lambda: write_arrays(Path("a.npz"), {"a": np.array([{}], object)}), "Object"),
    (lambda: evaluate("random", "TicTacToe-v0", {"side": "X"}, side="O"), "'O' env_kwargs 'X'"),
]


@contextmanager
def refusing(named):
    """Expect an error of one line, which holds all of the words."""
    with pytest.raises(ValueError, match=r"\A.{,300}\Z") as caught:
        yield
    assert not [name for name in named.split() if name not in str(caught.value)], caught.value


@pytest.mark.parametrize(("call", "named"), CALLS)
def test_a_call_names_a_mistake(call, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refusing(named):
        call()
    assert not list(tmp_path.iterdir())


NAN = float("nan")
OPTIONS = [
    ("Tiles2048-v0", {"shape": (0, 4)}, "shape 1 8 (0, 4)"),
    ("Tiles2048-v0", {"shape": (1, 2)}, "shape 3 cells (1, 2)"),
    ("Tiles2048-v0", {"shape": np.array(4)}, "shape array(4)"),
    ("Tiles2048-v0", {"rules": {}}, "rules {}"),
    ("Tiles2048-v0", {"spawn": {}}, "spawn {}"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, 8: 0.4}}, "spawn 0.9"),
    ("Tiles2048-v0", {"spawn": {2: NAN}}, "spawn[2] nan"),
    ("Tiles2048-v0", {"spawn": {7: 1.0}}, "7 tile 131072"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, "2": 0.5}}, "spawn twice"),
    ("Tiles2048-v0", {"start_tiles": 17}, "start_tiles 16 17"),
    ("Tiles2048-v0", {"placer": "adversarial"}, "placer 'adversary' 'adversarial'"),
    ("Tiles2048-v0", {"starts": np.ones((2, 3, 4))}, "(2, 3, 4)"),
    ("Tiles2048-v0", {"starts": np.full((1, 4, 4), 128)}, "faces 128"),
    ("Tiles2048-v0", {"starts": np.ones((1, 4, 4))}, "float64"),
    ("Tiles2048-v0", {"starts": np.zeros((2, 4, 4), int)}, "2 boards index 0"),
    ("Tiles2048-v0", {"starts": "gone.npy"}, "starts gone.npy"),
    ("Tiles2048-v0", {"start_fraction": 1.1}, "start_fraction 1.1"),
    ("Tiles2048-v0", {"start_fraction": 0.25}, "start_fraction=0.25 starts"),
    ("Tiles2048-v0", {"max_illegal": 0}, "max_illegal 0"),
    ("Tiles2048-v0", {"render_mode": "svg"}, "render_mode 'svg'"),
    ("TicTacToe-v0", {"side": "x"}, "side 'both' 'x'"),
    ("TicTacToe-v0", {"opponent": "maximin"}, "opponent 'minimax_first' 'maximin'"),
    ("TicTacToe-v0", {"opponent": {"god": 1.0}}, "'god'"),
    ("TicTacToe-v0", {"opponent": {"random": 0.5}}, "opponents 0.5"),
    ("TicTacToe-v0", {"opponent": {"random": 2}}, "opponent['random'] 2"),
    ("TicTacToe-v0", {"opponent": []}, "opponents []"),
]
OF_MANY = {
    **{"num_envs": (0, 2.5, 2**63), "max_episode_steps": (0,), "engine": ("c",)},
    **{"threads": (0, 2), "autoreset_mode": ("never",), "render_mode": ("human",)},
}


@pytest.mark.filterwarnings("ignore:.*render_mode='svg' that is not in the possible render_modes")
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize(("env_id", "options", "named"), OPTIONS)
def test_an_environment_names_an_unusable_option(make, env_id, options, named):
    with refusing(named):
        make(env_id, **options)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in OF_MANY.items() for v in vs])
def test_a_vector_environment_names_an_unusable_option(name, value):
    with refusing(f"{name} {value}"):
        gym.make_vec("TicTacToe-v0", **{name: value})
    with refusing("num_envs memory"):
        gym.make_vec("TicTacToe-v0", 10**15)


FULL = np.full((4, 4), 1)
BOARDS = [
    *((env_id, ["board"], "options ['board']") for env_id in ("Tiles2048-v0", "TicTacToe-v0")),
    ("Tiles2048-v0", {"board": np.zeros(16, int)}, "board shape"),
    ("Tiles2048-v0", {"board": FULL * NAN}, "float64"),
    ("Tiles2048-v0", {"board": FULL * -1}, "-1"),
    ("Tiles2048-v0", {"board": FULL * 18}, "0 17 faces 18"),
    ("Tiles2048-v0", {"board": FULL, "score": -1}, "score -1"),
    ("Tiles2048-v0", {"board": FULL, "score": 2**53 + 1}, "score 9007199254740993"),
    ("Tiles2048-v0", {"score": 5}, "'board'"),
    ("Tiles2048-v0", {"bord": FULL}, "'bord' 'board' 'score'"),
    ("TicTacToe-v0", {"board": np.zeros((4, 4), int)}, "board (3, 3)"),
    ("TicTacToe-v0", {"board": np.zeros((3, 3))}, "float64"),
    ("TicTacToe-v0", {"board": np.full((3, 3), 2)}, "boards integers"),
    ("TicTacToe-v0", {"board": [[1, 1, 0], [0] * 3, [0] * 3]}, "play"),
    ("TicTacToe-v0", {"score": 1}, "'score' 'board'"),
]
MASKS = [True, False], np.array([True]), np.array([False, False])
OF_ONE = [("TicTacToe-v0", "step", {"action": a}, "action 0 8") for a in (-1, 9, 1.0, None, [1])]
OF_BOTH = [
    *((env_id, "reset", {"seed": 5, "options": given}, named) for env_id, given, named in BOARDS),
    *(("TicTacToe-v0", "reset", {"seed": seed}, f"seed {seed}") for seed in (-1, 1.5, [1, 2, 3])),
]
OF_TWO = [
    ("TicTacToe-v0", "reset", {"seed": [1, -2]}, "seed -2"),
    *(("TicTacToe-v0", "reset", {"options": {"reset_mask": mask}}, "reset_mask") for mask in MASKS),
    ("Tiles2048-v0", "step", {"actions": [0, -1]}, "0 3 -1 game 1"),
    ("TicTacToe-v0", "step", {"actions": [0, 9]}, "0 8 9 game 1"),
    (
        "TicTacToe-v0",
        "step",
        {"actions": np.array([2**63 + 1, 0], np.uint64)},
        "9223372036854775809",
    ),
    ("TicTacToe-v0", "step", {"actions": [0, 1, 2]}, "(2,) (3,)"),
    ("TicTacToe-v0", "step", {"actions": [0, NAN]}, "float64"),
    ("TicTacToe-v0", "step", {"actions": np.array([True, False])}, "bool"),
]


@pytest.mark.parametrize(
    ("n", "env_id", "method", "given", "named"),
    [(1, *case) for case in OF_ONE + OF_BOTH] + [(2, *case) for case in OF_BOTH + OF_TWO],
)
def test_an_environment_names_a_mistake_and_stays_as_it_was(n, env_id, method, given, named):
    env = gym.make(env_id).unwrapped if n == 1 else gym.make_vec(env_id, n)
    env.reset(seed=0)
    state = env.get_state()
    with refusing(named):
        getattr(env, method)(**given)
    assert data_equivalence(env.get_state(), state, exact=True)


NOT_INSTALLED = "numba is not installed: in a clone, pip install -e '.[fast]'"


@pytest.mark.parametrize("reason", [NOT_INSTALLED, "needs NumPy 2.3 or less", "NUMBA_DISABLE_JIT"])
def test_where_numba_compiles_nothing_auto_is_numpy_and_numba_says_why(
    reason, tmp_path, monkeypatch
):
    """One warning says why, too, unless numba is just not installed."""
    monkeypatch.setattr(vector_env, "_compiles", cache(vector_env._compiles.__wrapped__))
    if reason == "NUMBA_DISABLE_JIT":
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    elif reason == NOT_INSTALLED:
        monkeypatch.setitem(sys.modules, "numba", None)
    else:
        (tmp_path / "numba.py").write_text(f"raise ImportError('Numba {reason}')")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "numba")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            envs = gym.make_vec("TicTacToe-v0", 2, engine="auto")
            assert envs.engine == gym.make_vec("TicTacToe-v0", 2).engine == "numpy"
            envs.reset(seed=0), envs.step(envs.sample_legal_actions())
            with pytest.raises(ModuleNotFoundError, match=re.escape(reason)):
                gym.make_vec("TicTacToe-v0", 2, engine="numba")
    assert [reason in str(each.message) for each in caught] == [True] * (reason != NOT_INSTALLED)
    monkeypatch.setattr(sys, "argv", ["check"])
    monkeypatch.setattr(check, "HASHES", {"TicTacToe-v0": check.HASHES["TicTacToe-v0"]})
    assert check.main() == 0  # it compares the rest


def test_without_a_compiler_networks_are_refused_in_a_line():
    words, uncompiled = ("-m", "baselines", "evaluate"), os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = in_a_process(*words, "strong", env=uncompiled)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unset NUMBA_DISABLE_JIT" in done.stderr
    assert "mean" in python(*words, "random", "--episodes", 2, env=uncompiled).stdout


def test_a_full_disk_names_the_file(tmp_path):
    resource = pytest.importorskip("resource", reason="limits are for POSIX systems")
    path, limits = tmp_path / "rows.csv", resource.getrlimit(resource.RLIMIT_FSIZE)
    path.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        for write, what in ((write_file, b"0" * 99), (write_arrays, {"a": np.zeros(99)})):
            with pytest.raises(OSError, match=f"File too large: '{path}'"):
                write(path, what)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert path.read_text() == "old"


def test_a_new_folder_in_which_nothing_was_made_is_removed(tmp_path):
    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(KeyboardInterrupt), lock_folder(folder):
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [np.float32, np.array, torch.tensor])
def test_numbers_of_numpy_and_torch_are_no_mistake(kind):
    half, whole = kind(0.5), np.int64 if kind == np.float32 else kind
    options = {"shape": (2, whole(2)), "spawn": {2: half, 4: half}}
    assert gym.make("Tiles2048-v0", **options).unwrapped.game.spawn == ((2, 0.5), (4, 0.5))
    shaped = ShapeReward(gym.make("Tiles2048-v0"), {"empty": half}, half)
    assert "0.5" in PenalizeIllegal(shaped, half).spec.to_json()
    given = {"milliseconds": half, "deeper": {3: whole(4)}}
    assert read_settings(SearchOptions, given) == SearchOptions(0.5, deeper={3: 4})
    budget = {"games": whole(9), "minutes": half, "seed": whole(1), "learning_rate": half}
    config = train("qtable", "Tiles2048-v0", options, **budget).config
    assert (config.games, config.minutes, config.settings["learning_rate"]) == (9, 0.5, 0.5)
    assert json.loads(json.dumps(asdict(config)))["env_kwargs"]["shape"] == [2, 2]
