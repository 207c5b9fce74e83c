"""Small copies of trained agents, for sharing, in the layout of the Hugging Face Hub.

- `config.json`: what was trained, and how; `exported` says what the copy is.
- `checkpoint.npz`: what playing needs of what was learned, compressed.
- `model.zip`: of learners on Stable-Baselines3, the model as that library loads it.
- `README.md`: the model card: how well it plays, and how it is loaded.
"""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import block
from baselines.players import Player, evaluate, open_player
from baselines.settings import Count, read_settings
from baselines.training import run_folder as runs
from baselines.training.config import Run, RunConfig
from baselines.training.learner import Learner, learner_class
from baselines.training.loop import games_played
from baselines.training.run import config_for, presets_for
from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.files import PART
from tile_envs.words import number

CARD, MODEL = "README.md", "model.zip"


def export(
    run: Annotated[Positional[Path], arg(metavar="RUN")],
    /,
    out: Path,
    episodes: Count = 200,
) -> None:
    """Make a small copy of a trained agent, for sharing: it plays, but cannot learn.

    The folder is laid out as the Hugging Face Hub has it; a model card says how well it plays.

    Args:
        run: The run's folder, or a model in it, such as runs/d/best.zip.
        out: The folder of the copy.
        episodes: The number of games of the evaluation on the card; in tic-tac-toe it is exact.
    """
    folder = run.parent if run.suffix == runs.MODEL_SUFFIX else run
    noted = Run.read(folder)
    if not noted.finished:
        raise UsageError(f"{folder} is unfinished: continue it with train --resume.")
    runs.check_free(out)
    if not out.name:
        raise UsageError(f"--out must be a folder that can be made, got '{out}'.")
    if there := sorted(path.name for path in out.iterdir()) if out.is_dir() else []:
        raise UsageError(f"{out} holds {there[0]} already: give another --out.")
    learner = open_player(run).agent
    assert isinstance(learner, Learner)
    exported: Any = {"games_played": learner.games, "version": __version__}
    if run != folder:
        exported["model"] = run.name
    noted = replace(noted, exported=exported | (noted.exported or {}))
    beside = out.with_name(f"{out.name}{PART}")  # until it is complete
    shutil.rmtree(beside, ignore_errors=True)  # of an export that was killed
    beside.mkdir(parents=True)
    try:
        runs.write_checkpoint(beside, learner.export_state())
        learner.save_model(beside / MODEL)
        noted.write(beside)
        command = shlex.join(_command(noted.config, learner.games))
        card = _card(open_player(beside), noted, command, episodes)
        if (beside / MODEL).exists():
            card += f"\n`{MODEL}` is the model, for `MaskedDQN.load` or `MaskablePPO.load`.\n"
        (beside / CARD).write_text(card, encoding="utf-8")
        beside.replace(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    size = sum(file.stat().st_size for file in out.iterdir())
    print(f"wrote {out}, {size / 2**20:,.1f} MiB; {out / CARD} is its model card")


def _command(config: RunConfig, games: int) -> list[str]:
    """Return the command that learns as a run did: it lists what differs from the class's defaults.

    Its preset is one without settings; where there is none, it also lists what the usual one sets.
    """
    name, learner = config.agent, learner_class(config.agent)
    settings = vars(read_settings(learner.Settings, config.settings))
    default = vars(learner.Settings())
    presets = presets_for(name, config.env, config.task.game).items()
    neutral = (preset for preset, (_, values) in presets if not values.keys() & settings.keys())
    given: dict[str, Any] = {"preset": next(neutral, None), "games": games}
    usual = config_for(name, config.env, config.env_kwargs, preset=given["preset"]).settings
    given |= {n: getattr(config, n) for n in ("seed", "env_kwargs", "test_every", "test_games")}
    given["side"] = config.sides[0] if len(config.sides) == 1 else None
    words = ["python", "-m", "baselines", "train", name, "--env", config.env]
    words += [word for module in config.modules for word in ("--import", module)]
    given = {key: value for key, value in given.items() if value not in (None, {})}
    given |= {n: v for n, v in settings.items() if not v == default[n] == usual[n]}
    return words + [word for key, value in given.items() for word in _option(key, value)]


def _option(key: str, value: Any) -> list[str]:
    """Return the words of a command that give an option a value."""
    option = key.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, dict):
        return [f"--{option}", json.dumps(value)]
    return [f"--{option}", *map(str, value if isinstance(value, tuple) else (value,))]


