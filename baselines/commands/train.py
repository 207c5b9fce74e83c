"""`python -m baselines train`: its options, several seeds at once, and what it says at its end."""

import inspect
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import docstring_parser
import tyro
from typing_extensions import Doc, TypedDict

from baselines.agents import Task
from baselines.commands import Shaped, parsing
from baselines.errors import Interrupted
from baselines.evaluation.sampled import play
from baselines.progress import Progress
from baselines.settings import SHARE, Count, free_memory, usable_cores
from baselines.solver.boards import is_solved_quickly
from baselines.training import run
from baselines.training.learner import Learner, learner_class
from baselines.training.loop import games_played
from baselines.training.run_folder import CONFIG, check_free, lock_folder
from tile_envs.base.checks import checked_count
from tile_envs.errors import UsageError
from tile_envs.games import IMPORTED
from tile_envs.words import counted

GAMES, MOVES = 10, 10_000
"""How many games of a test, of at most so many moves, the board at the end is the best of."""
OF_THE_CALL = {"resume", "checkpoint_every"}  # which do not decide the run
OTHERS = ("agent", "progress", "callback", "settings", "return")
"""The names in the signature of `baselines.train` that are no options of the command."""
SEEDS = Doc(
    "Train so many seeds, from --seed on, side by side in folders of their own; each has its seed "
    "at the end of its name."
)
HELP = {"-h", "--help"}


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
    given = typed(name, words)
    seeds, seed = given.pop("seeds", None), given.get("seed") or 0
    out, env = given.pop("out", None), given.get("env")
    if seeds is None:
        folder = out or run.usual_folder(name, env, seed)
        learner = run.train(name, **given, out=folder, progress=None)
        if "--seeds" not in words:  # of one of several seeds, nobody sees what is printed
            try:
                print(closing_text(folder, learner))
            except KeyboardInterrupt as interrupt:
                raise Interrupted(interrupt, f"stopped; the run is finished: {folder}") from None
        return
    if out and out.name in ("", ".."):
        raise UsageError(f"--out must end in a name, to which --seeds adds, got '{out}'.")
    commands, threads = {}, 1
    options = {n: v for n, v in given.items() if n not in OF_THE_CALL}
    for each in range(seed, seed + checked_count(seeds, "seeds")):
        folder = out.with_name(f"{out.name}-{each}") if out else run.usual_folder(name, env, each)
        is_resumed = given.get("resume") and (folder / CONFIG).exists()
        ask = partial(run.config_for, name, **options | {"seed": each})
        # What is unusable is told before anything begins.
        if is_resumed:
            with lock_folder(folder):
                config = run.resumed(folder, name, ask).config
        else:
            check_free(folder)
            config = ask()
        threads = config.settings.get("threads", 1)
        ends = ["--seeds", "None", "--seed", str(each), "--out", str(folder)]  # the last one counts
        ends += ["--resume" if is_resumed else "--no-resume"]
        imports = [word for module in IMPORTED for word in ("--import", module)]
        commands[folder] = ["train", name, *words, *ends, *imports]
    at_once = min(len(commands), max(1, usable_cores() // threads))
    for ended in side_by_side(commands, at_once):
        print(f"{ended} is finished")
    named = shlex.join(map(str, commands))
    print(f"\nNext:\n  python -m baselines evaluate {named}  # each, and the mean over seeds")


def typed(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of `baselines.train` that words give, by name."""
    learner = learner_class(name)
    options = get_type_hints(run.train, include_extras=True)
    for other in OTHERS:
        del options[other]
    # With `env_kwargs`, `--shape` as well.
    options |= {"env": str, "env_kwargs": Shaped[dict[str, Any]], "out": Path}
    options |= {"seeds": Annotated[Count | None, SEEDS]}
    documented = map(docstring_parser.parse_from_object, reversed(learner.Settings.__mro__[:-1]))
    said = {each.arg_name: each.description or "" for kind in documented for each in kind.params}
    for setting, kind in get_type_hints(learner.Settings, include_extras=True).items():
        if setting in options or setting in OTHERS:
            raise UsageError(f"{name}.Settings.{setting}: every run has an option of that name.")
        options[setting] = Annotated[kind, Doc(said.get(setting, ""))]
    known = TypedDict("Options", options, total=False)  # type: ignore
    known.__doc__ = run.train.__doc__
    usual, description = dict[str, Any](), ""
    if not HELP.isdisjoint(words):  # which tells the tuned numbers
        others = typed(name, [word for word in words if word not in HELP])
        named = {n: others[n] for n in ("env", "env_kwargs", "preset") if n in others}
        config = run.config_for(name, **named)
        usual = {n: getattr(config, n) for n in ("env", *run.USUAL)} | config.settings
        description = (inspect.getdoc(learner) or name).split("\n")[0]
        presets = [f"{kind}: {', '.join(names)}" for kind, names in run.presets_of(name).items()]
        if presets:
            listed = "Presets (sets of tuned settings), by kind of game or id"
            description += f" {listed}: {'; '.join(presets)}."
    how: Any = {"prog": f"python -m baselines train {name}", "description": description}
    how |= {"config": (tyro.conf.OmitArgPrefixes,), "args": words, "default": usual}
    with parsing():
        given: Any = tyro.cli(known, **how)
    return {name: value for name, value in given.items() if value != {}}


def closing_text(folder: Path, learner: Learner) -> str:
    """Return what there is to say of a finished run: the best board of tests, and what is next."""
    config, task, agent = learner.config, learner.config.task, learner.config.label
    games = min(GAMES, learner.test_games if config.test_games is None else config.test_games)
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
    options = {**task.env_kwargs, "max_episode_steps": MOVES}
    record = play(learner, task.env, options, games, use="test")
    best = int(record.returns.argmax())
    board = task.game.draw(record.boards[best], "ansi", int(record.returns[best]))
    indented = "\n".join(f"  {line}" for line in board.splitlines())
    return [f"The best of {counted(games, 'game')} ended here:", "", indented, ""]


def side_by_side(commands: Mapping[Path, Sequence[str]], at_once: int) -> Iterator[Path]:
    """Run the words of training commands, `at_once` at a time; yield each folder at its run's end.

    If one fails (`ValueError`), or the call is interrupted, the others are stopped, and can be
    resumed.
    """
    running: set[subprocess.Popen[str]] = set()
    stopping, env = threading.Event(), os.environ | {SHARE: str(free_memory() // at_once)}

    def learn(words: Sequence[str]) -> tuple[int, list[str]]:
        with subprocess.Popen(
            [sys.executable, "-m", "baselines", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,  # Ctrl-C comes once: a second one would stop without saving
        ) as process:
            running.add(process)
            if stopping.is_set():  # it has begun while the others were stopped
                process.terminate()
            said = process.communicate()[1].splitlines()
        return process.returncode, said

    with Progress("training", len(commands)) as progress, ThreadPoolExecutor(at_once) as pool:
        try:
            folders = {pool.submit(learn, words): folder for folder, words in commands.items()}
            for ended, future in enumerate(as_completed(folders), 1):
                status, said = future.result()
                if status:
                    why = said[-1].removeprefix("error: ") if said else f"status {status}"
                    raise UsageError(f"{folders[future]}: {why}")
                progress.update(ended, f"{ended} of {len(commands)} runs have ended")
                yield folders[future]
        except KeyboardInterrupt as interrupt:
            text = "stopped; the same command with --resume goes on."
            raise Interrupted(interrupt, text) from None
        finally:
            stopping.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in [*running]:
                process.terminate()
