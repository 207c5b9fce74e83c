"""`python -m baselines evaluate`."""

from pathlib import Path
from typing import Any

from baselines.commands import options
from baselines.evaluation.comparison import NO_GAMES, Judged, over_seeds, seeds_text
from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.judging import ENV, SECONDS, judge
from baselines.evaluation.rows import block, checked_path, write_rows
from baselines.evaluation.sampled import Stopped, evaluated
from baselines.evaluation.submissions import SUFFIX, text_of
from baselines.players import Player, given_options, names_file, names_run, player, with_search
from baselines.search.placing import ValuePlacer
from baselines.settings import Count, Positive
from tile_envs.errors import UsageError


def evaluate(
    agents: options.Agents,
    /,
    env: options.Env = None,
    episodes: Count = 1000,
    seed: options.GamesSeed = 0,
    env_kwargs: options.EnvKwargs = None,
    agent_kwargs: dict[str, Any] | None = None,
    side: options.Side | None = None,
    seconds: Positive = SECONDS,
    exact: bool = False,
    wrappers: options.Wrappers = (),
    search: options.Search = None,
    search_options: options.How = options.USUAL,
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
    if out is not None:
        checked_path(out)
    if not agents:
        raise UsageError("evaluate needs an agent: its name, or the folder of its run.")
    if placer_agent is None and placer_depth is not None:
        raise UsageError("--placer-depth needs --placer-agent.")
    if placer_agent is not None and exact:
        raise UsageError("exact evaluation knows named placers only: leave out --placer-agent.")
    if placer_agent is not None and "placer" in (env_kwargs or {}):
        raise UsageError("give either --placer-agent or a placer in --env-kwargs, not both.")
    judged, failures = list[Judged](), list[str]()
    try:
        for name in agents:
            if name.endswith(SUFFIX):
                searches = search is not None or given_options(search_options)
                if any((exact, agent_kwargs, wrappers, placer_agent, searches)):
                    raise UsageError(f"{name} is a strategy: it has no options but --seconds.")
                task = {**(env_kwargs or {}), **options.given(side=side)}
                text, file = text_of(Path(name)), Path(name).name
                row = judge(text, env or ENV, episodes, seed, seconds, env_kwargs=task, name=file)
                if row["failed"] == row["episodes"]:
                    failures.append(f"{file} has failed in every game: {row['failure']}")
                    continue
                judged.append(Judged(row, ""))
                print(block(row))
                continue
            own = {**(agent_kwargs or {}), **options.given(wrappers=wrappers or None)}
            played = player(name, env, env_kwargs, seed, own)
            played = options.check_finished(played, name, unfinished)
            placer = None
            if placer_agent is not None:
                values = (
                    played if placer_agent == name else _values(placer_agent, played, unfinished)
                )
                placer = ValuePlacer(values.agent, played.task.game, placer_depth or 1, values.name)
            played = with_search(played, search, search_options)
            if agents[1:] and (names_run(name) or names_file(name)):
                played = played._replace(name=f"{name} ({played.name})")
            for one_side in played.sides_to_evaluate(side, exact):
                task = {**played.task.env_kwargs, **options.given(side=one_side, placer=placer)}
                agent, game = played.agent, played.task.env
                if exact:
                    row, returns = evaluate_exactly(agent, game, task, name=played.name), NO_GAMES
                else:
                    row, record = evaluated(agent, game, task, episodes, seed, name=played.name)
                    returns = record.returns
                one = Judged(row, played.recipe, returns, played.train_seed)
                judged.append(one)  # before it is printed, since a pipe can be closed
                print(block(one.row))
    except Stopped as stopped:
        judged.append(Judged(stopped.row, ""))
        print(block(stopped.row))
        raise
    finally:
        seeds = over_seeds(judged)
        if judged and out is not None:
            write_rows([one.row for one in judged] + seeds, out)
    for row in seeds:
        print(seeds_text(row))
    if failures:
        raise UsageError("; ".join(failures))


def _values(name: str, played: Player, unfinished: bool) -> Player:
    """Return the agent whose values a placer minimizes, in the game that is played."""
    env_kwargs = {k: v for k, v in played.task.env_kwargs.items() if k != "placer"}
    return options.check_finished(player(name, played.task.env, env_kwargs), name, unfinished)
