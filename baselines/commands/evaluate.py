"""`python -m baselines evaluate`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines.commands import options
from baselines.evaluation.comparison import Result, seeds_text, write_results
from baselines.evaluation.confined import SUFFIX, text_of
from baselines.evaluation.judging import ENV, SECONDS, judge
from baselines.evaluation.rows import block
from baselines.evaluation.sampled import Stopped
from baselines.players import Player, expand, open_player, play_all, with_path
from baselines.search.placing import ValuePlacer
from baselines.settings import Count, Positive
from tile_envs.errors import UsageError


def evaluate(
    agents: options.Agents,
    /,
    playing: options.Playing = options.PLAYING,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    agent_kwargs: dict[str, Any] | None = None,
    side: options.Side | None = None,
    seconds: Positive = SECONDS,
    exact: bool = False,
    placer_agent: str | None = None,
    placer_depth: Count | None = None,
    unfinished: options.Unfinished = False,
    out: options.Rows = None,
) -> None:
    """Let agents play a fixed list of games, and print the results.

    Of runs that differ in the seed alone, also the mean over these seeds, with its interval.

    Args:
        episodes: The number of games.
        agent_kwargs: A named agent's options, such as '{"playouts": 4000}' for mcts.
        side: The side played in tic-tac-toe; both is self-play. If not given, X for a named agent,
            and all sides that a trained one has learned; all sides if exact.
        seconds: The wall-clock time of a game for a written strategy: a file, such as strategy.py,
            that defines `strategy(board)`. It runs in a confined process of its own.
        exact: Compute the results exactly, over all reachable boards, instead of playing games. On
            small boards of the sliding games, the expected score and its fraction of the optimum;
            in tic-tac-toe, fractions of results against the environment's opponent, and the worst
            outcome against every one.
        placer_agent: The folder or name of an agent that has values of actions (a trained one, or
            optimal). A placer that minimizes these values then chooses the cell of each new tile,
            instead of the environment's placer.
        placer_depth: The depth of that placer's search, in moves of the player; 1 if not given.
    """
    named = expand(agents, out)
    if placer_agent is None and placer_depth is not None:
        raise UsageError("--placer-depth needs --placer-agent.")
    if placer_agent is not None and (exact or "placer" in playing.env_kwargs):
        raise UsageError("leave out --placer-agent: not with --exact, or a placer in --env-kwargs.")
    how: Any = {"agent_kwargs": agent_kwargs, "unfinished": unfinished, **vars(playing)}
    results, failures = list[Result](), list[str]()
    try:
        for name, word in named.items():
            played: Iterable[Result]
            if name.endswith(SUFFIX):
                env, task = playing.env, playing.env_kwargs
                other = playing != options.PlayOptions(env=env, env_kwargs=task) or agent_kwargs
                if exact or placer_agent or other:
                    raise UsageError(f"{name} is a strategy: it has no options but --seconds.")
                task = task | options.given(side=side)
                text, file = text_of(Path(name)), Path(name).name
                row = judge(text, env or ENV, episodes, seed, seconds, env_kwargs=task, name=file)
                if row["failed"] == row["episodes"]:
                    failures.append(f"{file} has failed in every game: {row['failure']}")
                    continue
                played = [Result(row, noted={"path": name})]
            else:
                player = open_player(name, seed=seed, **how)
                player = with_path(player, word) if named.keys() - {name} else player
                if placer_agent is not None:
                    player = _placed_by(placer_agent, placer_depth or 1, player, unfinished)
                sides = player.sides_to_evaluate(side, exact)
                played = play_all([(player, each) for each in sides], episodes, seed, exact)
            for result in played:
                results.append(result)  # before it is printed, since a pipe can be closed
                print(block(result.row))
    except Stopped as stopped:
        results.append(Result(stopped.row))
        print(block(stopped.row))
        raise
    finally:
        seeds = write_results(results, out)
    for row in seeds:
        print(seeds_text(row))
    if failures:
        raise UsageError("; ".join(failures))


def _placed_by(name: str, depth: int, player: Player, unfinished: bool) -> Player:
    task = player.task
    env_kwargs = {n: value for n, value in task.env_kwargs.items() if n != "placer"}
    other = open_player(name, task.env, env_kwargs, unfinished=unfinished)
    placer = ValuePlacer(other.agent, task.game, depth, other.name)
    return player._replace(task=replace(task, env_kwargs=env_kwargs | {"placer": placer}))
