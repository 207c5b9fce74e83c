"""`python -m baselines evaluate`."""

from __future__ import annotations

from typing import Any

from baselines.commands import options
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import block, checked_path, write_rows
from baselines.evaluation.sampled import Stopped
from baselines.evaluation.sampled import evaluate as evaluate_sampled
from baselines.registry import Player, player, with_search
from baselines.search.placing import ValuePlacer
from baselines.settings import Count
from tile_envs.errors import UsageError


def evaluate(
    agent: options.Agent,
    /,
    env: options.Env = None,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    env_kwargs: options.EnvKwargs = None,
    agent_kwargs: dict[str, Any] | None = None,
    side: options.Side | None = None,
    exact: bool = False,
    search: options.Search = None,
    placer_agent: str | None = None,
    placer_depth: Count | None = None,
    unfinished: options.Unfinished = False,
    out: options.Rows = None,
) -> None:
    """Let an agent play a fixed list of games, and print the results.

    Args:
        episodes: The number of games.
        agent_kwargs: A named agent's options, such as '{"playouts": 4000}' for mcts; or those of
            the search, such as '{"threads": 2, "deeper": {"3": 4}}' (depth 4 where at most 3 cells
            are empty), '{"milliseconds": 10}' (as deep as time allows, up to --search),
            '{"downgrade": 32768}' (with smaller tiles once this one is there) or '{"samples": 1}'
            (one drawn new tile instead of all).
        side: The side played in tic-tac-toe; both is self-play. If not given, X for a named agent,
            and all sides that a trained one has learned; all sides if exact.
        exact: Compute the results exactly, over all reachable boards, instead of playing games. On
            small boards of the sliding games, the expected score and its fraction of the optimum;
            in tic-tac-toe, fractions of results against random play, and the worst outcome against
            every opponent.
        placer_agent: The folder or name of an agent that has values of actions (a trained one, or
            optimal). A placer that minimizes these values then chooses the cell of each new tile,
            instead of the environment's placer.
        placer_depth: The depth of that placer's search, in moves of the player; 1 if not given.
    """
    if out is not None:
        checked_path(out)
    if placer_agent is None and placer_depth is not None:
        raise UsageError("--placer-depth needs --placer-agent.")
    of_agent = agent_kwargs or {}
    played = player(agent, env, env_kwargs, seed, {} if search is not None else of_agent)
    played = options.check_finished(played, agent, unfinished)
    placer = None
    if placer_agent is not None:
        if exact:
            raise UsageError("exact evaluation knows named placers only: leave out --placer-agent.")
        if "placer" in (env_kwargs or {}):
            raise UsageError("give either --placer-agent or a placer in --env-kwargs, not both.")
        values = played if placer_agent == agent else _values(placer_agent, played, unfinished)
        placer = ValuePlacer(values.agent, played.task.game, placer_depth or 1, values.name)
    played = with_search(played, search, of_agent)
    rows = []
    try:
        for one_side in played.sides_to_evaluate(side, exact):
            task = {**played.task.env_kwargs, **options.given(side=one_side, placer=placer)}
            evaluated = played.agent, played.task.env, task
            if exact:
                row = evaluate_exactly(*evaluated, name=played.name)
            else:
                row = evaluate_sampled(*evaluated, episodes, seed, name=played.name)
            rows.append(row)  # before it is printed, since a pipe can be closed
            print(block(row))
    except Stopped as stopped:
        rows.append(stopped.row)
        print(block(stopped.row))
        raise
    finally:
        if rows and out is not None:
            write_rows(rows, out)


def _values(name: str, played: Player, unfinished: bool) -> Player:
    """Return the agent whose values a placer minimizes, in the game that is played."""
    env_kwargs = {k: v for k, v in played.task.env_kwargs.items() if k != "placer"}
    return options.check_finished(player(name, played.task.env, env_kwargs), name, unfinished)
