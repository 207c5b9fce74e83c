"""`python -m baselines train`: its options, and what it says at its end."""

import dataclasses
import inspect
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from baselines.errors import parsing
from baselines.evaluation.sampled import play
from baselines.registry import learner_class, usual_env
from baselines.settings import check_settings, usable_cores
from baselines.solver.boards import is_solved_quickly
from baselines.task import Task
from baselines.training.config import BUDGET, CONFIG
from baselines.training.learner import Learner, NoSettings
from baselines.training.loop import games_played
from baselines.training.run import (
    Options,
    configuration,
    presets_of,
    run,
    starting_options,
    usual_folder,
    with_budget,
)
from baselines.training.run_folder import check_free, lock_folder, resume
from baselines.training.side_by_side import side_by_side
from tile_envs.errors import UsageError
from tile_envs.games import IMPORTED, resolve_id
from tile_envs.words import counted

GAMES, MOVES = 10, 10_000
"""How many games of a test, of at most so many moves, the board at the end is the best of."""


def train(agent: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="AGENT")], /) -> None:
    """Train an agent. Its options and presets: `train AGENT --help`.

    Such as `train ntuple --minutes 10 --out runs/2048`. Every agent has the options env, games,
    minutes, seed, out, resume and preset, and settings of its own.

    Args:
        agent: qtable, value_table, neural, ntuple, dqn, ppo, or the class of a learner of your own,
            my_module:MyLearner; then its options.
    """
    train_agent(agent, [])


def train_agent(name: str, words: Sequence[str]) -> None:
    """Train an agent in a folder, with options as a command line has them."""
    learner = learner_class(name)
    taken = {field.name for field in dataclasses.fields(Options)}
    for field in dataclasses.fields(learner.Settings):
        if field.name in taken:
            raise UsageError(f"{name}.Settings.{field.name}: every run has an option of that name.")
    typed = _typed(name, words)
    env_id = resolve_id(typed.env)
    if typed.seeds is None:
        folder = typed.out or usual_folder(name, env_id, typed.seed)
        trained = run(name, dataclasses.replace(typed, out=folder))
        if "--seeds" not in words:  # of one of several seeds, nobody sees what is printed
            print(closing_text(folder, trained, typed.test_games))
        return
    if typed.out is not None and typed.out.name in ("", ".."):
        raise UsageError(f"--out must end in a name, to which --seeds adds, got '{typed.out}'.")
    commands = {}
    for seed in range(typed.seed, typed.seed + typed.seeds):
        out = typed.out and typed.out.with_name(f"{typed.out.name}-{seed}")
        folder = out or usual_folder(name, env_id, seed)
        is_resumed = typed.resume and (folder / CONFIG).exists()
        ends = ["--seeds", "None", "--seed", str(seed), "--out", str(folder)]  # the last one counts
        ends += ["--resume" if is_resumed else "--no-resume"]
        imports = [word for module in IMPORTED for word in ("--import", module)]
        commands[folder] = ["train", name, *words, *ends, *imports]
        # What is unusable is told before anything begins.
        config = configuration(name, _typed(name, [*words, *ends])).as_json()
        if is_resumed:
            with lock_folder(folder, typed.take_over):
                resume(folder, learner, config)
        else:
            check_free(folder)
    threads = getattr(typed.settings, "threads", 1)
    at_once = min(len(commands), max(1, usable_cores() // threads))
    for folder in side_by_side(commands, at_once):
        print(f"{folder} is finished")
    named = shlex.join(map(str, commands))
    print(f"\nNext:\n  python -m baselines evaluate {named}  # each, and the mean over seeds")


def _typed(name: str, words: Sequence[str]) -> Options:
    """Return the options of a run of an agent as words and its presets give them."""
    prog = f"python -m baselines train {name}"
    # The tuned numbers are the defaults, so the environment and preset must be known first.
    with parsing():
        common, _ = tyro.cli(
            Options,
            args=words,
            default=Options(NoSettings(), env="", games=None),
            prog=prog,
            return_unknown_args=True,
            add_help=False,
        )
    env_id = resolve_id(common.env or usual_env(name))
    resumed = None
    if common.resume and common.seeds is None:
        resumed = common.out or usual_folder(name, env_id, common.seed)
    usual = starting_options(name, common.env or None, common.preset, resumed, common.env_kwargs)
    usual = with_budget(usual, **{budget: getattr(common, budget) for budget in BUDGET})
    with parsing():
        typed = tyro.cli(
            Options,
            args=words,
            default=usual,
            prog=prog,
            description=_description(name, learner_class(name)),
            config=(tyro.conf.OmitArgPrefixes,),
        )
    if not common.env_kwargs:  # tyro takes no default of what a function makes
        typed = dataclasses.replace(typed, env_kwargs=usual.env_kwargs)
    check_settings(typed)
    return typed


def _description(name: str, learner: type[Learner]) -> str:
    """Return what `--help` says of a learner: what it is, and which presets there are."""
    first = (inspect.getdoc(learner) or name).split("\n")[0]
    presets = [f"{kind}: {', '.join(names)}" for kind, names in presets_of(name).items()]
    listed = f" Presets (sets of tuned settings), by kind of game or id: {'; '.join(presets)}."
    return first + listed * bool(presets)


def closing_text(folder: Path, learner: Learner, test_games: int | None = None) -> str:
    """Return what there is to say of a finished run: the best board of tests, and what is next."""
    games = min(GAMES, learner.test_games if test_games is None else test_games)
    task, agent = learner.config.task, learner.config.label
    played = f"{agent} has played {games_played(learner)}: {folder}"
    name = shlex.quote(str(folder))
    how, why = "", "play 1,000 games"
    if task.sides or is_solved_quickly(task.game):
        how, why = " --exact", "compute its exact results"
    elif hasattr(learner, "action_values"):
        how, why = " --search 2 --episodes 100", "play 100 games, looking two moves ahead"
    named = "".join(f" --import {shlex.quote(module)}" for module in IMPORTED)
    commands = {
        f"watch {name}{named}": "see it play",
        f"evaluate {name}{how}{named}": why,
        f"plot {name}": "draw its learning curve",
    }
    width = max(map(len, commands))
    lines = [f"  python -m baselines {typed:<{width}}  # {why}" for typed, why in commands.items()]
    return "\n".join([played, "", *_best_board(learner, task, games), "Next:", *lines])


def _best_board(learner: Learner, task: Task, games: int) -> list[str]:
    if task.sides or not games:
        return []
    limit = min(MOVES, task.env_kwargs.get("max_episode_steps") or MOVES)
    options = {**task.env_kwargs, "max_episode_steps": limit}
    record = play(learner, task.env, options, games, use="test")
    best = int(record.returns.argmax())
    board = task.game.draw(record.boards[best], "ansi", int(record.returns[best]))
    indented = "\n".join(f"  {line}" for line in board.splitlines())
    return [f"The best of {counted(games, 'game')} ended here:", "", indented, ""]
