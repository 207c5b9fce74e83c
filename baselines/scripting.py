"""Training and evaluation from Python, as `python -m baselines train` and `evaluate` do them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from baselines.evaluation import sampled
from baselines.evaluation.rows import Row
from baselines.registry import Player, learner_class, player, usual_env, with_search
from baselines.settings import read_settings
from baselines.task import Task
from baselines.training.learner import Learner
from baselines.training.run import as_begun, default_options, run
from tile_envs.agents import Agent
from tile_envs.base.checks import checked_mapping
from tile_envs.errors import UsageError
from tile_envs.games import resolve_id


def train(
    agent: str | type[Learner],
    env: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    games: int | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    side: str | None = None,
    preset: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
    **settings: Any,
) -> Learner:
    """Train an agent, and return it.

        agent = train("ntuple", "Tiles2048-v0", minutes=1)

    What is not given is as on the command line: it comes from the preset, or from the run that is
    resumed.  The same seed and budget in games give the same agent, bit for bit.

    Args:
        agent: The agent's name, or the class of a learner of your own.
        env: The environment's id; if not given, the one that the agent usually learns.
        env_kwargs: The environment's options.
        games: The budget in games, on each side in tic-tac-toe.
        minutes: The budget in minutes of learning.
        seed: The seed of games and exploration.
        side: The side that is learned in tic-tac-toe, X, O or both.
        preset: A preset of `hyperparams.yml`.
        out: The run's folder; if not given, nothing is written.
        resume: Continue the run in `out`.
        progress: Whether to show progress on standard error.
        **settings: Settings of the agent, by the names of its options.

    Returns:
        The agent, with `predict` and `save(folder)`, and `action_values` if it plays by values.

    Raises:
        ValueError: If an argument or a setting is unusable; nothing has been written then.
        Interrupted: If it is interrupted; a run in a folder can be resumed.
    """
    if isinstance(agent, type):
        agent = f"{agent.__module__}:{agent.__qualname__}"
    if out == "":
        raise UsageError("out must be the name of a folder, got ''.")
    folder = None if out is None else Path(out)
    asked = checked_mapping(env_kwargs, "env_kwargs")
    if not resume:
        env_id = resolve_id(usual_env(agent) if env is None else env)
        options = default_options(agent, env_id, preset)
    elif folder:
        options = as_begun(agent, folder, preset)
    else:
        raise UsageError("resume needs out, the folder of the run.")
    given: dict[str, Any] = {"env": env, "env_kwargs": None if env_kwargs is None else asked}
    given |= {"games": games, "minutes": minutes, "seed": seed, "side": side}
    given |= {"out": folder, "resume": resume}
    options = replace(options, **{key: v for key, v in given.items() if v is not None})
    sided = settings.keys() & learner_class(agent).sided
    if sided and not Task.of(options.env).game.sides:
        raise UsageError(f"{min(sided)} is a setting for tic-tac-toe, not for {options.env}.")
    values = asdict(options.settings) | settings
    options = replace(options, settings=read_settings(type(options.settings), values))
    return run(agent, options, visible=progress)


def evaluate(
    agent: Agent | str | Path,
    env: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    *,
    side: str | None = None,
    search: int | None = None,
    agent_kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: bool = False,
) -> Row:
    """Let an agent play a fixed list of games, and return one row of results.

        row = evaluate(agent, "Tiles2048-v0", episodes=100, search=2)
        row = evaluate("runs/q", side="O")

    Args:
        agent: Anything with `predict`: an agent of this package, a model of Stable-Baselines3, or a
            class of your own; or the name of an agent or the folder of a run.
        env: The environment's id; an agent by name or folder has a usual one.
        env_kwargs: The environment's options.
        episodes: The number of games.
        seed: The seed of the list of games; two seeds share no game.
        side: The side in tic-tac-toe: X, O, random or both; if not given, the first one that a run
            has learned, or X.
        search: The depth of a search with the agent's values, in moves.
        agent_kwargs: Options of a named agent, or of the search.
        name: The agent's name in the row.
        progress: Whether to show progress on standard error.

    Returns:
        The row; see `baselines.evaluation.sampled.summary`.

    Raises:
        ValueError: If an argument is unusable, `episodes` does not fit into memory, or the agent
            plays actions that are none.
        Stopped: If it is interrupted after the first game of the list has ended.
    """
    options = checked_mapping(agent_kwargs, "agent_kwargs")
    asked = checked_mapping(env_kwargs, "env_kwargs")
    if isinstance(agent, str | Path):
        played = player(str(agent), env, asked, seed, {} if search is not None else options)
    elif env is None:
        raise UsageError("env must be given with an agent, such as 'Tiles2048-v0', got None.")
    elif options and search is None:
        raise UsageError("agent_kwargs are for an agent that is named, or for a search.")
    else:
        # Without a side, the options may be those of a vector environment alone, such as engine.
        task = (Task if side is None else Task.of)(resolve_id(env), asked)
        played = Player(agent, type(agent).__name__, task, trained=False)
    played = with_search(played, search, options)
    options = dict(played.task.env_kwargs)
    if side is not None or isinstance(agent, str | Path):
        as_side = played.sides_to_evaluate(side, exact=False)[0]
        options |= {} if as_side is None else {"side": as_side}
    name = name or played.name + ", unfinished" * (not played.finished)
    return sampled.evaluate(
        played.agent, played.task.env, options, episodes, seed, name=name, progress=progress
    )
