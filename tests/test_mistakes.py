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
from players import Stubborn, Wavering

from baselines import evaluate, judge, load, solve, train
from baselines.agents import GreedyAgent, game_from_json
from baselines.arrays import write_arrays
from baselines.deep.dqn import DQNLearner, DQNSettings
from baselines.deep.masked_dqn import MaskedDQN
from baselines.evaluation.exact import expected
from baselines.evaluation.policies import policy_of, probabilities_of
from baselines.ntuple.ntuple import NTuple, NTupleSettings
from baselines.search.expectimax import Expectimax
from baselines.search.mcts import MCTSAgent
from baselines.search.minimax import MinimaxAgent
from baselines.search.options import SearchOptions
from baselines.search.placing import ValuePlacer
from baselines.settings import read_settings
from baselines.solver.optimal import OptimalAgent
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.training.run_folder import lock_folder
from tile_envs import check, seeds, wrappers
from tile_envs.base import vector_env
from tile_envs.files import write_file
from tile_envs.plug import rllib
from tile_envs.plug.course import Renumbered, slide
from tile_envs.plug.language_model import LanguageModel
from tile_envs.plug.sb3 import SB3VecEnv, make_sb3
from tile_envs.plug.text import TextEnv
from tile_envs.sliding import RULES_2048, RULES_2584, Rules, SlidingGame, register_game
from tile_envs.text import read_board, show
from tile_envs.tictactoe import TicTacToe, transitions
from tile_envs.wrappers import OneHotPlanes, PenalizeIllegal, ShapeReward

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
    (folder / "rows.csv").write_text("scores\n[1]\n")
    (folder / "corner.py").write_text("def strategy(board): return 1 / 0")
    return folder


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


COMMANDS = [
    ("train random", "'random' qtable ntuple"),
    ("train ntuple --minutes 0", "minutes 0.0"),
    ("train ppo --n-envs 999999999999", "999,999,999,999"),
    ("train dqn --device cuda:99", "device cuda:99"),
    ("train qtable --env-kwargs {", "--env-kwargs '{'"),
    ("train qtable --env-kwargs " + NESTED, "--env-kwargs"),
    ("train qtable --gmaes 5", "--gmaes 5 (perhaps --games)"),
    ("train qtable --seeds 0", "seeds 0"),
    ("train qtable --out x", "x --out --resume"),
    ("train value_table --resume --out x", "value_table qtable"),
    ("train qtable --resume --out x --epsilon 0.5 --seed 4", "epsilon 1.0 0.5 seed 3 4"),
    ("train qtable --resume --out x --games 10", "--games 10"),
    ("evaluate nobody", "'nobody' random greedy minimax"),
    ("evaluate qtable", "qtable trained folder"),
    ("evaluate random --env Powers-v0", "Powers-v0 --import"),
    ("evaluate random --episodes 1000000000000", "1,000,000,000,000"),
    ("evaluate random --out /proc/rows.csv", "/proc"),
    ("evaluate random --out rows.txt", "rows.txt .csv .json"),
    ("evaluate --join rows.csv", "rows.csv --from --to"),
    ("evaluate random --side X", "tic-tac-toe"),
    ("evaluate random --search 2", "search values"),
    ("evaluate q --search 0", "search 0"),
    ("evaluate q --env Tiles2584-v0", "Tiles2048-v0 Tiles2584-v0"),
    ('evaluate q --agent-kwargs {"a":1}', "options"),
    ("evaluate x --exact --side O", "qtable O X"),
    ("export q --out full", "full mine.txt --out"),
    ('evaluate random --placer-agent optimal --env-kwargs {"placer":"random"}', "--placer-agent"),
    ('evaluate strong --env-kwargs {"shape":[3,3]}', "strong 3×3"),
    ("solve --env TicTacToe-v0", "sliding games"),
    ("solve --shape 2 2 --goal 7", "7 2048"),
    ('grade x --exact --env TicTacToe-v0 --env-kwargs {"side":"both"}', "side X O"),
    ("play", "--against"),
    ("play --against ntuple", "ntuple learn qtable"),
    # What is played, recorded, watched and drawn.
    ("evaluate corner.py --episodes 2", "ZeroDivisionError"),
    ("evaluate corner.py --exact", "corner.py strategy"),
    ('evaluate greedy --exact --env-kwargs {"max_episode_steps":7}', "max_episode_steps"),
    ("record random --format npz --out full", "full .npz"),
    ("watch greedy", "terminal"),
    ("watch greedy --html x.htm", "x.htm .html"),
    ("watch greedy --gif no/x.gif", "no"),
    ("watch greedy --serve --port 65536", "port 65536"),
    ("watch full", "full"),
    ("watch x.json", "x.json"),
    ("plot q --out y.pdf", "y.pdf .png .svg"),
    ("best --board 2,4/2,0 --agent greedy", "action_values"),
    # envs: empty words are no absent ones
    ("solve --env=", "environment ''"),
    ("solve --import=no_such_module", "no_such_module"),
    ("train qtable --games 1 --out=", "''"),
    ("compare none-*/best_model.zip", "none-*/best_model.zip"),
    # runs and the command line
    ("train qtable --seeds 2 --out .", "--out '.'"),
    ('watch greedy --shape 2 3 --env-kwargs {"shape":[2,2]}', "shape once"),
]
PLAYED = [
    ("Tiles2048-v0", "terminal"),
    ("Tiles2048-v0 -o rule=3", "'rule'"),
    ("Tiles2048-v0 --record /nowhere/game.json", "/nowhere/game.json"),
]


