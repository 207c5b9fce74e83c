"""Agents that play: by name or from a run's folder, with or without a search; and their evaluation.

`baselines.load` is here, and so is what commands share with it.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from baselines import agents
from baselines.agents import STRONG_FOLDER, Task, instance, is_agent
from baselines.evaluation.comparison import NO_GAMES, Result
from baselines.evaluation.parts import part
from baselines.evaluation.rows import SUFFIXES, Row
from baselines.evaluation.sampled import Stopped, evaluated
from baselines.search.options import DEEPEST, SearchOptions
from baselines.settings import check_file, read_settings
from baselines.training import run_folder as runs
from baselines.training.learner import Learner, learner_class
from baselines.training.run_folder import Run
from tile_envs.agents import Agent
from tile_envs.base.checks import brief, checked_integer, checked_mapping
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.games import AnyEnv, ids, make, named, resolve_id
from tile_envs.words import printable


class Player(NamedTuple):
    """An agent, and what it plays.

    Attributes:
        name: Its name in rows.
        task: What it plays; the sides of a trained agent are those that it has learned.
        run: The run that it comes from, if it does.
        setting: What trained agents share that differ in the seed alone; "" of others.
        noted: What files of rows say of its training.
    """

    agent: Agent
    name: str
    task: Task
    run: Run | None = None
    setting: str = ""
    noted: Row = {}

    def options(self, side: str | None) -> dict[str, Any]:
        """Return the options of its environment, with a side, if there is one."""
        return {**self.task.env_kwargs, **({} if side is None else {"side": side})}

    def sides_to_evaluate(self, side: str | None, exact: bool) -> tuple[str | None, ...]:
        """Return the sides of rows: all, or the one asked for (sampled, also "random", "both")."""
        sides, asked = self.task.game.sides, self.task.env_kwargs.get("side")
        if None not in (side, asked) and side != asked:
            raise UsageError(f"the side is {side!r}, and in env_kwargs {asked!r}: give it once.")
        side = side or asked
        if not sides:
            if side is not None:
                raise UsageError(f"sides are for tic-tac-toe, not for {self.task.env}.")
            return (None,)
        if side is None:
            return self.task.sides if exact or self.run else sides[:1]
        needed, learned = (side,) if side in sides else sides, self.task.sides or sides
        if missing := [s for s in needed if s not in learned]:
            only = ", ".join(learned)
            raise UsageError(f"{self.name} was not trained to play {missing[0]}, only {only}.")
        return sides if exact and side == agents.BOTH else (side,)


def names_run(name: str) -> bool:
    """Tell whether an agent is named by the folder of its run, or a model in that."""
    path = Path(name)
    is_model = path.suffix == runs.MODEL_SUFFIX and (path.parent / runs.CONFIG).exists()
    return name not in agents.NAMES and (path.is_dir() or is_model)


def names_file(name: str) -> bool:
    """Tell whether an agent is named by the file of another model of Stable-Baselines3."""
    return Path(name).suffix == runs.MODEL_SUFFIX and not names_run(name)


def open_player(
    agent: Agent | type[Agent] | str | Path,
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    agent_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[str] = (),
    search: int | None = None,
    unfinished: bool = True,
    **search_options: Any,
) -> Player:
    """Return an agent with what it plays: one that is named, or of a run, a file or a class.

    The arguments are those of `baselines.evaluate`; but `env_kwargs` are added to those of a run,
    and `seed` is that of a named agent's own random numbers.  `wrappers` are those that a model by
    its file has learned with; `unfinished` says whether a run may be unfinished.
    """
    options = checked_mapping(agent_kwargs, "agent_kwargs")
    options |= {"wrappers": wrappers} if wrappers else {}
    env_id, asked = named(env, env_kwargs)
    if not isinstance(agent, str | Path):
        if env_id is None:
            raise UsageError("env must be given with an agent, such as 'Tiles2048-v0', got None.")
        player = _of_object(agent, Task(resolve_id(env_id), asked or {}), seed, options)
    elif names_run(name := str(agent)) or name == agents.STRONG:
        if options:
            raise UsageError(f"{name} is a trained agent and takes no options, got {options!r}.")
        player = (_strong if name == agents.STRONG else _of_run)(name, env_id, asked)
    else:
        task = Task.of(agents.usual_env(name) if env_id is None else env_id, asked)
        if names_file(name):
            player = _of_file(Path(name), task, options)
        else:
            made = make_agent(name, task.game, seed, **options)
            player = Player(made, name.rpartition(":")[2], task, noted={"settings": options})
    if player.run and not (player.run.finished or unfinished):
        advice = "continue it with train --resume, or add --unfinished to evaluate it as it is"
        raise UsageError(f"{agent} is unfinished: {advice}.")
    player = _searching(player, search, search_options)
    if not isinstance(agent, str | Path) or not (names_run(name) or names_file(name)):
        return player
    player = player._replace(noted=player.noted | {"path": name})
    return with_path(player, name) if name.endswith(runs.MODEL_SUFFIX) else player


def _of_object(agent: Any, task: Task, seed: int, options: Mapping[str, Any]) -> Player:
    if not is_agent(agent):
        raise UsageError(f"an agent has a method predict(observation), got {brief(agent)}.")
    if options and not isinstance(agent, type):
        raise UsageError("agent_kwargs are for an agent that is named.")
    make(task.env, task.env_kwargs)  # which checks the options
    if isinstance(agent, type):
        agent = make_agent(agent, task.game, seed, **options)
    return Player(agent, type(agent).__name__, task)


def _of_file(path: Path, task: Task, options: Mapping[str, Any]) -> Player:
    from baselines.deep.sb3_file import SB3Model  # late: it imports torch

    beside = any((path.parent / file).exists() for file in (runs.CHECKPOINT, runs.PROGRESS))
    if path.exists() and (beside or path.name in (runs.LAST, runs.BEST)):
        said = f"{path} has no {runs.CONFIG} of a run beside it: loading it runs code that it holds"
        print(printable(said), file=sys.stderr)
    model = instance(SB3Model, {"path": path, "env": make(task.env, task.env_kwargs)}, **options)
    return Player(model, model.name, task, noted=model.noted)


def _strong(name: str, env_id: str | None, env_kwargs: Mapping[str, Any] | None) -> Player:
    task = Task.of(agents.usual_env(name) if env_id is None else env_id, env_kwargs)
    game: Any = task.game
    folder = STRONG_FOLDER / game.name
    if getattr(game, "shape", None) != (4, 4) or not folder.exists():
        names = ", ".join(sorted(path.name for path in STRONG_FOLDER.iterdir()))
        other = "give a run that has learned it (of best: --agent RUN)"
        raise UsageError(f"strong plays {names} on 4×4, not {game}: {other}.")
    try:
        shipped = _of_run(str(folder), None, None)
        return shipped._replace(name=agents.STRONG, task=task, run=None, setting="")
    except UsageError as error:
        raise UsageError(f"{folder} comes with tile-envs: {error} Install it again.") from error


def _of_run(name: str, env_id: str | None, env_kwargs: Mapping[str, Any] | None) -> Player:
    """Return the learner of a run with what it has learned, in which more options may be given."""
    asked = None if env_id is None else resolve_id(env_id)  # imports the id's module
    path = Path(name)
    folder = runs.folder_of(path)
    run = Run.read(folder)
    config = run.config
    # A module that only a file names is never imported.
    is_known = config.agent in agents.AGENTS or config.agent.partition(":")[0] in sys.modules
    if not (is_known and config.env in ids()):
        missing = ", ".join(config.modules) or f"of {config.agent} and {config.env}"
        raise UsageError(f"{folder}: it needs the module {missing}: import it first, with --import")
    try:
        learner = learner_class(config.agent).load(folder, run)
        if path != folder:
            learner.load_model(path)
    except UsageError as error:
        if str(error).startswith(str(folder)):
            raise
        raise UsageError(f"{folder}: {error}") from error
    notes = [config.budgets_in_words] if config.budgets else []
    name = ", ".join([config.label, *notes, *["unfinished"] * (not run.finished)])
    if asked not in (None, config.env):
        raise UsageError(f"{path} was trained in {config.env}, not in {asked}.")
    task = config.task
    if env_kwargs:
        task = replace(Task.of(config.env, {**task.env_kwargs, **env_kwargs}), sides=task.sides)
    kind = type(learner).Settings
    default, settings = vars(kind()), vars(read_settings(kind, config.settings))
    changed = {n: v for n, v in settings.items() if v != default[n]}
    versions = {"agent": config.agent_version} | runs.installed()
    noted = {"train_seed": config.seed, "settings": changed, "versions": versions}
    noted["budget"] = config.budgets or config.budget
    setting = f"{replace(config, seed=0).key} {path.relative_to(folder)}"
    return Player(learner, name, task, run, setting, noted)


def _searching(player: Player, depth: int | None, options: Mapping[str, Any]) -> Player:
    """Return a player that searches with the action values of another, if a depth is given."""
    usual = vars(SearchOptions())
    given = [name for name, value in options.items() if value != usual.get(name, ())]
    if depth is None:
        if given:
            raise UsageError(f"{given[0]} is an option of a search: give search, its depth, too.")
        return player
    searched: Any = player.agent
    if not hasattr(searched, "action_values"):
        raise UsageError(f"a search takes action values, and {player.name} has no action_values.")
    from baselines.search.expectimax import Expectimax  # late: it compiles

    depth = checked_integer(depth, "search", 1, DEEPEST)
    agent = Expectimax(searched, player.task.game, depth, **options)
    decide = [name for name in given if name not in ("threads", "table")]
    values = [f"{name} {options[name]}".removesuffix(".0") for name in decide]
    how = ", ".join([f" {depth}-ply", *values])
    setting = player.setting and player.setting + how
    return player._replace(agent=agent, name=player.name + how, setting=setting)


def make_agent(name: str | type[Any], game: Game, seed: int = 0, /, **options: Any) -> Agent:
    """Return an agent that needs no training, for a game, with options of its own."""
    kind = name if isinstance(name, type) else agents.agent_class(name)
    if issubclass(kind, Learner):
        raise UsageError(f"{name} must be trained first: give the folder of a trained run.")
    agent: Agent = instance(kind, {"game": game, "seed": seed}, **options)
    return agent


def with_path(player: Player, word: str = "") -> Player:
    """Return a player with the path that it comes from before its name.

    Files of models that one word of a command stands for are seeds of one setting.
    """
    if not (path := player.noted.get("path")):
        return player
    setting = player.setting if player.run else f"{word} {player.task.key}"
    name = player.name if player.name.startswith(f"{path} (") else f"{path} ({player.name})"
    return player._replace(name=name, setting=setting)


def expand(agents: Sequence[str], out: Path | None) -> dict[str, str]:
    """Return the names of a command's agents, each with the word that it comes from.

    A word with a `*`, which the shell has not replaced, stands for all paths that match.
    """
    if out:
        check_file(out, SUFFIXES, "--out is")
    if not agents:
        raise UsageError("give agents: their names, or folders of runs, such as runs/*.")
    found = dict[str, str]()
    for word in agents:
        is_pattern = "*" in word and not Path(word).exists()
        if not (names := sorted(glob(word)) if is_pattern else [word]):
            raise UsageError(f"no file or folder matches {word!r}.")
        found |= dict.fromkeys(names, word) | found
    return found


def play_all(
    planned: Iterable[tuple[Player, str | None]],
    episodes: int,
    seed: int,
    exact: bool = False,
    progress: bool = False,
    first: int | None = None,
) -> Iterator[Result]:
    """Let players play, each as a side, the same list of games, or compute their exact results.

    Given the first of its games, each row is a part (see `parts`).
    """
    for player, side in planned:
        game, returns = (player.agent, player.task.env, player.options(side)), NO_GAMES
        if exact:
            from baselines.evaluation.exact import evaluate_exactly  # late: it compiles

            row = evaluate_exactly(*game, name=player.name)
        elif not hasattr(player.agent, "predict"):
            raise UsageError(f"{player.name} has no predict: only exact results need none.")
        else:
            try:
                row, record = evaluated(*game, episodes, seed, player.name, progress, first or 0)
            except Stopped as stopped:
                stopped.noted = player.noted
                if first is not None:  # what has been played is a part, too
                    stopped.row |= part(stopped.record, first) | {"agent": player.name}
                raise
            row |= {} if first is None else part(record, first)
            returns = record.returns
        yield Result(row, player.setting, returns, player.noted)


def load(path: str | Path, env: AnyEnv | None = None) -> Agent:
    """Load a trained agent.

        agent = load("runs/2048")
        actions, _ = agent.predict(boards)

    Args:
        path: The folder of a run, a model in it, such as `runs/d/best.zip`, the file of another
            model of Stable-Baselines3, which runs code that it holds, or a name such as `strong`,
            the networks that come with the package.
        env: The environment or its id; None is the one of the run, or the agent's usual one.

    Raises:
        ValueError: If there is none, its files are damaged, or it does not play this environment.
    """
    return open_player(path, env).agent
