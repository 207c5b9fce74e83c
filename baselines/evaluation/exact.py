"""Exact evaluation: the expected result of an agent, computed over all boards instead of sampled.

On small boards of the sliding games it is a benchmark for learners, TilesExact: the fraction of
optimal expected score that an agent reaches.  The probabilities of boards are carried forward
through the game, age by age (see `boards`): from the start boards, by the agent's probabilities to
the afterstates, by those of the new tiles to the next states.  The expected score is the sum of all
rewards on the way, each times its probability.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.evaluation.exact_tictactoe import against_opponent, against_random, policy_of
from baselines.evaluation.policy import Policy, probabilities_of
from baselines.evaluation.rows import Printed, Row
from baselines.progress import Progress
from baselines.solver.boards import Boards, Mass, check_size, merged, start_boards, tile_ages
from baselines.solver.solve import solution_of
from baselines.task import Task
from tile_envs.agents import Agent, check_plays
from tile_envs.errors import UsageError
from tile_envs.games import AnyEnv, named
from tile_envs.sliding.game import SlidingGame
from tile_envs.tictactoe.game import TicTacToe
from tile_envs.words import counted

VERSION = 1
"""Raised when a row of the same agent says something else."""
DIGITS = 9
"""Decimals of results: further ones depend on the order of additions, and so on the machine."""
BATCH = 1 << 15
"""Boards that an agent is asked for at once."""


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
        env_kwargs: The environment's options: in the sliding games those of a board that can be
            solved; in tic-tac-toe the side, X or O.
        name: The agent's name in the row; the name of its class if not given.

    Returns:
        The row: `agent, env, env_kwargs, side`, and in the sliding games the expected score `mean`,
        its `share` of the optimum, the expected number of `moves`, and `reach`, the probability
        that each face is reached.  In tic-tac-toe the fractions `win, draw, loss` against the
        opponent of the environment, and `worst`, the worst result (-1, 0 or 1) against every one.

    Raises:
        ValueError: If the game is too large, or the agent plays illegal actions, or is not
            a memoryless policy.
    """
    env_id, given = named(env, env_kwargs)
    options = given or {}
    check_whole_games(options)
    game = Task.of(env_id, options).game
    check_plays(agent, game)
    row: Row = {"agent": name or type(agent).__name__, "env": env_id, "env_kwargs": options}
    if isinstance(game, SlidingGame):
        return Printed(row | {"side": None} | _sliding_columns(agent, game))
    side = options.get("side", "X")
    assert isinstance(game, TicTacToe)
    policy = policy_of(agent, side)
    results, worst = against_opponent(policy, side, game), against_random(policy, side).worst
    return Printed(row | {"side": side, **results._asdict(), "worst": worst})


def check_whole_games(options: Mapping[str, Any]) -> None:
    """Refuse by a `ValueError` options with which games are not whole."""
    for odd in {"starts", "max_episode_steps"} & options.keys():
        raise UsageError(f"exact results are of whole games with ordinary starts: leave out {odd}.")


def _sliding_columns(agent: Agent, game: SlidingGame) -> Row:
    optimum = solution_of(game).start_value
    result = expected(agent, game)
    shares = np.cumsum(result.ended[::-1])[::-1]
    faces = enumerate(game.rules.faces[: len(shares)])
    fractions = {face: round(float(shares[tile]), DIGITS) for tile, face in faces if tile}
    return {
        "mean": round(result.score, DIGITS),
        "share": round(result.score / optimum, DIGITS) if optimum else 1.0,
        "moves": round(result.moves, DIGITS),
        "reach": {face: share for face, share in fractions.items() if share > 0},
    }


class Expected(NamedTuple):
    """The expected score and number of moves of an agent's games.

    `ended`, `(n_values,)`, is the probability that a game ends with each tile as its largest.
    """

    score: float
    moves: float
    ended: NDArray[np.float64]


def expected(agent: Agent, game: SlidingGame) -> Expected:
    """Return the exact expected score of an agent in a small game; see `evaluate_exactly`."""
    score, moves, ended = 0.0, 0.0, np.zeros(game.n_values)
    for _, mass, rewards, policy, ended_now in reached(agent, game):
        weights = policy * mass[:, None]
        score += float((weights * rewards).sum())
        moves += float(weights.sum())
        ended += ended_now
    return Expected(score, moves, ended)


def reached(
    agent: Agent, game: SlidingGame
) -> Iterator[tuple[Boards, Mass, NDArray[np.int64], Policy, Mass]]:
    """Yield all boards that an agent's games can reach, age by age; it is asked for each.

    Yields:
        The boards on which the agent has to move, `(n, R, C)`; the probability that a game comes to
        each, `(n,)`; rewards and the agent's probabilities of actions, `(n, actions)`; and the
        probability that a game ends now with each tile as its largest, `(n_values,)`.
    """
    check_size(game)
    ages = tile_ages(game.rules)
    waiting: defaultdict[int, list[tuple[Boards, Mass]]] = defaultdict(list)

    def add(boards: Boards, mass: Mass) -> None:
        age = ages[boards].sum(axis=(1, 2))
        for each in np.unique(age):
            waiting[each].append((boards[age == each], mass[age == each]))

    add(*start_boards(game))
    done = 0
    with Progress(f"{type(agent).__name__} on {game}") as progress:
        while waiting:
            parts = waiting.pop(min(waiting))
            boards, mass = merged(*map(np.concatenate, zip(*parts, strict=True)))
            done += len(boards)
            progress.update(done, counted(done, "board"))
            after, rewards, masks = game.afterstates(boards)
            going_on = masks.any(axis=1)
            largest = boards[~going_on].max(axis=(1, 2), initial=0)
            ended = np.bincount(largest, mass[~going_on], game.n_values).astype(np.float64)
            boards, mass, masks = boards[going_on], mass[going_on], masks[going_on]
            policy = _policy(agent, boards, masks) if len(boards) else masks.astype(np.float64)
            yield boards, mass, rewards[going_on], policy, ended
            if not len(boards):
                continue
            weights = policy * mass[:, None]
            played = weights > 0
            afterstates, mass = merged(after[going_on][played], weights[played])
            parents, states, probabilities = game.replies(afterstates)
            add(states, mass[parents] * probabilities)


def _policy(agent: Agent, boards: Boards, masks: NDArray[np.int8]) -> Policy:
    parts = range(0, len(boards), BATCH)
    asked = (probabilities_of(agent, boards[i : i + BATCH], masks[i : i + BATCH]) for i in parts)
    return np.concatenate(list(asked))