@pytest.mark.parametrize(
    ("module", "typed", "named"),
    [("baselines", *case) for case in COMMANDS] + [("tile_envs.play", *case) for case in PLAYED],
)
def test_a_command_names_a_mistake(folder, module, typed, named, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "isatty", lambda _: False)
    before = files_of(folder)
    line = refused(*typed.split(), module=module)
    assert not [name for name in named.split() if name not in line], line
    assert files_of(folder) == before


TILES, TILES_2584, MARKS = SlidingGame(RULES_2048), SlidingGame(RULES_2584), TicTacToe()
PLACED = {"placer": LastCell(), "shape": (2, 2)}
BOARD, SYNC = SlidingGame(RULES_2048, (2, 2)), partial(gym.make_vec, vectorization_mode="sync")


def network(game=TILES, **settings):
    return NTuple(game, 0, NTupleSettings(**{"network": "0123"} | settings))


def search(game=TILES, **options):
    return Expectimax(network(), game, **options)


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


X_WON_O_MOVED = np.array([[[1, 1, 1], [-1, -1, -1], [0, 0, 0]]])
ASKED = [
    (of_boards, np.zeros((1, *game.shape), int))
    for game in (TILES, MARKS)
    for of_boards in (game.afterstates, game.legal_actions, game.replies)
] + [(MinimaxAgent(MARKS).predict, np.zeros((1, 3, 3), int))]
SMALL_GAME = SlidingGame(RULES_2048, (2, 2))
ODD = SlidingGame(Rules("Odd", (0, 2, 4, 8), [(1, 1, 2), (1, 2, 2)], {2: 1.0}, 8), (2, 2))
UP = SimpleNamespace(predict=lambda boards: np.zeros(len(boards), np.int64))
RECURRENT = SimpleNamespace(predict=lambda boards, state=None: (UP.predict(boards), "memory"))


def drawing(row):
    return SimpleNamespace(action_probabilities=lambda boards: np.tile(row, (len(boards), 1)))


def many(mode):
    return gym.make_vec("Tiles2048-v0", 2, autoreset_mode=mode)


def texts(env_id="Tiles2048-v0", **options):
    return TextEnv(gym.make(env_id), **options)


def language_model(**options):
    return LanguageModel(MARKS, **options)


