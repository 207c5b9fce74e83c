"""The judge: every figure of a table comes from here.

It plays a fixed list of games, so that long games count as much as short ones.  The seed of game k
is the k-th word of the judge's random stream, so that two seeds of the judge share no game.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap
from tqdm import tqdm

import tile_envs  # noqa: F401
from baselines.exact import against_random, policy_of, worst_case
from baselines.roster import Contestant
from tile_envs.agents import Agent, mask_argument
from tile_envs.checks import checked_actions
from tile_envs.random_stream import Words, ahead, mix, start

Row = dict[str, Any]

GAMES_AT_ONCE = 512
RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Record:
    """What came of a list of games.

    Attributes:
        returns: `(episodes,) float64`, the score of each game; in tic-tac-toe 1 for a win of the
            side judged (X, if the agent plays both), 0 for a draw, -1 for a loss or for too many
            illegal actions.
        tiles: `(episodes,) int64`, the face of the largest tile; 0 in tic-tac-toe.
        faces: All faces of a sliding game; none in tic-tac-toe.
        moves: How many moves the agent made.
        seconds: How long all this took, by the clock on the wall.
    """

    returns: NDArray[np.float64]
    tiles: NDArray[np.int64]
    faces: tuple[int, ...]
    moves: int
    seconds: float


def game_seeds(seed: int, games: int) -> Words:
    """Return the seeds, `(games,) uint64`, of the games of one of the judge's seeds."""
    return mix(ahead(np.array(start(seed), np.uint64), games))