def _again(agent: Learner) -> str:
    """Return in words what the command on a card makes."""
    config, version, settings = agent.config, type(agent).version, agent.config.settings
    if config.budgets or config.games == 0:  # a person has taught it
        return "No single command makes that run again. This one has its settings"
    but = ""
    if config.minutes and ("final_learning_rate" in settings or settings.get("averaging")):
        but += ", but for the clock that its schedules followed"
    if settings.get("threads", 1) > 1:
        but += ", but for the order in which its threads learned"
    if config.agent_version != version:
        but += f", but for what has changed in version {version} of {config.label}"
    return f"This command makes that run again{but}"


def _card(copied: Player, noted: Run, command: str, episodes: int) -> str:
    agent, name, task = copied.agent, copied.name, copied.task
    assert isinstance(agent, Learner)
    exported, config = noted.exported, noted.config
    assert exported is not None
    model = f"`{exported['model']}`" if "model" in exported else "the last checkpoint"
    learned, seconds = games_played(agent), noted.seconds
    minutes = seconds / 60
    learned += f" in {number(minutes)} minutes" if minutes > 1 else f" in {seconds:.2g} seconds"
    used = ", ".join(f"{package} {version}" for package, version in noted.versions.items())
    options = dict(task.env_kwargs)
    if task.sides:
        sides = [options | {"side": side} for side in task.sides]
        rows = [evaluate_exactly(agent, task.env, options, name=name) for options in sides]
        wins = {row["side"]: f"{row['win']:.4f}" for row in rows}
        metrics = {f"wins_as_{side}_against_random_play": win for side, win in wins.items()}
        call = f'evaluate_exactly(agent, "{task.env}", {sides[0]})'
    else:
        rows = [evaluate(agent, task.env, options, episodes, name=name)]
        metrics = {"mean_reward": f"{rows[0]['mean']:.1f}"}
        call = f'evaluate(agent, "{task.env}", {options}, episodes={episodes})'
    listed = "\n".join(f"    - type: {key}\n      value: {metrics[key]}" for key in metrics)
    results = "\n".join(block(row, with_speed=False) for row in rows).replace("\n", "\n    ")
    arguments = "".join(f", {key}={value!r}" for key, value in options.items())
    return f"""---
library_name: tile-envs
tags:
- reinforcement-learning
- {task.env}
- {name}
model-index:
- name: {name}
  results:
  - task:
      type: reinforcement-learning
    dataset:
      name: {task.env}
      type: {task.env}
    metrics:
{listed}
---

# {name} for {task.env}

It plays `gym.make("{task.env}"{arguments})`. It is {model} of a run that has learned from
{learned}; its budget: {config.budgets_in_words}.

{_again(agent)}:

```bash
{command}
```

It ran with {used}.
`config.json` has all its settings. The copy plays, but cannot go on learning; it was made
by tile-envs {exported["version"]}.

    {results}

Load it from a folder with these files:

```python
import gymnasium as gym
{"".join(f"import {module}{chr(10)}" for module in config.modules)}
import tile_envs
from baselines import {call.partition("(")[0]}, load

agent = load("FOLDER")
boards, _ = gym.make_vec("{task.env}", num_envs=8{arguments}).reset(seed=0)
actions, _ = agent.predict(boards)
row = {call}
```
"""