NAN = float("nan")
OPTIONS = [
    ("Tiles2048-v0", {"shape": (0, 4)}, "shape 1 8 (0, 4)"),
    ("Tiles2048-v0", {"rules": {}}, "rules {}"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, 8: 0.4}}, "spawn 0.9"),
    ("Tiles2048-v0", {"spawn": {2: NAN}}, "spawn[2] nan"),
    ("Tiles2048-v0", {"spawn": {2: 0.5, "2": 0.5}}, "spawn twice"),
    ("Tiles2048-v0", {"start_tiles": 17}, "start_tiles 16 17"),
    ("Tiles2048-v0", {"placer": "adversarial"}, "placer 'adversary' 'adversarial'"),
    ("Tiles2048-v0", {"starts": np.full((1, 4, 4), 128)}, "faces 128"),
    ("Tiles2048-v0", {"starts": np.zeros((2, 4, 4), int)}, "2 boards index 0"),
    ("Tiles2048-v0", {"starts": "gone.npy"}, "starts gone.npy"),
    ("Tiles2048-v0", {"starts": np.ones((1, 3, 4), int)}, "starts (1, 3, 4)"),
    ("Tiles2048-v0", {"starts": np.ones((4, 4), int)}, "starts (4, 4)"),
    ("Tiles2048-v0", {"start_fraction": 0.25}, "start_fraction=0.25 starts"),
    ("Tiles2048-v0", {"max_illegal": 0}, "max_illegal 0"),
    ("Tiles2048-v0", {"render_mode": "svg"}, "render_mode 'svg'"),
    ("TicTacToe-v0", {"side": "x"}, "side 'both' 'x'"),
    ("TicTacToe-v0", {"opponent": {"random": 0.5}}, "opponents 0.5"),
    ("TicTacToe-v0", {"opponent": []}, "opponents []"),
]
OF_MANY = [("num_envs", 0), ("num_envs", 2.5), ("num_envs", 2**63), ("max_episode_steps", 0)]
OF_MANY += [("engine", "c"), ("threads", 0), ("threads", 2), ("autoreset_mode", "never")]
OF_MANY += [("render_mode", "human")]
OF_ANY = [(make, *option) for make in (gym.make, gym.make_vec) for option in OPTIONS]
CALLS = [
    *((partial(make, env_id, **given), named) for make, env_id, given, named in OF_ANY),
    *((partial(gym.make_vec, "TicTacToe-v0", **{n: x}), f"{n} {x}") for n, x in OF_MANY),
    (lambda: read_settings(QTableSettings, {"n_envs": 0}), "n_envs 0"),
    (lambda: read_settings(QTableSettings, {"gamma": NAN}), "gamma nan"),
    (lambda: read_settings(NTupleSettings, {"trace_decay": 0.5}), "trace_decay direction"),
    (lambda: read_settings(DQNSettings, {"buffer_size": 64}), "learning_starts buffer_size"),
    (lambda: network(network="0012"), "'0012' 4×4"),
    (lambda: network(network="0123456789"), "4,294,967,296"),
    (lambda: network(half_games=9, initial=1.0), "half_games initial 1.0"),
    (lambda: network(SlidingGame(RULES_2048, (2, 3)), network="4x6"), "4x6 2×3"),
    (lambda: network(SlidingGame(RULES_2048, (5, 5))), "5×5 dqn"),
    (lambda: network(MARKS), "NTuple tic-tac-toe"),
    (lambda: QTable(MARKS, 0, QTableSettings(sequential=True)), "sequential"),
    (lambda: QTable(TILES), "4×4 GiB"),
    (lambda: QTable(MARKS, sides=("Z",)), "side 'Z'"),
    (lambda: search(milis=3), "'milis' milliseconds"),
    (lambda: search(table=1 << 30, threads=2), "table 2"),
    (lambda: search(SlidingGame(RULES_2048, placer=LastCell()), samples=3), "placer"),
    (lambda: search(SlidingGame(RULES_2048, (2, 3))), "NTuple 4×4 2×3"),
    (lambda: ValuePlacer(GreedyAgent(TILES), TILES), "action_values"),
    (lambda: MCTSAgent(TILES), "TicTacToe-v0 2048"),
    (lambda: MaskedDQN("BoardPolicy", gym.make("CartPole-v1")), "tile_envs CartPole"),
    (lambda: train("qtable", trice=1), "'trice' opponent"),
    (lambda: train("qtable", games=2.5), "games 2.5"),
    (lambda: train("qtable", resume=True), "resume out"),
    (lambda: train("qtable", env_kwargs={"side": "O"}), "side env_kwargs"),
    (lambda: train("qtable", "Tiles2048-v0", PLACED, out="run"), "LastCell"),
    (lambda: train("qtable", "Tiles2048-v0", opponent="self"), "opponent 'self'"),
    (lambda: judge("", episodes=1, seconds=NAN), "seconds nan"),
    (lambda: judge(lambda board: "left", episodes=1), "lambda"),
    (lambda: evaluate("random", "CartPole-v1"), "'CartPole-v1'"),
    (lambda: evaluate("random", wrapped("OneHotPlanes")), "OneHotPlanes"),
    (lambda: load("random", 3), "env 3"),
    (lambda: evaluate(GreedyAgent(TILES)), "env"),
    (lambda: evaluate(int, "Tiles2048-v0"), "predict"),
    (lambda: solve(SlidingGame(RULES_2584, (3, 4))), "smaller shape"),
    # What is played.
    *((partial(evaluate, Stubborn(x), "TicTacToe-v0"), f"actions {x}") for x in (9, -1)),
    (lambda: evaluate(Stubborn(2.9), "TicTacToe-v0"), "actions float64"),
    (lambda: evaluate(GreedyAgent(TILES), "Tiles2584-v0"), "GreedyAgent 2048 2584"),
    # Seeds, games and rules.
    (lambda: seeds(2**32, 1), "seed 4294967296"),
    (lambda: seeds(0, 0), "n 0"),
    (lambda: game_from_json("[]"), "game"),
    (lambda: game_from_json('{"rules": 3}'), "rules"),
    (lambda: transitions(LastCell()), "opponent 'random' LastCell"),
    *((partial(rules, faces=faces), "faces") for faces in (range(33), (0, 1.5, 2), 5, (0, 2, 2))),
    (lambda: rules(faces=(0, 1, 2**63)), "9223372036854775808"),
    (lambda: rules(merges=[(1, 1, 9)]), "1 4 (1, 1, 9)"),
    (lambda: rules(merges=[(1, 1, 2), (1, 1, 3)]), "tiles 1"),
    (lambda: rules(goal=None), "None tile Chain"),
    (lambda: register_game("Tiles2048-v0", rules()), "Tiles2048-v0 registered"),
    (lambda: gym.make("Tiles2048-v0", rules=rules()), "2048 'Chain'"),
    # Texts, replays and pictures.
    (lambda: read_board(BOARD, "2 4 8"), "2 rows faces 8'"),
    (lambda: read_board(BOARD, "2 4 / 8 3"), "'3' 2048"),
    *((partial(read_board, BOARD, x), "2 rows") for x in ([[2.0, 4], [8, 2]], [[2, 4], [8]], None)),
    (lambda: read_board(MARKS, "X X X / O O O / 6 7 8"), "play can lead to"),
    *((partial(show, BOARD, x), "board") for x in ([[1, 2]], [[1, 99], [0, 0]], "2 4", None)),
    *((partial(BOARD.indices, [[2, face]]), f"{face} tile 2048") for face in (7, 2.0, -2)),
    *((partial(BOARD.faces, [tile]), "tile indices") for tile in (-1, 18, 1.0)),
    # Wrappers.
    (lambda: wrapped("MaskInObservation FlatObservation"), "before MaskInObservation"),
    (lambda: wrapped("PenalizeIllegal OneHotPlanes PenalizeIllegal"), "around PenalizeIllegal"),
    (lambda: wrapped("Log2Reward Log2Reward", gym.make_vec), "around Log2Reward"),
    (lambda: wrapped("ReplaceIllegal", env="CartPole-v1"), "tile_envs"),
    (lambda: wrapped("MaskInObservation", env="Pendulum-v1"), "Discrete"),
    (lambda: wrapped("ShapeReward", gym.make_vec, env="TicTacToe-v0"), "sliding games"),
    (lambda: wrappers.ShapeReward(gym.make("Tiles2048-v0"), {"empty": 1.0}, 1.1), "gamma 1.1"),
    (lambda: wrappers.MaskInObservation(gym.make("TicTacToe-v0"), mask_dtype="i8"), "mask_dtype"),
    (lambda: wrapped("ReplaceIllegal", SYNC), "vectorization_mode"),
    (lambda: wrappers.OneHotPlanes(Renumbered(gym.make("Tiles2048-v0"))), "other wrappers"),
    # envs
    (lambda: train("qtable", "Tiles2048-v0", []), "env_kwargs []"),
    (lambda: train("qtable", "", games=1), "environment ''"),
    *((partial(of_boards, boards[0]), "boards") for of_boards, boards in ASKED[:-1]),
    *((partial(of_boards, boards + 0.5), "boards") for of_boards, boards in ASKED),
    *((partial(of_boards, boards + 99), "boards") for of_boards, boards in ASKED),
    *((partial(of_boards, X_WON_O_MOVED), "boards") for of_boards, _ in ASKED[3:]),
    *((partial(TILES.draw, bad, "ansi"), "board") for bad in (None, "", [0] * 4, [[99] * 4] * 4)),
    *((partial(MARKS.draw, bad, "ansi"), "board") for bad in (None, "", [0] * 3, [[0.5] * 3] * 3)),
    (lambda: gym.make_vec("TicTacToe-v0", 10**15), "num_envs memory"),
    (lambda: gym.make_vec("Tiles2048-v0", 2, game=BOARD, shape=(3, 3)), "game shape"),
    # runs and the command line
    (lambda: write_arrays(Path("a.npz"), [("a", np.array([{}], object))]), "Object"),
    (lambda: evaluate("random", "TicTacToe-v0", {"side": "X"}, side="O"), "'O' env_kwargs 'X'"),
    # Learners, search and solver.
    (lambda: network().restore(network(network="0145").state_dict()), "2048 4×4"),
    (lambda: search(ODD, downgrade=8), "downgrade"),
    (lambda: solve(ODD), "Odd"),
    (lambda: OptimalAgent(SMALL_GAME).action_values(np.full((1, 2, 2), 5)), "reach"),
    (lambda: expected(RECURRENT, SMALL_GAME), "memory"),
    (lambda: expected(Wavering(), SMALL_GAME), "chance"),
    (lambda: expected(UP, SMALL_GAME), "plays 0"),
    *((partial(policy_of, drawing(r), "O"), "probabilities") for r in (np.eye(9)[4], np.zeros(9))),
    (lambda: probabilities_of(drawing([2, -1, 0]), np.zeros((1, 2, 2)), np.ones((1, 3))), "-1"),
    (lambda: DQNLearner(SMALL_GAME).predict(np.ones((1, 3, 3), np.uint8)), "(2, 2) (3, 3)"),
    # Plugs.
    (lambda: SB3VecEnv(gym.make("Tiles2048-v0")), "vector OrderEnforcing"),
    (lambda: SB3VecEnv(many("NextStep")), "autoreset_mode SameStep"),
    (lambda: make_sb3("Tiles2048-v0", wrappers=OneHotPlanes), "wrappers"),
    (lambda: rllib.masked(many("SameStep")), "'SameStep'"),
    (lambda: rllib.games("TicTacToe-v0", wrappers=["Planes"]), "Planes"),
    (lambda: rllib.games("TicTacToe-v0", wrappers=["Log2Reward"]), "Log2Reward"),
    (lambda: texts("CartPole-v1"), "environments package CartPole"),
    (lambda: texts("TicTacToe-v0", reward="log2"), "log2 tic-tac-toe"),
    (lambda: texts(reward="regret"), "reward='regret' values=None"),
    (lambda: texts(wrong="ignore"), "wrong 'ignore'"),
    (lambda: Renumbered(gym.make("TicTacToe-v0")), "sliding TicTacToe"),
    (lambda: slide(TILES, [[0] * 4] * 4, 0, "vim"), "numbering 'vim'"),
    (lambda: language_model(timeout=True), "timeout True"),
    (lambda: language_model(url="ftp://host"), "url ftp://host"),
    (lambda: language_model(url="http://me:secret@host/v1"), "url password"),
    (lambda: language_model(url="http://b.org", key="KEY"), "key='KEY' https http://b.org"),
]