def play(
    agent: Agent,
    env_id: str,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    deterministic: bool = True,
    progress: Callable[[int], object] = lambda ended: None,
) -> Record:
    """Let an agent play a list of games.

    Args:
        agent: Anything with `predict`.
        env_id: A registered environment with a native vector form.
        env_kwargs: Its options.
        episodes: How many games.
        seed: Which games.
        deterministic: Passed on to `predict`.
        progress: Called with the number of games that have just ended.

    Raises:
        ValueError: If `episodes` is not positive, the environment refuses its options, or the
            agent plays actions that are none.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be a positive integer, got {episodes}.")
    n = min(episodes, GAMES_AT_ONCE)
    envs: Any = gym.make_vec(env_id, num_envs=n, autoreset_mode="Disabled", **(env_kwargs or {}))
    # Places for which no game is left play on as game number `episodes`, which is dropped.
    seeds = np.append(game_seeds(seed, episodes), np.uint64(0))
    returns, tiles = np.zeros(episodes + 1), np.zeros(episodes + 1, np.int64)
    game, handed_out = np.arange(n), n
    observations, infos = envs.reset(seed=seeds[game])
    side = infos.get("to_play")
    state, starts = None, np.ones(n, np.bool_)
    moves, began = 0, time.perf_counter()
    while (game < episodes).any():
        playing = np.flatnonzero(game < episodes)
        # An agent with a memory must see all places every time, any other only those in use.
        asked = playing if state is None else np.arange(n)
        actions = envs.sample_legal_actions()
        chosen, state = agent.predict(
            observations[asked],
            state=state,
            episode_start=starts[asked],
            deterministic=deterministic,
            **mask_argument(agent, infos["action_mask"][asked].astype(np.bool_)),
        )
        actions[asked] = checked_actions(chosen, len(asked), envs.single.n_actions)
        moves += len(playing)
        observations, _, terminations, truncations, infos = envs.step(actions)
        starts = terminations | truncations
        ended = np.flatnonzero(starts)
        if ended.size:
            if side is None:
                returns[game[ended]] = infos["score"][ended]
                tiles[game[ended]] = infos["max_tile"][ended]
            else:
                # Whoever does not get done with illegal actions has lost.
                results = np.where(terminations, infos["winner"] * side, -1)
                returns[game[ended]] = results[ended]
            progress(int((game[ended] < episodes).sum()))
            game[ended] = np.minimum(handed_out + np.arange(len(ended)), episodes)
            handed_out += len(ended)
            observations, infos = envs.reset(seed=seeds[game], options={"reset_mask": starts})
            if side is not None:
                side[ended] = infos["to_play"][ended]
    seconds = time.perf_counter() - began
    faces = envs.single.rules.faces if side is None else ()
    return Record(returns[:episodes], tiles[:episodes], faces, moves, seconds)


def mean_score(agent: Agent, env: gym.Env[Any, Any], games: int, seed: int) -> float:
    """Return the mean score of games in an environment like this one."""
    assert env.spec is not None
    return float(play(agent, env.spec.id, env.spec.kwargs, games, seed).returns.mean())


def judge(
    agent: Agent,
    name: str,
    env_id: str,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
) -> tuple[Row, Record]:
    """Let an agent play under a progress bar, and sum up.

    Args:
        agent: Anything with `predict`.
        name: What the row calls it.
        env_id: A registered environment with a native vector form.
        env_kwargs: Its options.
        episodes: How many games.
        seed: Which games.

    Returns:
        The row (see `summary`) and the record it sums up.
    """
    with tqdm(total=episodes, unit=" games", desc=f"{name} on {env_id}", leave=False) as bar:
        record = play(agent, env_id, env_kwargs, episodes, seed, progress=bar.update)
    return summary(record, name, env_id, env_kwargs or {}, seed), record


def summary(
    record: Record, name: str, env_id: str, env_kwargs: Mapping[str, Any], seed: int
) -> Row:
    """Sum a record up in one row.

    Returns:
        `agent, env, env_kwargs, side, episodes, seed, mean, low, high, median, min, max, reach,
        moves_per_second`, and for tic-tac-toe `win, draw, loss` as shares.  `low` and `high` bound
        the mean with 95 % confidence (percentile bootstrap; None for a single game); `reach` is the
        share of games in which each face was reached.
    """
    returns = record.returns
    low, high = interval(returns, seed)
    row: Row = {
        "agent": name,
        "env": env_id,
        "env_kwargs": dict(env_kwargs),
        "side": None,
        "episodes": len(returns),
        "seed": seed,
        "mean": float(returns.mean()),
        "low": low,
        "high": high,
        "median": float(np.median(returns)),
        "min": float(returns.min()),
        "max": float(returns.max()),
        "reach": None,
        "moves_per_second": round(record.moves / record.seconds),
    }
    if not record.faces:
        shares = {"win": 1, "draw": 0, "loss": -1}
        row["side"] = env_kwargs.get("side", "X")
        return row | {key: float((returns == value).mean()) for key, value in shares.items()}
    reached = {face: float((record.tiles >= face).mean()) for face in record.faces[1:]}
    row["reach"] = {face: share for face, share in reached.items() if share > 0}
    return row


def judge_exactly(player: Contestant, side: str | None) -> Row:
    """Judge an agent of tic-tac-toe without sampling (see `exact`).

    Args:
        player: The agent, and where it plays.
        side: "X" or "O".

    Returns:
        The row: `agent, env, env_kwargs, side`, the shares `win, draw, loss` against random play,
        and `worst`, the worst result (-1, 0 or 1) against every opponent.

    Raises:
        ValueError: If the agent plays illegal moves.
    """
    assert side is not None
    policy = policy_of(player.agent, side)
    return {
        "agent": player.name,
        "env": player.env,
        "env_kwargs": {**player.env_kwargs, "side": side},
        "side": side,
        **against_random(policy, side)._asdict(),
        "worst": worst_case(policy, side),
    }


def interval(values: NDArray[np.float64], seed: int) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a mean by the percentile bootstrap; None for a single value."""
    if len(values) < 2:
        return None, None
    bounds = bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, 10_000_000 // len(values)),  # bounds the memory that is taken
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return round(float(bounds.low), 4), round(float(bounds.high), 4)
