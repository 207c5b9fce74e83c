"""Results of any agent, as rows: `baselines.evaluate` and `baselines.regret`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baselines.evaluation.rows import Printed, Row
from baselines.players import open_player, play_all
from tile_envs.agents import Agent
from tile_envs.games import AnyEnv


def regret(
    agent: Agent | str | Path,
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Row:
    """Compare an agent with optimal play, over all boards that its games can reach.

        row = regret("greedy", "Tiles2048-v0", {"shape": (2, 3)})
        row["regret"]  # points a game
        worst = np.nanargmax(np.nanmax(row["losses"], axis=1))
        row["boards"][worst]

    Args:
        agent: One whose play depends on the board alone (see `baselines.evaluate_exactly`), or the
            name of an agent or the folder of a run.
        env: The environment or its id; an agent by name or folder has a usual one.
        env_kwargs: The environment's options: those of a board that can be solved.

    Returns:
        The row: `agent, env, env_kwargs, side`; the expected score `mean`, that of optimal play
        `optimum`, and their difference, the `regret`; of the m states in which the agent has to
        move `boards`, `(m, R, C)` tile indices, `chances`, `(m,)`, the probability that a game
        comes there, `policy`, `(m, 4)`, its probabilities of moves, and `losses`, `(m, 4)`, the
        value of the best move less that of each one that it makes, NaN for others.
        `np.nansum(chances[:, None] * policy * losses)` is the regret.

    Raises:
        ValueError: If the game cannot be solved, or the agent is no memoryless, legal policy.
    """
    from baselines.evaluation.exact import regret_of  # late: it compiles

    played = open_player(agent, env, env_kwargs)
    return regret_of(played.agent, played.name, played.task)


def evaluate(
    agent: Agent | type[Agent] | str | Path,
    env: AnyEnv | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: int = 1000,
    seed: int = 0,
    *,
    side: str | None = None,
    search: int | None = None,
    agent_kwargs: Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: bool = False,
    **search_options: Any,
) -> Row:
    """Let an agent play a fixed list of games, and return one row of results.

        row = evaluate(agent, "Tiles2048-v0", episodes=100, search=3, milliseconds=10)
        row = evaluate("runs/q", side="O")

    Args:
        agent: Anything with `predict`, such as a model of Stable-Baselines3, or a class of it; or
            the name of an agent, the folder of a run, or the file of a model.
        env: The environment or its id; an agent by name or folder has a usual one.
        env_kwargs: The environment's options.
        episodes: The number of games.
        seed: The seed of the list of games; two seeds share no game.
        side: X, O, random or both in tic-tac-toe; usually the first that a run has learned, or X.
        search: The depth of a search with the agent's values, in moves.
        agent_kwargs: Options of a named agent, or the `wrappers` of a model that is a file.
        name: The agent's name in the row.
        progress: Whether to show progress on standard error.
        **search_options: Options of the search, the fields of `SearchOptions`: milliseconds=10.

    Returns:
        The row; see `baselines.evaluation.sampled.summary`.

    Raises:
        ValueError: If an argument is unusable, or the agent plays actions that are none.
        Stopped: If it is interrupted once the games that began together have ended.
    """
    asked = {"seed": seed, "agent_kwargs": agent_kwargs, "search": search, **search_options}
    played = open_player(agent, env, env_kwargs, **asked)
    as_side = None
    if side is not None or isinstance(agent, str | Path):
        as_side = played.sides_to_evaluate(side, exact=False)[0]
    planned = [(played._replace(name=name or played.name), as_side)]
    (result,) = play_all(planned, episodes, seed, progress=progress)
    return Printed(result.row)