@contextmanager
def refusing(named):
    """Expect an error of one line, which holds all of the words."""
    with pytest.raises(ValueError, match=r"\A.{,300}\Z") as caught:
        yield
    assert not [name for name in named.split() if name not in str(caught.value)], caught.value


@pytest.mark.filterwarnings("ignore:.*render_mode='svg' that is not in the possible render_modes")
@pytest.mark.parametrize(("call", "named"), CALLS)
def test_a_call_names_a_mistake(call, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refusing(named):
        call()
    assert not list(tmp_path.iterdir())


FULL = np.full((4, 4), 1)
BOARDS = [
    *((env_id, ["board"], "options ['board']") for env_id in ("Tiles2048-v0", "TicTacToe-v0")),
    ("Tiles2048-v0", {"board": np.zeros(16, int)}, "board shape"),
    ("Tiles2048-v0", {"board": FULL * NAN}, "float64"),
    ("Tiles2048-v0", {"board": FULL * -1}, "-1"),
    ("Tiles2048-v0", {"board": FULL, "score": 2**53 + 1}, "score 9007199254740993"),
    ("Tiles2048-v0", {"score": 5}, "'board'"),
    ("Tiles2048-v0", {"bord": FULL}, "'bord' 'board' 'score'"),
    ("TicTacToe-v0", {"board": np.full((3, 3), 2)}, "boards integers"),
    ("TicTacToe-v0", {"board": [[1, 1, 0], [0] * 3, [0] * 3]}, "play"),
]
MASKS = [True, False], np.array([True]), np.array([False, False])
HUGE = np.array([2**63 + 1, 0], np.uint64)
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
    ("TicTacToe-v0", "step", {"actions": HUGE}, "9223372036854775809"),
    ("TicTacToe-v0", "step", {"actions": [0, 1, 2]}, "(2,) (3,)"),
    ("TicTacToe-v0", "step", {"actions": [0, NAN]}, "float64"),
    ("TicTacToe-v0", "step", {"actions": np.array([True, False])}, "bool"),
]


