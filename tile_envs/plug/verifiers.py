"""The games as an environment of verifiers: a taskset of seeds, and the game that answers.

Its commands find tasksets as modules outside packages: write a file `tiles.py`, whose id is
`tiles`, with the line `from tile_envs.plug.verifiers import TilesRollout, TilesTaskset, __all__`.
"""

import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import gymnasium as gym

import tile_envs  # noqa: F401 # registers the environments
from tile_envs.errors import extra
from tile_envs.plug.text import TextEnv, instructions

with extra("verifiers"):
    import verifiers.v1 as vf

__all__ = ["TilesRollout", "TilesTaskset"]
NAME = "tile_envs_taskset"
"""What verifiers finds this module by, once `load_environment` has been called."""


class TilesConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which game is played: see `load_environment`."""

    env: str = "Tiles2048-v0"
    options: dict[str, Any] = {}
    reward: str = "score"


class TilesData(vf.TaskData):  # type: ignore[misc]
    """The game of a seed, as a task."""

    seed: int


class TilesTaskset(vf.Taskset[vf.Task[TilesData, vf.State, vf.TaskConfig], TilesConfig]):  # type: ignore[misc]
    """The games of the seeds 0, 1, 2 and so on."""

    INFINITE = True

    def load(self) -> Iterator[Any]:
        """Yield a task for each seed: the rules, and the first board."""
        game = self.make()
        for seed in count():
            prompt = f"{instructions(game.game)}\n\n{game.reset(seed=seed)[0]}"
            data = TilesData(name=f"{self.config.env}#{seed}", prompt=prompt, seed=seed)
            yield self.task_type()(data, self.config.task)

    def make(self) -> TextEnv:
        return TextEnv(gym.make(self.config.env, **self.config.options), reward=self.config.reward)


class TilesRolloutConfig(vf.EnvConfig):  # type: ignore[misc]
    """Who plays: by default a chat without tools, in a process of this machine."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class TilesRollout(vf.Env[TilesRolloutConfig]):  # type: ignore[misc]
    """A game in which each answer of the player is a move, or is told what was wrong with it."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play a game; its trace gets the sum of the rewards, and score and largest tile."""
        game, total = self.taskset.make(), 0.0
        _, info = game.reset(seed=task.data.seed)
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                text, reward, ended, truncated, info = game.step(segment.last_reply)
                total += reward
                if ended or truncated:
                    break
                segment = await interaction.turn(text)
        interaction.trace.record_reward("game", total, 1.0)
        for name in {"score", "max_tile", "winner"} & info.keys():
            interaction.trace.record_metric(name, float(info[name]))


def load_environment(
    env_id: str = "Tiles2048-v0", reward: str = "score", player: Any = None, **options: Any
) -> Any:
    """Return an environment of verifiers, of an environment's id and options.

    `reward` is as in `TextEnv`; `player` has settings of the agent, such as `{"max_turns": 50}`.
    """
    sys.modules.setdefault(NAME, sys.modules[__name__])
    taskset = {"id": NAME, "env": env_id, "options": options, "reward": reward}
    env = vf.load_environment(vf.resolve_env_config({"taskset": taskset, "player": player or {}}))
    env.taskset.make()  # a wrong option is refused here, not in an episode
    return env
