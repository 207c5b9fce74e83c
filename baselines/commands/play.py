"""A person plays: tic-tac-toe against an agent, which may learn from it; any game with hints."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from baselines.agents import BOTH, LEARNERS, Task
from baselines.commands.options import PLAYING, GamesSeed, Playing
from baselines.players import Player, names_run, open_player
from baselines.training import run_folder as runs
from baselines.training.episodes import Episodes, EpisodicLearner
from baselines.training.learner import learner_class
from baselines.training.run import check_learns, config_for, presets_for
from baselines.training.run_folder import CONFIG, Run
from baselines.viewing.moves import MoveValues
from tile_envs.errors import UsageError
from tile_envs.games import make
from tile_envs.play.player import Hints, open_screen, play_games
from tile_envs.replay import Playthrough
from tile_envs.tictactoe.positions import CELLS, SIDE, O, X

ENV, PUBLISHED, TAUGHT = "TicTacToe-v0", "published", "qtable, value_table or neural"


def play(
    against: str | None = None,
    side: Literal["X", "O"] = "X",
    show_values: bool = False,
    learn: bool = False,
    hints: str | None = None,
    playing: Playing = PLAYING,
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
    if hints is not None:
        adviser = open_player(hints, seed=seed, **vars(playing))
        task, lines = adviser.task, hints_of(adviser)
        env = make(task.env, adviser.options(adviser.sides_to_evaluate(None, exact=False)[0]))
        with open_screen(window, task.env) as screen:
            play_games(env, screen, seed, hints=lines)
    elif window or playing != PLAYING:
        raise UsageError("--env, --shape, --search with its options and the like go with --hints.")
    elif against is not None:
        folder = _untrained(against, seed) if against in LEARNERS else Path(against)
        is_run = names_run(str(folder)) and folder.is_dir()
        # Read under the lock: until then another process may learn.
        with runs.lock_folder(folder) if learn and is_run else nullcontext():
            _play_against(folder, side, show_values, learn, seed)


def _play_against(folder: Path, side: str, show_values: bool, learn: bool, seed: int) -> None:
    opponent = open_player(folder, ENV, seed=seed)
    agent: Any = opponent.agent
    if learn and not isinstance(agent, EpisodicLearner):
        raise UsageError(f"{folder} does not learn from a person: expected {TAUGHT}.")
    if learn:
        check_learns(folder, run := Run.read(folder))
    other, mark = ("O", O) if side == "X" else ("X", X)
    opponent.sides_to_evaluate(BOTH if show_values else other, exact=False)

    def learn_from(game: Playthrough) -> None:
        if learn and game.position.over and game.actions:
            agent.learn_from(episode_of(game, mark))
            runs.write_checkpoint(folder, agent.state_dict())
            budgets = (*(run.config.budgets or (run.config.budget,)), {"games": agent.games})
            replace(run, config=replace(run.config, budgets=budgets)).write(folder)

    env = make(ENV, {"opponent": agent, "side": side})
    hints = hints_of(opponent) if show_values else lambda position: ()
    with open_screen() as screen:
        play_games(env, screen, seed, hints=hints, on_leave=learn_from)


def hints_of(player: Player) -> Hints:
    """Return what gives an agent's values of the moves, as lines below the board."""
    values = MoveValues(player.task.game, player, exact=False)
    if not values.sources:
        raise UsageError(f"{player.name} has neither action values nor action probabilities.")
    return values.lines


def episode_of(game: Playthrough, mark: int) -> Episodes:
    """Return a finished game of a person as an episode of the other side, of this mark."""
    boards = np.array([[0] * CELLS, *(p.state["board"].ravel() for p in game.positions)], np.int8)
    seen = boards[:-1].copy()
    seen[np.arange(1, len(seen)), game.actions] = -mark
    changed = boards[1:] != seen
    moved = changed.any(axis=1)
    actions, observations = changed[moved].argmax(axis=1)[:, None], (seen * mark)[moved]
    rewards = np.zeros(actions.shape)
    rewards[-1] = game.position.info["winner"] * mark
    playing = np.ones(actions.shape, np.bool_)
    return Episodes(observations.reshape(-1, 1, SIDE, SIDE), actions, rewards, playing)


def _untrained(name: str, seed: int) -> Path:
    """Return the folder of an agent that a person teaches, made when there is none yet."""
    if PUBLISHED not in presets_for(name, ENV, Task(ENV).game):
        raise UsageError(f"{name} does not learn from a person: expected {TAUGHT}.")
    folder = Path("runs", f"{name}-person")
    if not (folder / CONFIG).exists():
        config = config_for(name, ENV, preset=PUBLISHED, seed=seed)
        learner = learner_class(name).new(replace(config, games=0))
        learner.run = replace(learner.run, finished=True)
        learner.save(folder)
    return folder
