"""A person plays: tic-tac-toe against an agent, which may learn from it; any game with hints."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from baselines.commands.options import USUAL, Env, EnvKwargs, GamesSeed, How, Search, given
from baselines.players import Player, given_options, names_run, player, with_search
from baselines.registry import LEARNERS, learner_class
from baselines.task import BOTH, Task
from baselines.training import run_folder as runs
from baselines.training.config import CONFIG, RunConfig
from baselines.training.episodes import Episodes, EpisodicLearner
from baselines.training.run import configuration, presets_for, starting_options
from baselines.viewing.moves import MoveValues
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.play.player import Hints, open_screen, play_games
from tile_envs.replay import Playthrough
from tile_envs.tictactoe.positions import SIDE, O, X

ENV, PUBLISHED = "TicTacToe-v0", "published"


def play(
    against: str | None = None,
    side: Literal["X", "O"] = "X",
    show_values: bool = False,
    learn: bool = False,
    hints: str | None = None,
    env: Env = None,
    env_kwargs: EnvKwargs = None,
    search: Search = None,
    search_options: How = USUAL,
    window: bool = False,
    seed: GamesSeed = 0,
) -> None:
    """Play tic-tac-toe against an agent, or any game with an agent's hints.

    Args:
        against: A named agent of tic-tac-toe (random, greedy, minimax, minimax_first, mcts); the
            folder of a trained one; or the name of a learner, which starts untrained in
            runs/NAME-person.
        side: The side of the person against an agent.
        show_values: Show the opponent's value of each free cell.
        learn: Let the opponent learn from every game, and save it.
        hints: A named agent, or the folder of a trained one, that says what it thinks of each move.
        window: Open a window for a game with hints (extra render).
    """
    if (against is None) == (hints is None):
        raise UsageError("give either --against AGENT (tic-tac-toe) or --hints AGENT (any game).")
    if against is not None:
        if window or env_kwargs or given(env=env, search=search) or given_options(search_options):
            raise UsageError(
                "--env, --env-kwargs, --search with its options and --window go with --hints: see "
                "play --help."
            )
        _play_against(against, side, show_values, learn, seed)
    elif hints is not None:
        adviser = with_search(player(hints, env, env_kwargs, seed), search, search_options)
        game, advice = make(adviser.task.env, adviser.task.env_kwargs), hints_of(adviser)
        with open_screen(window, adviser.task.env) as screen:
            play_games(game, screen, seed, hints=advice)


def _play_against(against: str, side: str, show_values: bool, learn: bool, seed: int) -> None:
    folder = _untrained(against, seed) if against in LEARNERS else Path(against)
    other = "O" if side == "X" else "X"
    is_run = names_run(str(folder)) and folder.is_dir()
    # Read under the lock: until then another process may learn.
    with runs.lock_folder(folder) if learn and is_run else nullcontext():
        opponent = player(str(folder), ENV, {}, seed)
        agent = opponent.agent
        if learn and not isinstance(agent, EpisodicLearner):
            raise UsageError(
                f"{against} does not learn from a person: expected qtable or value_table."
            )
        if learn:
            runs.check_learns(folder, RunConfig.read(folder))
        opponent.sides_to_evaluate(BOTH if show_values else other, exact=False)
        env = make(ENV, {"opponent": agent, "side": side})
        hints = hints_of(opponent) if show_values else lambda position: ()

        def learn_from(game: Playthrough) -> None:
            if learn and game.position.over and game.actions:
                assert isinstance(agent, EpisodicLearner)
                agent.learn_from(episode_of(game, O if side == "X" else X))
                runs.write_checkpoint(folder, agent.state_dict())

        with open_screen() as screen:
            play_games(env, screen, seed, hints=hints, on_leave=learn_from)


def hints_of(player: Player) -> Hints:
    """Return what an agent thinks of the moves, as lines below the board."""
    game = player.task.game
    values = MoveValues(game, player.agent, player.name, exact=False)
    if not values.sources:
        raise UsageError(f"{player.name} has neither action values nor action probabilities.")
    return values.lines


def episode_of(game: Playthrough, mark: int) -> Episodes:
    """Return a finished game of tic-tac-toe as an episode of the environment's side, of this mark.

    A person played against that side.
    """
    observations, actions = [], []
    board = np.zeros((SIDE, SIDE), np.int8)
    for position, action in zip(game.positions, [None, *game.actions], strict=True):
        seen = board.copy()
        if action is not None:  # before the first action there may be a move of X
            seen.flat[action] = -mark
        board = position.state["board"]
        if (changed := (board != seen).ravel()).any():
            observations.append(seen * mark)
            actions.append(changed.argmax())
    rewards = np.zeros((len(actions), 1))
    rewards[-1] = game.position.info["winner"] * mark
    playing = np.ones(rewards.shape, np.bool_)
    return Episodes(np.array(observations)[:, None], np.array(actions)[:, None], rewards, playing)


def _untrained(name: str, seed: int) -> Path:
    """Return the folder of an agent that a person teaches, made when there is none yet."""
    if PUBLISHED not in presets_for(name, ENV, Task(ENV).game):
        raise UsageError(
            f"{name} does not learn from a person: expected qtable, value_table or neural, or the "
            "folder of a trained run."
        )
    folder = Path("runs", f"{name}-person")
    if not (folder / CONFIG).exists():
        options = replace(starting_options(name, ENV, PUBLISHED), seed=seed)
        config = replace(configuration(name, options), games=0, finished=True)
        learner_class(name).new(config).save(folder)
    return folder
