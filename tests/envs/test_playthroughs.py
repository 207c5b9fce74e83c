"""Games as text: what an environment shows, and what may follow, move by move.

A change of behavior is read in the diff of `tests/envs/playthroughs`, whose files
`python tests/envs/test_playthroughs.py` writes again.
"""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import powers3  # noqa: F401 # registers a game
import pytest

from tile_envs.game import describe

FOLDER = Path(__file__).parent / "playthroughs"
GAMES = {
    "2048": ("Tiles2048-v0", {}),
    "2048_2x3": ("Tiles2048-v0", {"shape": (2, 3)}),
    "2048_5x4": ("Tiles2048-v0", {"shape": (5, 4)}),
    "2584": ("Tiles2584-v0", {}),
    "tictactoe": ("TicTacToe-v0", {"side": "random"}),
    "powers3_adversary": ("Powers3-v0", {"shape": (3, 3), "placer": "adversary"}),
}
SEED, MOVES = 7, 20
SHOWN = 2
"""The moves that are shown with every reply that chance, or the opponent, may give."""


def row(board):
    return " / ".join(" ".join(f"{cell:2}" for cell in line) for line in board.tolist())


def plain(values):
    return {name: np.asarray(value).tolist() for name, value in values.items()}


def playthrough(env_id, options):
    """Return a game by random actions, of which every fifth may be illegal, as text."""
    env = gym.make(env_id, max_illegal=2, **options).unwrapped
    game, rng = env.game, np.random.default_rng(SEED)
    text = [f"{env_id} {json.dumps(options)}, seed {SEED}", describe(game)]
    (observation, info), over = env.reset(seed=SEED), False
    for move in range(MOVES):
        state = {n: v for n, v in plain(env.get_state()).items() if n != "game"}
        text += ["", f"# {move}", f"board   {row(observation)}"]
        text += [f"info    {json.dumps(plain(info))}", f"state   {json.dumps(state)}"]
        if over:
            break
        legal = np.flatnonzero(info["action_mask"])
        action = int(rng.integers(game.n_actions) if move % 5 == 4 else rng.choice(legal))
        if move < SHOWN and action in legal:
            after, _, _ = game.afterstates(observation[None])
            text += [f"after   {row(after[0, action])}"]
            _, boards, chances = game.replies(after[:, action])
            text += [f"{p:.5f} {row(b)}" for b, p in zip(boards, chances, strict=True)]
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        text += [f"action  {action}, reward {reward:g}, {terminated = }, {truncated = }"]
    return "\n".join(text) + "\n"


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_played_as_its_file_shows(name):
    assert playthrough(*GAMES[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, game in GAMES.items():
        (FOLDER / f"{name}.txt").write_text(playthrough(*game), encoding="utf-8")
