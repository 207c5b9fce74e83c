"""`python -m baselines evaluate`."""

from __future__ import annotations

from pathlib import Path

import tyro

from baselines.commands.options import AgentOptions, EnvOptions, given, unfinished_player
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import block, checked_path, write_rows
from baselines.evaluation.sampled import Stopped
from baselines.evaluation.sampled import evaluate as evaluate_sampled
from baselines.registry import Player, player, searching
from baselines.search.placing import ValuePlacer
from baselines.training.presets import tuned
from tile_envs.base.checks import checked_count, checked_seed
from tile_envs.errors import UsageError
from tile_envs.games import resolve_id


def evaluate(
    agent: tyro.conf.Positional[str],
    /,
    env: str | None = None,
    episodes: int | None = None,
    seed: int = 0,
    env_kwargs: EnvOptions | None = None,
    agent_kwargs: AgentOptions | None = None,
    side: str | None = None,
    exact: bool = False,
    search: int | None = None,
    placer_agent: str | None = None,
    placer_depth: int | None = None,
    preset: str | None = None,
    bins: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
) -> None:
    """Let an agent play a fixed list of games, and print the results.

    Args:
        agent: The agent's name (random, greedy; on small boards of the sliding games optimal; in
            tic-tac-toe minimax, minimax_first, mcts), the folder of a trained one, a model in it,
            such as runs/d/best.zip, or a class of your own, my_module:MyAgent.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in);
            my_module:Id imports the module that registers it.
        episodes: The number of games (1000, unless a preset says otherwise).
        seed: The seed of the list of games, and of the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        agent_kwargs: A named agent's options, such as '{"playouts": 4000}' for mcts; or those of
            the search, such as '{"threads": 2, "deeper": {"3": 4}}' (depth 4 where at most 3 cells
            are empty), '{"milliseconds": 10}' (as deep as time allows, up to --search) or
            '{"samples": 1}' (one drawn new tile instead of all).
        side: The side played in tic-tac-toe: X, O, random or both (self-play). If not given, X for
            a named agent, and all sides that a trained one has learned; all sides if exact.
        exact: Compute the results exactly, over all reachable boards, instead of playing games. On
            small boards of the sliding games, the expected score and its share of the optimum; in
            tic-tac-toe, shares against random play, and the worst outcome against every opponent.
        search: The depth of a search with the values of a trained agent, in moves; 1 is no search,
            2 looks at the next tile and the move after it.
        placer_agent: The folder or name of an agent that has values of actions (a trained one, or
            optimal). A placer that minimises these values then chooses the cell of each new tile,
            instead of the environment's placer.
        placer_depth: The depth of that placer's search, in moves of the player; 1 if not given.
        preset: A preset of hyperparams.yml; other options override it.
        bins: Also count the games by score, in bins of this width.
        unfinished: Evaluate a run before its budget is used up; the agent's name says so.
        out: Write the rows to this file, .csv or .json, too.
    """
    settings = tuned(agent, resolve_id(env or "Tiles2048-v0"), preset) if preset else {}
    options = {**settings.get("env_kwargs", {}), **(env_kwargs or {})}
    settings = {"episodes": 1000} | settings | given(episodes=episodes, bins=bins)
    for name in settings.keys() & {"episodes", "bins"}:
        checked_count(settings[name], name)
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    of_agent = agent_kwargs or {}
    found = player(agent, env, options, seed, {} if search is not None else of_agent)
    if not found.finished:
        found = unfinished_player(found, agent, unfinished)
    placer = None
    depth = checked_count(1 if placer_depth is None else placer_depth, "placer_depth")
    if placer_agent is None and placer_depth is not None:
        raise UsageError("--placer-depth is that of a --placer-agent, which is not given.")
    if placer_agent is not None:
        if exact:
            raise UsageError("exact evaluation knows named placers only: leave out --placer-agent.")
        if "placer" in (env_kwargs or {}):
            raise UsageError("give either --placer-agent or a placer in --env-kwargs, not both.")
        placer = _placer(found, placer_agent, placer_agent == agent, depth, unfinished)
    if search is not None:
        found = searching(found, search, of_agent)
    rows = []
    for played in found.sides_to_evaluate(side, exact):
        options = {**found.task.env_kwargs, **given(side=played, placer=placer)}
        known = found.agent, found.task.env, options
        if exact:
            row = evaluate_exactly(*known, name=found.name)
        else:
            try:
                row = evaluate_sampled(
                    *known, settings["episodes"], seed, name=found.name, bins=settings.get("bins")
                )
            except Stopped as stopped:
                print(block(stopped.row))
                raise
        print(block(row))
        rows.append(row)
    if out is not None:
        write_rows(rows, out)


def _placer(found: Player, name: str, is_same: bool, depth: int, allowed: bool) -> ValuePlacer:
    """Return the placer that minimises the values of an agent.

    Args:
        found: The player that it places tiles against.
        name: The agent's name or folder.
        is_same: Whether that is the player itself.
        depth: The number of moves that the placer looks ahead.
        allowed: Whether an unfinished run will do.

    Raises:
        ValueError: If there is no such agent, or it has no values of this game.
    """
    whose = found
    if not is_same:
        options = {k: v for k, v in found.task.env_kwargs.items() if k != "placer"}
        whose = player(name, found.task.env, options)
        if not whose.finished:
            whose = unfinished_player(whose, name, allowed)
    return ValuePlacer(whose.agent, found.task.game, depth, whose.name)
