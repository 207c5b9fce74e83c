"""Mistakes: one line that names the option and the value, and nothing is written."""

import os
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from commands import refused
from placers import LastCell

from baselines import evaluate, evaluate_exactly, judge, load, questions, regret, solve, train
from baselines.agents import GreedyAgent
from baselines.deep.dqn import DQNSettings
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.neural import Neural
from baselines.endpoint import LanguageModel
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax
from baselines.search.mcts import MCTSAgent
from baselines.search.placing import ValuePlacer
from baselines.settings import read_settings
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.tabular.value_table import ValueTable, ValueTableSettings
from tile_envs.plug.course import Renumbered, slide
from tile_envs.plug.rllib import games, masked
from tile_envs.plug.sb3 import SB3VecEnv, make_sb3
from tile_envs.plug.text import TextEnv
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe
from tile_envs.wrappers import OneHotPlanes

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
    return folder


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


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
STAGES = {"stages": (64,), "late_stages": (96,)}


def network(game=TILES, **settings):
    return NTuple(game, 0, NTupleSettings(**{"network": "0123"} | settings))


def search(game=TILES, **options):
    return Expectimax(network(), game, **options)


def planes(make=gym.make):
    return OneHotPlanes(make("Tiles2048-v0"))


def masked_dqn(env):
    return MaskedDQN("BoardPolicy", env)


def many(mode):
    return gym.make_vec("Tiles2048-v0", 2, autoreset_mode=mode)


def texts(env_id="Tiles2048-v0", **options):
    return TextEnv(gym.make(env_id), **options)


def language_model(**options):
    return LanguageModel(MARKS, **options)


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
    # Plugs.
    (lambda: SB3VecEnv(gym.make("Tiles2048-v0")), "vector OrderEnforcing"),
    (lambda: SB3VecEnv(gym.make_vec("CartPole-v1", 2)), "vector tile_envs CartPole"),
    (lambda: SB3VecEnv(many("NextStep")), "autoreset_mode SameStep"),
    (lambda: make_sb3("Tiles2048-v0", wrappers=OneHotPlanes), "wrappers"),
    (lambda: masked(many("SameStep")), "'SameStep'"),
    (lambda: masked(OneHotPlanes(many("Disabled"))), "'Disabled'"),
    (lambda: games("Tiles2048-v0", autoreset_mode="SameStep"), "'SameStep'"),
    (lambda: games("TicTacToe-v0", wrappers=["Planes"]), "Planes"),
    (lambda: games("TicTacToe-v0", wrappers=["Log2Reward"]), "Log2Reward"),
    (lambda: games("TicTacToe-v0", opponent="nobody"), "'nobody'"),
    (lambda: texts("CartPole-v1"), "environments package CartPole"),
    (lambda: texts("TicTacToe-v0", reward="log2"), "log2 tic-tac-toe"),
    (lambda: texts(reward="regret"), "reward='regret' values=None"),
    (lambda: texts(reward="points"), "reward 'points'"),
    (lambda: texts(wrong="ignore"), "wrong 'ignore'"),
    (lambda: texts(max_wrong=0), "max_wrong 0"),
    (lambda: Renumbered(gym.make("TicTacToe-v0")), "sliding TicTacToe"),
    (lambda: slide(TILES, [[0] * 4] * 4, 0, "vim"), "numbering 'vim'"),
    (lambda: language_model(timeout=0), "timeout 0"),
    (lambda: language_model(timeout=True), "timeout True"),
    (lambda: language_model(timeout=float("inf")), "timeout inf"),
    (lambda: language_model(url="ftp://host"), "url ftp://host"),
    (lambda: language_model(url="127.0.0.1:8000"), "url 127.0.0.1:8000"),
    (lambda: language_model(url="http://me:secret@host/v1"), "url password"),
    (lambda: language_model(url="http://b.org", key="KEY"), "key='KEY' https http://b.org"),
]


@pytest.mark.parametrize(("call", "named"), CALLS)
def test_a_call_names_a_mistake(call, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"\A.{,300}\Z") as caught:
        call()
    assert not [name for name in named.split() if name not in str(caught.value)], caught.value
    assert not list(tmp_path.iterdir())
