"""Sampled evaluation: every sampled result in a table comes from here.

It plays a fixed list of games (`seeds.game_seeds`), so that long games count as much as short ones.
An agent may say how many `games_at_once` it plays, and a search the scores that it `expected`.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import tile_envs  # noqa: F401 # registers the games
from baselines.errors import Interrupted
from baselines.evaluation.intervals import interval_of_fraction, interval_of_mean
from baselines.evaluation.rows import OUTCOMES, Row
from baselines.progress import Progress, clock
from baselines.seeds import Use, game_seeds
from baselines.settings import check_batch
from tile_envs.agents import Agent, check_plays, choose_actions
from tile_envs.base.checks import checked_count, checked_seed
from tile_envs.game import Ints
from tile_envs.words import counted

VERSION = 2  # raised when a row of the same agent and games says something else
N_ENVS = 512  # games that are played side by side
QUANTILES = tuple(step / 20 for step in range(21))
"""The fractions of games that a row has a score for, from the lowest to the highest."""


@dataclass(frozen=True, eq=False)
class Record:
    """The results of a list of games.

    The return in tic-tac-toe is 1 for a win of the side that is evaluated (X of both), 0 for a
    draw, and -1 for a loss and for a truncated game.
    """

    returns: NDArray[np.float64]  # `(episodes,)`, the scores
    tiles: NDArray[np.int64]  # `(episodes,)`, the largest face that the game has shown, or 0
    boards: NDArray[Any]  # `(episodes, R, C)`, the last observation
    faces: tuple[int, ...]  # all of a sliding game
    moves: int  # of the agent, illegal ones included
    illegal: int
    seconds: float  # wall-clock time, without compiling


class Stopped(Interrupted):
    """An evaluation was interrupted; `record` and `row` are of the games before the first still on.

    To count every one that has ended would count short games more than long ones.
    """

    def __init__(self, cause: KeyboardInterrupt, record: Record, row: Row | None = None) -> None:
        super().__init__(cause)
        self.record, self.row, self.noted = record, row or {}, Row()  # `noted` as in `Result`


def evaluated(
    agent: Agent,
    env: str,
    options: Row,
    episodes: int,
    seed: int,
    name: str,
    progress: bool,
    first: int = 0,
) -> tuple[Row, Record]:
    """Let an agent play a fixed list of games; return the row, and the games that it is of."""
    before, interrupt = dict(getattr(agent, "usage", {})), None
    try:
        title = f"{name} on {env}"
        record = play(agent, env, options, episodes, seed, title, progress or None, first=first)
    except Stopped as stopped:
        interrupt, record, name = stopped, stopped.record, f"{name}, stopped"
    row = summary(record, name, env, options, int(seed))
    if hasattr(agent, "usage"):
        row["usage"] = {n: count - before.get(n, 0) for n, count in agent.usage.items()}
    if interrupt:
        raise Stopped(interrupt, record, row)
    if record.illegal:
        text = f"{name}: {record.illegal:,} of {record.moves:,} actions were illegal: "
        print(text + "these change nothing, and too many of them end a game", file=sys.stderr)
    return row, record


def play(
    agent: Agent,
    env: str,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    title: str = "",
    visible: bool | None = None,
    use: Use = "evaluation",
    first: int = 0,
    keep: Callable[[tuple[Ints, Ints]], None] | None = None,
) -> Record:
    """Let an agent play a fixed list of games, from number `first` on; two uses share no game.

    Progress is shown under a title, if there is one.  `keep` is called after each step with the
    numbers of the games that are on, and their actions, both `(n,)`.
    """
    episodes, seed = checked_count(episodes, "episodes"), checked_seed(seed)
    check_batch(episodes, "episodes", 64)  # bytes of a game's results, and of their intervals
    n, options = min(episodes, N_ENVS), {"autoreset_mode": "Disabled", **(env_kwargs or {})}
    n = min(n, checked_count(getattr(agent, "games_at_once", n), "games_at_once"))
    searching: Any = agent
    if is_search := hasattr(agent, "games_at_once") and hasattr(agent, "expected"):
        options = {"engine": "auto", **options}  # code is compiled for it anyway
    envs: Any = gym.make_vec(env, num_envs=n, **options)
    check_plays(agent, envs.game)
    # Idle environments play any legal action, into a spare slot, game `episodes`, which is dropped.
    seeds = np.append(game_seeds(seed, first + episodes, use)[first:], np.uint64(0))
    game, handed_out = np.arange(n), n
    observations, infos = envs.reset(seed=seeds[game])
    returns, tiles = np.full(episodes + 1, np.nan), np.zeros(episodes + 1, np.int64)
    boards = np.zeros((episodes + 1, *observations.shape[1:]), observations.dtype)
    # In tic-tac-toe, the side that each game is evaluated for; else its largest tile so far.
    side, largest = infos.get("to_play", 0), infos.get("max_tile", np.zeros(n, np.int64))
    faces = envs.game.rules.faces if "max_tile" in infos else ()
    state, starts = None, np.ones(n, np.bool_)
    moves, illegal, began = 0, 0, clock()

    def record(n: int) -> Record:
        return Record(returns[:n], tiles[:n], boards[:n], faces, moves, illegal, clock() - began)

    try:
        with Progress(title, episodes, shown=visible if title else False) as progress:
            while (game < episodes).any():
                playing = np.flatnonzero(game < episodes)
                # A recurrent agent must see all games every time, any other only those that are on.
                asked = playing if state is None else np.arange(n)
                masks = infos["action_mask"]
                actions = masks.argmax(axis=1)
                told = observations[asked], masks[asked], state, starts[asked]
                actions[asked], state = choose_actions(agent, *told)
                moves += len(playing)
                before = infos
                observations, _, terminations, truncations, infos = envs.step(actions)
                if keep is not None:
                    keep((game[playing], actions[playing]))
                illegal += int(infos["illegal"][playing].sum())
                largest = np.maximum(largest, infos.get("max_tile", 0))  # in some games they shrink
                starts = terminations | truncations
                if (ended := np.flatnonzero(starts)).size:
                    now, outcomes = game[ended], infos.get("winner", 0) * side
                    scores = infos.get("score", np.where(terminations, outcomes, -1))
                    returns[now], tiles[now] = scores[ended], largest[ended]
                    boards[now] = observations[ended]
                    game[ended] = np.minimum(handed_out + np.arange(len(ended)), episodes)
                    handed_out += len(ended)
                    again = {"reset_mask": starts}
                    observations, infos = envs.reset(seed=seeds[game], options=again)
                    largest = np.where(starts, infos.get("max_tile", 0), largest)
                    side = np.where(starts, infos.get("to_play", 0), side)
                if progress.shown:
                    done = float(n_ended := np.isfinite(returns[:episodes]).sum())
                    if is_search:  # and what has been played of the games that are on
                        score = before["score"][asked]
                        done += (score / np.maximum(score + searching.expected, 1)).sum()
                    words = f"{n_ended:,} of {counted(episodes, 'game')}, {counted(moves, 'move')}"
                    progress.update(done, words)
    except KeyboardInterrupt as interrupt:
        goes_on = np.append(np.isnan(returns[:episodes]), True)
        # Of games that began together, those that have ended are the short ones.
        if (n_whole := int(goes_on.argmax())) >= n:
            raise Stopped(interrupt, record(n_whole)) from None
        text = f"one of the first {n:,} is still on ({(~goes_on[:-1]).sum():,} others have ended)"
        text = f"stopped without a result: rows begin with the first game, and {text}."
        raise Interrupted(interrupt, text) from None
    return record(episodes)


def summary(record: Record, name: str, env: str, env_kwargs: Mapping[str, Any], seed: int) -> Row:
    """Return the row of a record.

    It holds `agent, env, env_kwargs, side, episodes, seed, mean, median, min, max`, the rounded
    `moves_per_second`, and in tic-tac-toe the fractions `win, draw, loss`.  `low` and `high` bound
    the mean with 95 % confidence (`interval_method`); `quantiles` are the scores at `QUANTILES`,
    `reach` the fractions of games that reached each face, and `fraction_intervals` the Wilson
    intervals of these or of `win, draw, loss`: None for a single game.
    """
    returns, n = record.returns, len(record.returns)
    row: Row = {"agent": name, "env": env, "env_kwargs": dict(env_kwargs), "side": None}
    row |= {"episodes": n, "seed": seed, "mean": float(returns.mean())}
    row |= interval_of_mean(returns, are_outcomes=not record.faces)
    row |= {"median": float(np.median(returns)), "min": float(returns.min())}
    row |= {"max": float(returns.max()), "quantiles": None, "reach": None}
    row |= {"fraction_intervals": None, "moves_per_second": round(record.moves / record.seconds)}
    counts: dict[Any, int]
    if record.faces:
        row["quantiles"] = np.quantile(returns, QUANTILES, method="lower").tolist()
        reached = [face for face in record.faces[1:] if face <= record.tiles.max()]
        counts = {face: int((record.tiles >= face).sum()) for face in reached}
        row["reach"] = {face: count / n for face, count in counts.items()}
    else:
        row["side"] = env_kwargs.get("side", "X")
        values = zip(OUTCOMES, (1, 0, -1), strict=True)
        counts = {name: int((returns == value).sum()) for name, value in values}
        row |= {name: count / n for name, count in counts.items()}
    if n > 1:
        intervals = {key: list(interval_of_fraction(count, n)) for key, count in counts.items()}
        row["fraction_intervals"] = intervals
    return row
