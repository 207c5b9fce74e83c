"""`python -m baselines compare`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines.agents import STRONG, Task
from baselines.commands import options
from baselines.evaluation.comparison import Result, comparison, write_results
from baselines.evaluation.sampled import Stopped
from baselines.players import expand, names_file, names_run, open_player, play_all, with_path
from baselines.settings import Count
from baselines.training.run_folder import with_runs


def compare(
    agents: options.Agents,
    /,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    playing: options.Playing = options.PLAYING,
    side: options.Side | None = None,
    exact: bool = False,
    unfinished: options.Unfinished = False,
    out: options.Rows = None,
) -> None:
    """Let agents play the same list of games, and print one table, and their differences.

    Named agents play what the runs were trained in, and all agents play the same sides; `strong`
    and runs search if asked to. Runs that differ in the seed alone are one setting, as are the
    files that a quoted pattern names, such as 'runs/a-*/best_model.zip'. Below the table are the
    differences from the best agent: over seeds, where settings have several, else game by game.

    Args:
        episodes: The number of games.
        side: The side played in tic-tac-toe; both is self-play. If not given, all sides that the
            runs have learned, or X for named agents alone; all sides if exact.
        exact: Compute the results exactly, as evaluate does, instead of playing games.
    """
    named = expand(agents, out)
    folders = [Path(name) for name in named if names_run(name) and Path(name).is_dir()]
    left_out = set(folders) - set(with_runs(folders))
    named = {name: word for name, word in named.items() if Path(name) not in left_out}
    runs, tasks = {}, dict[Any, Task]()  # each in the words of the first run that plays it
    # All sides are checked before the first game: the one asked for, or all that runs have learned.
    learned: dict[str, dict[str | None, None]] = {}
    for name in filter(names_run, named):
        run = open_player(name, unfinished=unfinished, **vars(replace(playing, wrappers=())))
        same = tasks.setdefault(run.task.key, run.task)
        runs[name] = run._replace(task=replace(run.task, env_kwargs=same.env_kwargs))
        sides = dict.fromkeys(run.sides_to_evaluate(side, exact))
        learned.setdefault(run.task.env, {}).update(sides)
    asked: Any = [(task.env, task.env_kwargs) for task in tasks.values()]
    asked = asked or [(playing.env, playing.env_kwargs)]
    looks = {n: v for n, v in vars(playing).items() if n not in ("env", "env_kwargs", "wrappers")}
    planned = []
    for name, word in named.items():
        how: Any = {"seed": seed, "wrappers": playing.wrappers if names_file(name) else ()}
        how |= looks if name == STRONG or (":" in name and not names_file(name)) else {}
        players = [runs[name]] if name in runs else [open_player(name, *of, **how) for of in asked]
        for player in (with_path(player, word) for player in players):
            for each in learned.get(player.task.env, [side]):
                planned += [(player, as_side) for as_side in player.sides_to_evaluate(each, exact)]
    results = list[Result]()
    try:
        for result in play_all(planned, episodes, seed, exact):
            results.append(result)
    except Stopped as stopped:
        results.append(Result(stopped.row, "", stopped.record.returns, stopped.noted))
        raise
    finally:
        write_results(results, out)
        if results:
            print(comparison(results))
