"""`python -m baselines compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from baselines.commands.options import (
    Env,
    EnvKwargs,
    GamesSeed,
    Rows,
    Search,
    Unfinished,
    check_finished,
    given,
)
from baselines.evaluation.rows import checked_path, comparison, write_rows
from baselines.evaluation.sampled import evaluate as evaluate_sampled
from baselines.registry import player, with_search
from baselines.settings import Count
from baselines.training.run_folder import holds_run
from tile_envs.errors import UsageError


def compare(
    agents: Annotated[Positional[tuple[str, ...]], arg(metavar="AGENT ...")],
    /,
    episodes: Count = 1000,
    seed: GamesSeed = 0,
    env: Env = None,
    env_kwargs: EnvKwargs = None,
    search: Search = None,
    unfinished: Unfinished = False,
    out: Rows = None,
) -> None:
    """Let agents play the same list of games, and print one table, the best mean first.

    Named agents play what the runs were trained in.

    Args:
        agents: Folders of training runs, such as runs/*, or names of agents.
        episodes: The number of games.
    """
    if out is not None:
        checked_path(out)
    if not agents:
        raise UsageError("compare needs agents: folders of runs, such as runs/*, or names.")
    players = []
    for name in agents:  # all of them before the first game
        if Path(name).is_dir() and not holds_run(Path(name)):
            continue
        competitor = check_finished(player(name, env, env_kwargs, seed), name, unfinished)
        if search is not None and competitor.trained:
            competitor = with_search(competitor, search, {})
        players.append((name, competitor))
    runs = [competitor.task for _, competitor in players if competitor.trained]
    trained = {(task.env, str(task.game)): task for task in runs}
    if trained and env is None:
        players = [
            (name, other if other.trained else player(name, task.env, task.env_kwargs, seed))
            for name, other in players
            for task in ([other.task] if other.trained else trained.values())
        ]
    rows = [
        evaluate_sampled(
            competitor.agent,
            competitor.task.env,
            {**competitor.task.env_kwargs, **given(side=side)},
            episodes,
            seed,
            name=name if competitor.name in name else f"{name} ({competitor.name})",
        )
        for name, competitor in players
        for side in competitor.sides_to_evaluate(None, exact=False)
    ]
    print(comparison(rows))
    if out is not None:
        write_rows(rows, out)
