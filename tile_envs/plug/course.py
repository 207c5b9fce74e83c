"""The games as courses have them: their numbers of actions, boards of faces, cumulated scores."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

import tile_envs  # noqa: F401 # registers the environments
from tile_envs.base.checks import brief, checked_action, checked_choice
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.rules import ACTIONS, DOWN, LEFT, RIGHT, UP
from tile_envs.text import read_board

Faces = NDArray[np.int64]
NUMBERINGS = {
    "course": (UP, DOWN, LEFT, RIGHT),  # `Game2048Env` of many student repositories
    "tdl2048": (UP, RIGHT, DOWN, LEFT),  # TDL2048, the frameworks of the 2584 course
}
"""By name, the actions of this package in the order of their numbers there."""


def slide(
    game: SlidingGame, board: ArrayLike, action: int, numbering: str = "course"
) -> tuple[Faces, int]:
    """Return the afterstate of a board of faces, and the reward; illegal is -1, as in TDL2048."""
    order = NUMBERINGS[checked_choice(numbering, "numbering", list(NUMBERINGS))]
    ours = order[checked_action(action, len(ACTIONS))]
    after, rewards, masks = game.afterstates(read_board(game, board)[None])
    return game.faces(after[0, ours]), int(rewards[0, ours]) if masks[0, ours] else -1


class Renumbered(gym.Wrapper[Faces, int, Any, Any], RecordConstructorArgs):
    """A sliding game with observations of faces, and actions and masks of another numbering."""

    def __init__(self, env: gym.Env[Any, Any], numbering: str = "course") -> None:
        RecordConstructorArgs.__init__(self, numbering=numbering)
        super().__init__(env)
        self.game: Any = getattr(env.unwrapped, "game", None)
        if not isinstance(self.game, SlidingGame):
            raise UsageError(f"Renumbered is for the sliding games, got {brief(env)}.")
        if env.observation_space != env.unwrapped.observation_space:
            raise UsageError(f"Renumbered goes around the environment itself, got {brief(env)}.")
        self.numbering = checked_choice(numbering, "numbering", list(NUMBERINGS))
        self._order = list(NUMBERINGS[numbering])
        largest = self.game.rules.faces[-1]
        self.observation_space = gym.spaces.Box(0, largest, self.game.shape, np.int64)

    def reset(self, **kwargs: Any) -> tuple[Faces, dict[str, Any]]:
        """Start a new game; a board among the options holds tile indices, as ever."""
        return self._renumbered(*self.env.reset(**kwargs))

    def step(self, action: int) -> tuple[Faces, Any, bool, bool, dict[str, Any]]:
        ours = self._order[checked_action(action, len(ACTIONS))]
        observation, reward, terminated, truncated, info = self.env.step(ours)
        faces, info = self._renumbered(observation, info)
        return faces, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        return self.env.get_wrapper_attr("action_masks")()[self._order]  # type: ignore[no-any-return]

    def _renumbered(self, board: Any, info: dict[str, Any]) -> tuple[Faces, dict[str, Any]]:
        mask = info["action_mask"][self._order]
        return self.game.faces(board), {**info, "action_mask": mask}


class Game2048Env:
    """A game with the old interface of student repositories, whose `step` returns four values.

        board, score, done, _ = Game2048Env(seed=0).step(2)  # left; the score so far, no reward

    With a seed, the first game is that of `gym.make(env_id).reset(seed=seed)`.  Programs that look
    ahead may assign `board` and `score`, of a `copy.deepcopy` of the environment or of itself.
    `last_move_valid` says whether the last action was legal.
    """

    actions = ["up", "down", "left", "right"]

    def __init__(
        self, seed: int | None = None, env_id: str = "Tiles2048-v0", **options: Any
    ) -> None:
        self._env = Renumbered(gym.make(env_id, max_illegal=1 << 62, **options).unwrapped)
        self._game: Any = self._env.unwrapped
        self._seed, self.size = seed, self._env.game.shape[0]
        self.action_space = self._env.action_space
        self.reset()
        self._seed = seed  # a first `reset` starts the same game

    def reset(self) -> Faces:
        board, _ = self._env.reset(seed=self._seed)
        self._seed, self.last_move_valid = None, True
        return board

    @property
    def board(self) -> Faces:
        """The faces, `(R, C)`, a fresh array."""
        return self._env.game.faces(self._game.get_state()["board"])  # type: ignore[no-any-return]

    @board.setter
    def board(self, faces: ArrayLike) -> None:
        self._go(read_board(self._env.game, faces), self.score)

    @property
    def score(self) -> int:
        return int(self._game.get_state()["score"])

    @score.setter
    def score(self, score: int) -> None:
        self._go(self._game.get_state()["board"], score)

    def step(self, action: int) -> tuple[Faces, int, bool, dict[str, Any]]:
        """Play 0 up, 1 down, 2 left or 3 right; an illegal action changes nothing."""
        self.last_move_valid = self.is_move_legal(action)
        if self.last_move_valid:
            self._env.step(action)
        return self.board, self.score, self.is_game_over(), {}

    def is_move_legal(self, action: int) -> bool:
        return bool(self._env.action_masks()[checked_action(action, len(ACTIONS))])

    def is_game_over(self) -> bool:
        return not self._env.action_masks().any()

    def _go(self, board: Any, score: int) -> None:
        self._env.reset(options={"board": board, "score": score})
