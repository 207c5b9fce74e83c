"""Check that this machine plays the games that every machine plays, whatever plays them.

The functional core plays 10,000 seeded games of each kind, and their hash must be the one in this
file.  All that numpy, compiled code and single games return is compared with it, illegal actions,
ends and resets included.  If anything differs, the exit status is 1.
"""

import argparse
import hashlib
import sys
from typing import Any

import gymnasium as gym
import numpy as np

from tile_envs.base.random_stream import STRIDE, choose, mix, starts
from tile_envs.errors import ExtraNotInstalled
from tile_envs.game import Game

HASHES = {
    "Tiles2048-v0": "310795ab5bee5ae9",
    "Tiles2584-v0": "97e3b7d82fe42491",
    "TicTacToe-v0": "f680fd872ba83604",
}  # by id, that of its games, which must never change
WAYS: dict[str, dict[str, Any]] = {name: {"engine": name} for name in ("numpy", "numba")}
WAYS["single games"] = {"vectorization_mode": "sync"}  # options of `gym.make_vec`, by what plays
SHOWN = "observations", "rewards", "terminations", "truncations"
SEEDS, N, STEPS = np.arange(10_000, dtype=np.uint64), 32, 300
ROW = "{:14}{:18}{:16}{:15}{:15}{}"


def hash_of(game: Game) -> str:
    """Return a hash of 10,000 games: boards and rewards, step by step, of those that go on.

    In the game of seed s, the stream of seed 2**64 - 1 - s chooses among the legal actions.
    """
    state, players, digest = game.begin(SEEDS), starts(~SEEDS), hashlib.sha256()
    while len(players):
        players = players + np.uint64(STRIDE)
        state, step = game.step(state, game.choose(state, mix(players)))
        digest.update(step.observations.tobytes() + step.rewards.astype("<i8").tobytes())
        state = type(state)(*(array[~step.terminations] for array in state))
        players = players[~step.terminations]
    return digest.hexdigest()[:16]


def difference(game: Game, envs: gym.vector.VectorEnv[Any, Any, Any]) -> str:
    """Return what first differs between an environment and the functional core; empty if nothing.

    In one step of five, any action is played.  Games that have ended begin anew in the next step.
    """
    state, players, n_actions = game.begin(SEEDS[:N]), starts(~SEEDS[:N]), [game.n_actions] * N
    rewards, never = np.zeros(N), np.zeros(N, np.bool_)
    (observations, infos), illegal = envs.reset(seed=0), never
    given: Any = observations, rewards, never, never, infos
    for k in range(STEPS + 1):
        observations, infos = game.observe(state)
        expected = observations, rewards, state.over, never, *infos.values(), illegal
        found = *given[:4], *(given[4][name] for name in (*infos, "illegal"))
        for name, one, other in zip((*SHOWN, *infos, "illegal"), expected, found, strict=True):
            if not np.array_equal(one, other):
                return f"{name} of step {k}"
        players, due = players + np.uint64(STRIDE), np.flatnonzero(state.over)
        actions = game.choose(state, words := mix(players))
        actions = actions if k % 5 else choose(words, np.array(n_actions, np.uint64)).view(np.int64)
        state, step = game.step(state, actions)
        for array, values in zip(state, game._begin_from(state.streams[due]), strict=True):
            array[due] = values
        rewards, illegal = step.rewards, step.infos["illegal"]
        illegal[due] = False
        given = envs.step(actions)
    return ""


def main() -> int:
    """Run the command; return its exit status."""
    argparse.ArgumentParser(prog="python -m tile_envs.check", description=__doc__).parse_args()
    wrong = []
    print(ROW.format("game", f"{len(SEEDS):,} games", "steps compared", *WAYS))
    for env_id, known in HASHES.items():
        game: Any = gym.make(env_id).get_wrapper_attr("game")
        cells, found = dict.fromkeys(WAYS, "equal"), hash_of(game)
        if found != known:
            wrong.append(f"{env_id}: the hash of the seeded games is {found}, not {known}")
        for way, options in WAYS.items():
            try:
                if differs := difference(game, gym.make_vec(env_id, N, **options)):
                    cells[way] = "differs"
                    wrong.append(f"{env_id}: {way} differs from the functional core in {differs}")
            except ExtraNotInstalled:
                cells[way] = "not installed"
        print(ROW.format(env_id, found, f"{N * STEPS:,}", *cells.values()), flush=True)
    print("\n".join(wrong or ["Everything is equal, and as on every machine."]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
