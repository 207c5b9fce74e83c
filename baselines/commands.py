"""The commands of `python -m baselines`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tyro

from baselines import training
from baselines.evaluation import Stopped
from baselines.evaluation import evaluate as evaluate_sampled
from baselines.exact.evaluation import evaluate_exactly
from baselines.exact.queries import answers, description, read_lines
from baselines.exact.solver import solved
from baselines.export import EPISODES, write_export
from baselines.hyperparams import tuned
from baselines.options import AgentOptions, EnvOptions
from baselines.play import play_against, play_with_hints
from baselines.recording import record as record_games
from baselines.registry import AGENTS, Player, player, searching
from baselines.rows import block, checked_path, comparison, write_rows
from baselines.runs import CONFIG
from baselines.search.placing import ValuePlacer
from baselines.task import Task
from baselines.watching import watch as watching
from baselines.watching.film import FRAMES, write_gif, write_mp4
from baselines.watching.page import write_page
from tile_envs.checks import checked_count, checked_seed
from tile_envs.extras import extra
from tile_envs.files import checked_file
from tile_envs.modules import import_named
from tile_envs.playthrough import imported

LEARNERS = ", ".join(name for name, entry in AGENTS.items() if entry.learns)
IMPORT = "--import"


def train(agent: tyro.conf.Positional[str], /) -> None:
    """Train an agent. Its options and presets: `train AGENT --help`.

    Such as `train ntuple --minutes 10 --out runs/2048`. Every agent has --env, --games, --minutes,
    --seed, --out, --resume and --preset, and settings of its own.

    Args:
        agent: qtable, value_table, neural, ntuple, dqn, ppo, article, or the class of a learner of
            your own, my_module:MyLearner; then its options.
    """
    training.command(agent, [])


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
    settings = tuned(agent, imported(env or "Tiles2048-v0"), preset) if preset else {}
    options = {**settings.get("env_kwargs", {}), **(env_kwargs or {})}
    settings = {"episodes": 1000} | settings | _given(episodes=episodes, bins=bins)
    for name in settings.keys() & {"episodes", "bins"}:
        checked_count(settings[name], name)
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    of_agent = agent_kwargs or {}
    found = player(agent, env, options, seed, {} if search is not None else of_agent)
    if not found.finished:
        found = _unfinished(found, agent, unfinished)
    placer = None
    depth = checked_count(1 if placer_depth is None else placer_depth, "placer_depth")
    if placer_agent is None and placer_depth is not None:
        raise ValueError("--placer-depth is that of a --placer-agent, which is not given.")
    if placer_agent is not None:
        if exact:
            raise ValueError("exact evaluation knows named placers only: leave out --placer-agent.")
        if "placer" in (env_kwargs or {}):
            raise ValueError("give either --placer-agent or a placer in --env-kwargs, not both.")
        placer = _placer(found, placer_agent, placer_agent == agent, depth, unfinished)
    if search is not None:
        found = searching(found, search, of_agent)
    rows = []
    for played in found.sides_to_evaluate(side, exact):
        options = {**found.task.env_kwargs, **_given(side=played, placer=placer)}
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
            whose = _unfinished(whose, name, allowed)
    return ValuePlacer(whose.agent, found.task.game, depth, whose.name)


def _unfinished(found: Player, folder: str, allowed: bool) -> Player:
    """Return the agent of an unfinished run under a name that says so.

    Raises:
        ValueError: If that is not allowed.
    """
    if not allowed:
        raise ValueError(
            f"{folder} is unfinished: continue it with train --resume, or add --unfinished to "
            "evaluate what it has learned so far."
        )
    return found._replace(name=f"{found.name}, unfinished")


def solve(
    env: str = "Tiles2048-v0",
    shape: tuple[int, int] | None = None,
    env_kwargs: EnvOptions | None = None,
    query: Path | None = None,
    out: Path | None = None,
) -> None:
    """Compute the value of every reachable board of a small sliding game under optimal play.

    Args:
        env: The environment's id; my_module:Id imports the module that registers it.
        shape: Rows and columns of the board.
        env_kwargs: The environment's options, such as '{"spawn": {"1": 0.75, "3": 0.25}}'.
        query: A file with a query on each line, or - for standard input: b (a state, before the
            move) or a (an afterstate), and tile indices row by row, such as "b 1 1 0 0 0 0". Prints
            each query with its value, -1 if it is unreachable, and nothing else.
        out: The folder of the solution; if it holds one, that is loaded. `evaluate optimal` takes
            it with --agent-kwargs '{"solution": "DIR"}'.
    """
    options = {**(env_kwargs or {}), **_given(shape=shape)}
    if shape is not None and "shape" in (env_kwargs or {}):
        raise ValueError("give the shape once: by --shape, or in --env-kwargs.")
    lines = None if query is None else read_lines(query)
    solution, seconds = solved(Task.of(env, options).game, out)
    if lines is None:
        print(description(solution, seconds))
    else:
        for answer in answers(solution, lines):
            print(answer)


def play(
    against: str | None = None,
    side: str = "X",
    show_values: bool = False,
    learn: bool = False,
    hints: str | None = None,
    env: str | None = None,
    env_kwargs: EnvOptions | None = None,
    window: bool = False,
    seed: int = 0,
) -> None:
    """Play tic-tac-toe against an agent, or any game with an agent's hints.

    Args:
        against: A named agent of tic-tac-toe (random, greedy, minimax, minimax_first, mcts); the
            folder of a trained one; or the name of a learner, which starts untrained in
            runs/NAME-person.
        side: The side of the person against an agent, X or O.
        show_values: Show the opponent's value of each free cell.
        learn: Let the opponent learn from every game, and save it.
        hints: A named agent, or the folder of a trained one, that says what it thinks of each move.
        env: The environment's id of a game with hints (Tiles2048-v0, or the agent's).
        env_kwargs: The options of that environment, such as '{"shape": [3, 3]}'.
        window: Open a window for a game with hints (extra render).
        seed: The seed of the first game, and of the agent's own random numbers.
    """
    checked_seed(seed)
    if (against is None) == (hints is None):
        raise ValueError("give either --against AGENT (tic-tac-toe) or --hints AGENT (any game).")
    if against is not None:
        if env is not None or env_kwargs or window:
            raise ValueError("--env, --env-kwargs and --window go with --hints: see play --help.")
        play_against(against, side, show_values, learn, seed)
    elif hints is not None:
        play_with_hints(hints, env, env_kwargs or {}, seed, window)


def watch(
    agent: tyro.conf.Positional[str],
    /,
    env: str | None = None,
    env_kwargs: EnvOptions | None = None,
    search: int | None = None,
    seed: int | None = None,
    speed: float = 4.0,
    frames: int = FRAMES,
    window: bool = False,
    gif: Path | None = None,
    mp4: Path | None = None,
    html: Path | None = None,
) -> None:
    """Watch an agent play, with what it thinks of each move; or watch recorded games.

    Shows the game in the terminal, or in a window; with --gif, --mp4 or --html it is written to a
    file instead, which needs no terminal. Exact values are shown, too, where they are known: in
    tic-tac-toe, and on boards of at most six cells.

    Args:
        agent: The agent's name, the folder of a trained one, a replay file (.json), or a folder of
            them.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        search: The depth of a search with the values of a trained agent, in moves.
        seed: The seed of a list of games, as `evaluate` plays it; the first one is shown (0 if not
            given).
        speed: Moves a second.
        frames: The most frames of a film: a longer game is thinned out evenly, and `speed` is
            frames a second.
        window: Open a window instead (extra render).
        gif: Write a film to this file, .gif; of a folder, all games one after the other.
        mp4: Write a film of the game to this file, .mp4 (extra render).
        html: Write the game to this file, .html: a page with all its moves to step through.
    """
    if not 0 < speed < math.inf:
        raise ValueError(f"speed must be above 0 and finite, got {speed}.")
    checked_count(frames, "frames")
    files = _given(gif=gif, mp4=mp4, html=html)
    for suffix, path in files.items():
        checked_file(path, [f".{suffix}"], f"--{suffix} is")
    if files and window:
        raise ValueError("give either --window or a file to write, not both.")
    games = watching.games_of(agent, env, env_kwargs or {}, search, seed)
    if gif is not None:
        write_gif(games, gif, speed, frames)
    if mp4 is not None:
        write_mp4(games, mp4, speed, frames)
    if html is not None:
        write_page(games, html)
    for path in files.values():
        print(f"wrote {path}")
    if not files:
        watching.show(games, speed, window)


def record(
    agent: tyro.conf.Positional[str],
    /,
    out: Path,
    env: str | None = None,
    episodes: int = 20,
    seed: int = 0,
    env_kwargs: EnvOptions | None = None,
) -> None:
    """Let an agent play, and write its games to files that can be watched and learned from.

    Args:
        agent: The agent's name, or the folder of a trained one.
        out: The folder of the files; `watch` shows them. Games that it holds stay, but those of the
            same seed are replaced.
        env: The environment's id (Tiles2048-v0, or the one that the agent was trained in).
        episodes: The number of games.
        seed: The seed of the list of games, which are never those of `evaluate`; and
            of the agent's own random numbers.
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
    """
    checked_count(episodes, "episodes")
    found = player(agent, env, env_kwargs or {}, checked_seed(seed))
    record_games(found.agent, found.task, episodes, seed, out, found.name)


def plot(
    runs: tyro.conf.Positional[tuple[Path, ...]],
    /,
    out: Path = Path("curves.png"),
    against: str = "games",
    metric: str = "",
) -> None:
    """Draw the learning curves of training runs; seeds of one setting are a line with a band.

    Args:
        runs: The folders of the runs, such as runs/*.
        out: The picture to write, .png or .svg.
        against: What the curves are drawn against: games, minutes (of learning), or steps.
        metric: A column of the runs' progress.csv; the first metric of their tests if not given.
    """
    with extra("baselines"):
        from baselines.curves import plot as draw  # late: matplotlib takes half a second
    draw(runs, out, against, metric)
    print(f"wrote {out}")


def compare(
    agents: tyro.conf.Positional[tuple[str, ...]],
    /,
    episodes: int = 1000,
    seed: int = 0,
    env: str | None = None,
    env_kwargs: EnvOptions | None = None,
    search: int | None = None,
    unfinished: bool = False,
    out: Path | None = None,
) -> None:
    """Let agents play the same list of games, and print one table, the best mean first.

    Args:
        agents: Folders of training runs, such as runs/*, or names of agents.
        episodes: The number of games.
        seed: The seed of the list of games, and of the agents' own random numbers.
        env: The environment's id (what each run was trained in, and named agents play what the runs
            do).
        env_kwargs: The environment's options, such as '{"shape": [3, 3]}'.
        search: The depth of a search with the values of the trained agents; see `evaluate`.
        unfinished: Evaluate runs before their budget is used up; the agents' names say so.
        out: Write the rows to this file, .csv or .json, too.
    """
    checked_count(episodes, "episodes")
    checked_seed(seed)
    if out is not None:
        checked_path(out)
    if not agents:
        raise ValueError("compare needs agents: folders of runs, such as runs/*, or names.")
    players = []
    for name in agents:  # all of them before the first game
        if Path(name).is_dir() and not (Path(name) / CONFIG).exists():
            print(f"{name} holds no run: left out", file=sys.stderr)
            continue
        found = player(name, env, env_kwargs or {}, seed)
        if not found.finished:
            found = _unfinished(found, name, unfinished)
        if search is not None and found.trained:
            found = searching(found, search, {})
        players.append((name, found))
    runs = [found.task for _, found in players if found.trained]
    trained = {(task.env, str(task.game)): task for task in runs}
    if trained and env is None:  # a named agent plays what the runs play
        players = [
            (name, found if found.trained else player(name, task.env, task.env_kwargs, seed))
            for name, found in players
            for task in ([found.task] if found.trained else trained.values())
        ]
    rows = [
        evaluate_sampled(
            found.agent,
            found.task.env,
            {**found.task.env_kwargs, **_given(side=side)},
            episodes,
            seed,
            name=name if found.name in name else f"{name} ({found.name})",
        )
        for name, found in players
        for side in found.sides_to_evaluate(None, exact=False)
    ]
    print(comparison(rows))
    if out is not None:
        write_rows(rows, out)


def export(run: tyro.conf.Positional[Path], /, out: Path, episodes: int = EPISODES) -> None:
    """Make a small copy of a trained agent, for sharing: it plays, but cannot learn.

    The folder is laid out as the Hugging Face Hub has it; a model card says how well it plays.

    Args:
        run: The run's folder, or a model in it, such as runs/d/best.zip.
        out: The folder of the copy.
        episodes: The number of games of the evaluation on the card; in tic-tac-toe it is exact.
    """
    write_export(run, out, checked_count(episodes, "episodes"))


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


COMMANDS: dict[str, Callable[..., Any]] = {
    "train": train,
    "evaluate": evaluate,
    "solve": solve,
    "watch": watch,
    "play": play,
    "record": record,
    "plot": plot,
    "compare": compare,
    "export": export,
}


def run_typed() -> None:
    """Run the command that was typed.

    Raises:
        ValueError: If something in it is unusable; so do the commands.
    """
    _import_named_modules()
    if sys.argv[1:2] == ["train"] and sys.argv[2:3] and not sys.argv[2].startswith("-"):
        training.command(sys.argv[2], sys.argv[3:])
        return
    tyro.extras.subcommand_cli_from_dict(
        COMMANDS,
        prog="python -m baselines",
        description=(
            "Train and evaluate agents on the environments of tile_envs. "
            f"Agents: {', '.join(AGENTS)}; those that are trained: {LEARNERS}. "
            f"{IMPORT} MODULE, on any command, first imports a module with games or agents "
            "of your own, and can be repeated."
        ),
    )


def _import_named_modules() -> None:
    """Import the modules of `--import MODULE`, and take these options from the command line."""
    while IMPORT in sys.argv:
        place = sys.argv.index(IMPORT)
        if place + 1 == len(sys.argv):
            raise ValueError(f"{IMPORT} needs the name of a module.")
        import_named(sys.argv[place + 1])
        del sys.argv[place : place + 2]
