"""Exact evaluation: the expected result of an agent, computed over all boards instead of sampled.

On small boards of the sliding games it is a benchmark for learners, TilesExact: the fraction of the
optimal expected score.  Probabilities of boards are carried forward, age by age (see `boards`); the
expected score is the sum of all rewards, each times its probability.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from baselines.agents import Task, is_agent
from baselines.evaluation import policies
from baselines.evaluation.rows import Printed, Row
from baselines.progress import Progress
from baselines.solver.boards import merged, start_boards, tile_ages
from baselines.solver.solve import solution_of
from tile_envs.agents import Agent, check_plays
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.game import Boards, Floats, Ints
from tile_envs.games import AnyEnv, named
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.words import counted

VERSION = 1  # raised when a row of the same agent says something else
DIGITS = 9
"""Decimals of results: further ones depend on the order of additions, and so on the machine."""


def evaluate_exactly(
    agent: Agent,
    env: AnyEnv,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
) -> Row:
    """Evaluate an agent whose play depends on the board alone, and return one row of results.

        row = evaluate_exactly(agent, "Tiles2584-v0", {"shape": (2, 3)})
        row["share"]  # of the expected score of optimal play

    Args:
        agent: One with `action_probabilities(observations) -> (n, actions)`, or else with a
            `predict` that is a function of the board.
        env: An environment of this package, or its id.
        env_kwargs: Its options: a board that can be solved; in tic-tac-toe the side, X or O.
        name: The agent's name in the row, if not that of its class.

    Returns:
        The row: `agent, env, env_kwargs, side`; in the sliding games the expected score `mean`, its
        `share` of the optimum, the expected number of `moves`, and `reach`, the probability that
        each face is reached; in tic-tac-toe the fractions `win, draw, loss` against the opponent of
        the environment, and `worst`, the worst result (-1, 0 or 1) against every one.

    Raises:
        ValueError: If the game is too large, or the agent is no memoryless, legal policy.
    """
    task = Task.of(*named(env, env_kwargs))
    row, game = _begun_row(agent, name or type(agent).__name__, task), task.game
    if isinstance(game, TicTacToe):
        policy = policies.policy_of(agent, game.side)
        row |= {"side": game.side, **policies.against(policy, game.side, game)._asdict()}
        return Printed(row | {"worst": policies.against(policy, game.side).worst})
    assert isinstance(game, SlidingGame)
    optimum, result = solution_of(game).start_value, expected(agent, game)
    means = result.score, result.score / optimum if optimum else 1.0, result.moves
    row |= {n: round(v, DIGITS) for n, v in zip(("mean", "share", "moves"), means, strict=True)}
    shares = [round(share, DIGITS) for share in np.cumsum(result.ended[::-1])[::-1].tolist()]
    reach = zip(game.rules.faces[1:], shares[1:], strict=False)
    return Printed(row | {"reach": {face: share for face, share in reach if share > 0}})


def _begun_row(agent: Agent, name: str, task: Task) -> Row:
    """Check the options and the agent of a row; return the columns that name it."""
    for odd in {"starts", "max_episode_steps"} & task.env_kwargs.keys():
        raise UsageError(f"exact results are of whole games with ordinary starts: leave out {odd}.")
    if not is_agent(agent):
        raise UsageError(f"agents have predict or action_probabilities: load {brief(agent)} first.")
    check_plays(agent, task.game)
    return {"agent": name, "env": task.env, "env_kwargs": dict(task.env_kwargs), "side": None}


class Expected(NamedTuple):
    """Expected results of a game; `ended` are the probabilities of its largest tile, by tile."""

    score: float
    moves: float
    ended: Floats


def expected(agent: Agent, game: SlidingGame) -> Expected:
    score, moves, ended = 0.0, 0.0, np.zeros(game.n_values)
    for _, mass, rewards, policy, ended_now in reached(agent, game):
        weights = policy * mass[:, None]
        score += float((weights * rewards).sum())
        moves += float(weights.sum())
        ended += ended_now
    return Expected(score, moves, ended)


def reached(
    agent: Agent, game: SlidingGame
) -> Iterator[tuple[Boards, Floats, Ints, policies.Policy, Floats]]:
    """Yield all boards on which an agent may have to move, age by age; it is asked for each.

    With boards `(n, R, C)` come the probability of each, `(n,)`; rewards and the agent's
    probabilities of actions, `(n, actions)`; and those of ends now, by largest tile, `(n_values,)`.
    """
    ages = tile_ages(game.rules)
    waiting: defaultdict[int, list[tuple[Boards, Floats]]] = defaultdict(list)

    def add(boards: Boards, mass: Floats) -> None:
        age = ages[boards].sum(axis=(1, 2))
        for each in np.unique(age):
            waiting[each].append((boards[age == each], mass[age == each]))

    add(*start_boards(game))
    done = 0
    with Progress(f"{type(agent).__name__} on {game}") as progress:
        while waiting:
            waited = zip(*waiting.pop(min(waiting)), strict=True)
            boards, mass = merged(*map(np.concatenate, waited))
            done += len(boards)
            progress.update(done, counted(done, "board"))
            after, rewards, masks = game.afterstates(boards)
            on = masks.any(axis=1)
            largest = boards[~on].max(axis=(1, 2), initial=0)
            ended = np.bincount(largest, mass[~on], game.n_values).astype(np.float64)
            boards, mass, masks = boards[on], mass[on], masks[on]
            policy = masks.astype(np.float64)
            if len(boards):
                policy = policies.probabilities_of(agent, boards, masks)
            yield boards, mass, rewards[on], policy, ended
            weights = policy * mass[:, None]
            if (played := weights > 0).any():
                afterstates, mass = merged(after[on][played], weights[played])
                parents, states, probabilities = game.replies(afterstates)
                add(states, mass[parents] * probabilities)


def regret_of(agent: Agent, name: str, task: Task) -> Row:
    row, game = _begun_row(agent, name, task), task.game
    if not isinstance(game, SlidingGame):
        raise UsageError(f"regret is that of sliding games, got {game}: see evaluate_exactly.")
    solution, ages = solution_of(game), zip(*reached(agent, game), strict=True)
    boards, chances, rewards, policy, _ = map(np.concatenate, ages)
    values = solution.action_values(boards)
    losses = np.where(policy > 0, values.max(axis=1, keepdims=True) - values, np.nan)
    mean, optimum = float((chances[:, None] * policy * rewards).sum()), solution.start_value
    results = {"mean": mean, "optimum": optimum, "regret": optimum - mean}
    row |= {name: round(result, DIGITS) for name, result in results.items()}
    return row | {"boards": boards, "chances": chances, "policy": policy, "losses": losses}
