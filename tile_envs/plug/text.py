"""The games for language models: observations and actions are texts.

env = TextEnv(gym.make("Tiles2048-v0"), reward="log2")
text, info = env.reset(seed=0)
text, reward, terminated, truncated, info = env.step("I move the tiles [up].")
"""

import math
import string
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from tile_envs.base.checks import brief, checked_choice, checked_count
from tile_envs.base.env import GameEnv
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.chance import ADVERSARY, RANDOM
from tile_envs.sliding.game import SlidingGame
from tile_envs.text import MATCHES, describe_actions, parse, show
from tile_envs.tictactoe.render import LETTERS
from tile_envs.wrappers.transforms import replacements

Info = dict[str, Any]
Reward = Callable[[NDArray[Any], int, NDArray[Any], Info], float]
"""A function of the board before, the action, the board after and the info; see `TextEnv`."""

REWARDS = ("score", "log2", "goal", "regret")
WRONG = ("tell", "end", "random")
LONGEST = 4096

CELLS = {
    RANDOM: "Its cell is one of the empty ones, each equally likely.",
    ADVERSARY: "Its cell is the empty one after which your best move is worth least: the points of "
    "the move plus the number of empty cells that it leaves.",
}
OTHER_CELLS = "Its cell is an empty one that a program chooses by the board and the tile."


def instructions(game: Game) -> str:
    """Return the rules of a game, and how to answer, as a first message for a language model."""
    if not isinstance(game, SlidingGame):
        return (
            "You play tic-tac-toe. Three of your marks in a row, a column or a diagonal win. Free "
            "cells show their numbers. Answer with the number of a free cell in brackets, such as "
            "[4]."
        )
    rules, (rows, columns) = game.rules, game.shape
    merges = [[rules.faces[tile] for tile in merge] for merge in rules.merges]
    sums = ", ".join([f"{a} and {b} make {c}" for a, b, c in merges if a <= b][:3])
    new = " or ".join(f"{face} with probability {chance:g}" for face, chance in game.spawn)
    cell = CELLS.get(str(game.placer), OTHER_CELLS)
    ends = f" or a tile shows {rules.goal}" if game.terminate_at_goal else ""
    return (
        f"You play {game.name} on a board of {rows} rows and {columns} columns. A move slides all "
        "tiles up, right, down or left, as far as they go. Tiles that meet merge, each at most "
        f"once a move: {sums}, and so on. The score is the sum of all tiles made. After a move, a "
        f"new tile appears: {new}. {cell} A move that changes nothing is illegal. The game ends "
        f"when no move is legal{ends}. The goal is a tile that shows {rules.goal}. Answer with one "
        "move in brackets, such as [up]."
    )