@pytest.mark.parametrize(
    ("n", "env_id", "method", "given", "named"),
    [(1, *case) for case in OF_ONE + OF_BOTH] + [(2, *case) for case in OF_BOTH + OF_TWO],
)
def test_an_environment_names_a_mistake_and_stays_as_it_was(n, env_id, method, given, named):
    for engine in ("numpy", "numba")[:n]:
        env = gym.make(env_id).unwrapped if n == 1 else gym.make_vec(env_id, n, engine=engine)
        env.reset(seed=0)
        state = env.get_state()
        with refusing(named):
            getattr(env, method)(**given)
        assert data_equivalence(env.get_state(), state, exact=True)


NOT_INSTALLED = "numba is not installed: pip install -e '.[fast]'"


@pytest.mark.parametrize("reason", [NOT_INSTALLED, "needs NumPy 2.3 or less", "NUMBA_DISABLE_JIT"])
def test_without_numba_auto_is_numpy_and_numba_says_why(reason, tmp_path, monkeypatch):
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
    given = {"milliseconds": half, "table": whole(4)}
    assert read_settings(SearchOptions, given) == SearchOptions(0.5, table=4)
    budget = {"games": whole(9), "minutes": half, "seed": whole(1), "learning_rate": half}
    config = train("qtable", "Tiles2048-v0", options, **budget).config
    assert (config.games, config.minutes, config.settings["learning_rate"]) == (9, 0.5, 0.5)
    assert json.loads(json.dumps(asdict(config)))["env_kwargs"]["shape"] == [2, 2]
