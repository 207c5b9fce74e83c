"""Tic-tac-toe for two agents, as an AEC environment of PettingZoo.

The module has what those of PettingZoo's own games have: `env()` is the game in PettingZoo's
wrappers, `raw_env()` the game alone.  There is no parallel environment, as the agents take turns.
Importing it also registers it: `pettingzoo.make("aec", "tile_envs/tictactoe-v0")`, since 1.27.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from tile_envs.base.checks import checked_mapping
from tile_envs.errors import extra
from tile_envs.tictactoe.env import TicTacToeEnv
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.tictactoe.positions import CELLS, SIDE, O, X

with extra("pettingzoo"):
    import pettingzoo
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers

Observation = dict[str, NDArray[np.int8]]

MARKS = {"player_1": X, "player_2": O}
"""The mark that each agent sets."""


def env(render_mode: str | None = None) -> AECEnv[str, Observation, int]:
    """Return tic-tac-toe in the wrappers of PettingZoo's classic games.

    An illegal action ends the game with the reward -1 for the agent that has chosen it and 0 for
    the other (`TerminateIllegalWrapper`).  An action that is no cell fails
    (`AssertOutOfBoundsWrapper`), and so does one before `reset` (`OrderEnforcingWrapper`).
    """
    wrapped: Any = raw_env(render_mode)
    wrapped = wrappers.TerminateIllegalWrapper(wrapped, illegal_reward=-1)
    wrapped = wrappers.AssertOutOfBoundsWrapper(wrapped)
    return wrappers.OrderEnforcingWrapper(wrapped)


class raw_env(AECEnv[str, Observation, int]):  # type: ignore[misc]
    """Tic-tac-toe as `TicTacToe-v0` plays it with `side="both"`, for two agents.

    `player_1` sets X and moves first, `player_2` sets O.  The manual of `TicTacToeEnv` holds, but
    for this:

    - An observation is a dictionary: `observation`, the board as the agent sees it, and
      `action_mask`, all zero for the agent that is not to move and after the end.
    - The agent that wins gets 1, the other -1.  Both are terminated together, or truncated, by
      `max_illegal` illegal actions in a row.
    - An illegal action changes nothing: the reward is 0, `infos[agent]["illegal"]` is true, and the
      same agent moves again.  (In `env` it ends the game.)
    - `reset` ignores options other than `board`, as PettingZoo's own games do.  The seed changes
      nothing, as nothing is random.
    - `infos` have `winner` and `illegal` alone.
    """

    metadata = {"name": "tictactoe_v0", "is_parallelizable": False, **TicTacToeEnv.metadata}

    def __init__(self, render_mode: str | None = None, max_illegal: int = 100) -> None:
        super().__init__()
        self._env = TicTacToeEnv(side="both", max_illegal=max_illegal, render_mode=render_mode)
        self.render_mode = self._env.render_mode
        self.possible_agents = list(MARKS)
        self.action_spaces = {agent: spaces.Discrete(CELLS) for agent in MARKS}
        board, mask = spaces.Box(-1, 1, (SIDE, SIDE), np.int8), spaces.Box(0, 1, (CELLS,), np.int8)
        space = spaces.Dict({"observation": board, "action_mask": mask})
        self.observation_spaces = {agent: deepcopy(space) for agent in MARKS}

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a new game; if the seed or the board is refused, nothing has changed."""
        # PettingZoo's `api_test` passes an untaken option, and expects it to be ignored.
        given = checked_mapping(options, "reset options")
        taken = {name: given[name] for name in TicTacToe.reset_options if name in given}
        observation, info = self._env.reset(seed=seed, options=taken)
        self.agents = self.possible_agents[:]
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.truncations = dict.fromkeys(self.agents, False)
        self._look(observation, info)

    def step(self, action: int | None) -> None:
        """Set a mark for the agent to move on a cell, 0 to 8; once the game is over, on None."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        observation, _, _, truncated, info = self._env.step(action)  # type: ignore[arg-type]
        self.rewards = {name: float(info["winner"] * mark) for name, mark in MARKS.items()}
        self.truncations = dict.fromkeys(self.agents, truncated)
        self._look(observation, info)
        self.infos[agent]["illegal"] = info["illegal"]
        self._accumulate_rewards()  # nothing to clear before: only the last step has rewards

    def observe(self, agent: str) -> Observation:
        """Return a fresh observation of an agent, at any time."""
        mask = self._mask if agent == self.agent_selection else np.zeros_like(self._mask)
        return {"observation": self._marks * MARKS[agent], "action_mask": mask.copy()}

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def _look(self, observation: NDArray[np.int8], info: Mapping[str, Any]) -> None:
        self._marks = observation * np.int8(info["to_play"])
        self._mask = info["action_mask"]
        self.agent_selection = next(a for a, mark in MARKS.items() if mark == info["to_play"])
        self.terminations = dict.fromkeys(self.agents, not self._mask.any())
        self.infos = {a: {"winner": info["winner"], "illegal": False} for a in self.agents}


if hasattr(pettingzoo, "register"):  # since PettingZoo 1.27
    pettingzoo.register("aec", "tile_envs/tictactoe-v0", f"{__name__}:env")