class TextEnv(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A single environment of this package as texts, for language models.

    An observation shows the board, the score or the mark, and the legal actions (see
    `tile_envs.text`); after a wrong answer it first says what was wrong.  Infos are those of the
    environment, with `action`, the one that was played, -1 after a wrong answer that changed
    nothing, and `wrong`, whether the answer named no legal action.  A game is still its seed and
    its actions without -1: wrong answers leave it as it is.

    Args:
        env: An environment of `gym.make`, wrapped already or not.
        wrong: What a wrong answer does: `"tell"` what was wrong and go on, `"end"` the episode, or
            play a `"random"` legal action, which the game's stream decides, as in `ReplaceIllegal`.
        reward: `"score"`, that of the environment; `"log2"`, the growth of the logarithm of the
            largest tile, as a fraction of that of the goal; `"goal"`, 1 when the goal is reached or
            the game is won; `"regret"`, minus what the action loses by `values`, a wrong answer as
            much as the worst legal action or, if it ends the episode, all; or a function of the
            board before, the action, the board after and the info.  Boards are as the player sees
            them.
        values: An object with `action_values(boards)`, such as a solution of `baselines.solve`.
        match: Which of several answers counts; see `tile_envs.text.parse`.
        max_wrong: Consecutive wrong answers that truncate an episode, unless a random action is
            played in their place.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        wrong: str = "tell",
        reward: str | Reward = "score",
        values: Any = None,
        match: str | None = None,
        max_wrong: int = 10,
    ) -> None:
        options = {"wrong": wrong, "reward": reward, "values": values, "match": match}
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **options, max_wrong=max_wrong)
        super().__init__(env)
        inside = env.unwrapped
        if not isinstance(inside, GameEnv):
            raise UsageError(f"TextEnv is for environments of this package, got {brief(env)}.")
        if env.has_wrapper_attr("numbering"):
            raise UsageError("actions of TextEnv are words: leave out Renumbered inside.")
        self.game: Game = inside.game
        if not callable(reward):
            checked_choice(reward, "reward", REWARDS)
        if reward == "log2" and not isinstance(self.game, SlidingGame):
            raise UsageError(f"reward='log2' is for the sliding games, not for {self.game}.")
        if (reward == "regret") != hasattr(values, "action_values"):
            raise UsageError(
                "reward='regret' and values, an object with action_values(), need each other, "
                f"got reward={brief(reward)} and values={brief(values)}."
            )
        if getattr(getattr(values, "run", None), "exported", None):
            gym.logger.warn(
                "values of an exported network are rounded, and best moves may cost 1,000 points: "
                "use a solved board or a run of your own."
            )
        self._inside, self._reward, self._values = inside, reward, values
        self._wrong = checked_choice(wrong, "wrong", WRONG)
        self._match = checked_choice(match, "match", MATCHES)
        self._max_wrong = checked_count(max_wrong, "max_wrong")
        self._over, self._info, self._wrong_run, self._wrongs = True, Info(), 0, 0
        self.observation_space = gym.spaces.Text(LONGEST, charset=string.printable)
        self.action_space = gym.spaces.Text(LONGEST, min_length=0, charset=string.printable)

    def reset(self, **kwargs: Any) -> tuple[str, Info]:
        _, info = self.env.reset(**kwargs)
        self._over, self._info, self._wrong_run, self._wrongs = False, deepcopy(info), 0, 0
        return self._text(""), info | {"action": -1, "wrong": False}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Play what an answer names; see `wrong` for answers that name no legal action."""
        if self._over:
            raise ResetNeeded("the game is over or has not begun: call reset() before step().")
        mask, said = self._inside.action_masks(), ""
        try:  # a game that began with a board without legal moves ends with the first step
            played = parse(self.game, action, mask, self._match) if mask.any() else 0
        except UsageError as error:
            said, played = str(error), -1
        self._wrong_run = self._wrong_run + 1 if said else 0
        if said and self._wrong == "random":
            stream = np.array([self._inside.get_state()["stream"]], np.uint64)
            played = int(replacements(stream, np.array([self._wrongs]), mask[None])[0])
            self._wrongs += 1
        answer = {"action": played, "wrong": bool(said)}
        before = self._board()
        if played < 0:
            ended, truncated = self._wrong == "end", self._wrong_run >= self._max_wrong
            self._over = ended or truncated
            cost = self._lost(before, -1)
            return self._text(said), 0.0 - cost, ended, truncated, deepcopy(self._info) | answer
        lost = self._lost(before, played) if mask.any() else 0.0
        _, reward, terminated, truncated, info = self.env.step(played)
        if callable(self._reward):
            reward = self._reward(before, played, self._board(), info)
        elif self._reward == "regret":
            reward = -lost
        elif self._reward != "score":
            reward = self._progress(info) - self._progress(self._info)
        self._over, self._info = terminated or truncated, deepcopy(info)
        return self._text(said), float(reward), terminated, truncated, info | answer

    def _board(self) -> NDArray[Any]:
        """Return the board as the player sees it."""
        state = self._inside.get_state()
        return np.asarray(state["board"] * state.get("mark", 1))

    def _lost(self, board: NDArray[Any], action: int) -> float:
        """Return what an action loses by the values, if these pay; -1 is a wrong answer.

        That loses as much as the worst legal action, or all that is left if it ends the episode.
        """
        if self._reward != "regret":
            return 0.0
        values = np.asarray(self._values.action_values(board[None]))[0]
        known = values[np.isfinite(values)] if action < 0 else values[[action]]
        if not (known.size and np.isfinite(known).all()):
            raise UsageError(f"the values know nothing of the board {brief(board.tolist())}.")
        return float(values.max() - (0.0 if action < 0 and self._over else known.min()))

    def _progress(self, info: Info) -> float:
        if self._reward == "log2" and isinstance(self.game, SlidingGame):
            return math.log2(info["max_tile"]) / math.log2(self.game.rules.goal)
        one = {name: np.asarray(value)[None] for name, value in info.items()}
        return float(self.game.is_success(one)[0])

    def _text(self, said: str) -> str:
        """Return the observation, in the characters of its space."""
        state, mask = self._inside.get_state(), self._inside.action_masks()
        if isinstance(self.game, SlidingGame):
            status = f"score {state['score']}"
        elif winner := self._info["winner"]:
            status = f"{LETTERS[winner]} has won"
        else:
            status = f"{LETTERS[state['mark']]} to play" if mask.any() else "a draw"
        lines = [said] if said else []
        lines += [show(self.game, state["board"]), status]
        lines += [f"legal: {describe_actions(mask)}" if mask.any() else "the game is over"]
        return "\n".join(lines).encode("ascii", "backslashreplace").decode()
