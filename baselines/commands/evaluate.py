"""`python -m baselines evaluate`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from baselines.commands import options
from baselines.evaluation import parts
from baselines.evaluation.comparison import Result, write_results
from baselines.evaluation.confined import SUFFIX, text_of
from baselines.evaluation.judging import ENV, SECONDS, judge
from baselines.evaluation.rows import block, heading, in_words
from baselines.evaluation.sampled import Stopped
from baselines.players import Player, expand, open_player, play_all, with_path
from baselines.search.placing import ValuePlacer
from baselines.settings import Count, NonNegative, Positive
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
    first: Annotated[NonNegative | None, arg(name="from")] = None,
    to: Count | None = None,
    join: tuple[Path, ...] = (),
    out: options.Rows = None,
) -> None:
    """Let agents play a fixed list of games, and print the results.

    Of runs that differ in the seed alone, also the mean over these seeds, with its interval.

    Rows of hours can be made in parts, on several machines: evaluate RUN --from 0 --to 500 --out
    a.csv, evaluate RUN --from 500 --to 1000 --out b.csv, evaluate --join a.csv b.csv.

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
        first: The number of the first game of a part, from 0 on; its row keeps all scores.
        to: The number behind the last game of a part; --episodes if not given.
        join: Files of --out with all parts of rows, which are joined instead of playing games: bit
            for bit the rows of all games, if a move depends on the board alone.
    """
    if join:
        if agents:
            raise UsageError(f"leave out {agents[0]}: --join takes the files of parts alone.")
        results = parts.joined(join)
        print("\n".join(block(result.row) for result in results))
        write_results(results, out)
        return
    if is_part := first is not None or to is not None:
        first, end = first or 0, to or episodes
        if first >= end:
            raise UsageError(f"--from must be below --to, got {first} and {end}.")
        if exact or out is None or out.suffix != ".csv":
            raise UsageError("--from and --to need --out FILE.csv for the part, and no --exact.")
        episodes = end - first
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
                if exact or placer_agent or other or is_part:
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
                each_side = [(player, each) for each in player.sides_to_evaluate(side, exact)]
                played = play_all(each_side, episodes, seed, exact, first=first)
            for result in played:
                results.append(result)  # before it is printed, since a pipe can be closed
                print(block(result.row))
    except Stopped as stopped:
        results.append(Result(stopped.row, noted=stopped.noted or {"path": name}))
        print(block(stopped.row))
        raise
    finally:
        seeds = write_results(results, out)
    for row in seeds:
        what, how = f"{row['agent']} on {row['env']}", "95 % intervals over seeds"
        print(f"{heading(what, row['env_kwargs'], how)}: {in_words(row)}")
    if failures:
        raise UsageError("; ".join(failures))


def _placed_by(name: str, depth: int, player: Player, unfinished: bool) -> Player:
    task = player.task
    env_kwargs = {n: value for n, value in task.env_kwargs.items() if n != "placer"}
    other = open_player(name, task.env, env_kwargs, unfinished=unfinished)
    placer = ValuePlacer(other.agent, task.game, depth, other.name)
    return player._replace(task=replace(task, env_kwargs=env_kwargs | {"placer": placer}))
