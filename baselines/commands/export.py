"""Small copies of trained agents, for sharing, in the layout of the Hugging Face Hub.

- `config.json`: what was trained, and how; `exported` says what the copy is.
- `checkpoint.npz`: what playing needs of what was learned, compressed.
- `model.zip`: of learners on Stable-Baselines3, the model as that library loads it.
- `README.md`: the model card: how well it plays, and how it is loaded.
- `replay.mp4`: a game, where the extra `render` is installed.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

from tyro.conf import Positional, arg

from baselines.evaluation.exact import evaluate_exactly
from baselines.evaluation.rows import block
from baselines.evaluation.sampled import evaluated
from baselines.players import Player, open_player
from baselines.settings import Count, read_settings
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.learner import Learner, learner_class
from baselines.training.loop import games_played
from baselines.training.run import presets_for
from baselines.training.run_folder import Run
from baselines.viewing.film import write_film
from baselines.viewing.moves import agent_game
from tile_envs import __version__
from tile_envs.errors import UsageError
from tile_envs.files import replacing

CARD, MODEL, REPLAY = "README.md", "model.zip", "replay.mp4"
METRIC = "    - {type: mean_reward, name: mean_reward"
TEMPLATE = Path(__file__).with_name("card.txt")


def export(
    run: Annotated[Positional[Path], arg(metavar="RUN")], /, out: Path, games: Count | None = None
) -> None:
    """Make a small copy of a trained agent for the Hugging Face Hub: it plays, but cannot learn.

    Args:
        run: The run's folder, or a model in it, such as runs/d/best.zip.
        out: The folder of the copy.
        games: Games of the evaluation on the card, if not given those of a test of the run.
    """
    folder = runs.folder_of(run)
    noted = Run.read(folder)
    if not noted.finished:
        raise UsageError(f"{folder} is unfinished: continue it with train --resume.")
    there = sorted(out.iterdir()) if out.is_dir() else [out] * out.exists()
    if there or not out.name:
        raise UsageError(f"there is {(there or [out])[0]} already: give another --out.")
    learner = open_player(run).agent
    assert isinstance(learner, Learner)
    exported: dict[str, Any] = {"games_played": learner.games, "version": __version__}
    if run != folder:
        exported["model"] = run.name
    noted = replace(noted, exported=exported | (noted.exported or {}))
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as beside:
        beside.mkdir()
        runs.write_checkpoint(beside, learner.export_state())
        learner.save_model(beside / MODEL)
        noted.write(beside)
        tests = games or noted.config.test_games or learner.test_games or 100
        copied, is_deep = open_player(beside), (beside / MODEL).exists()
        card = _card(copied, noted, learner, tests, is_deep)
        (beside / CARD).write_text(card, encoding="utf-8")
        if find_spec("moviepy"):
            write_film([agent_game(copied, 0)], beside / REPLAY, speed=20.0)
    size = sum(file.stat().st_size for file in out.iterdir())
    print(f"wrote {out}, {size / 2**20:,.1f} MiB; {out / CARD} is its model card")


def _card(copied: Player, noted: Run, learner: Learner, games: int, is_deep: bool) -> str:
    agent, name, task = copied.agent, copied.name, copied.task
    config, exported, options = noted.config, noted.exported or {}, dict(task.env_kwargs)
    if task.sides:
        asked = [options | {"side": side} for side in task.sides]
        rows = [evaluate_exactly(agent, task.env, each, name=name) for each in asked]
        evaluation, how = "evaluate_exactly", str(asked[0])
        shares = [(row["side"], row["win"], row["loss"]) for row in rows]
        results = [(f" as {s}", w - x, abs(w + x - (w - x) ** 2) ** 0.5) for s, w, x in shares]
    else:
        row, record = evaluated(agent, task.env, options, games, 0, name, False)
        rows, evaluation, how = [row], "evaluate", f"{options}, episodes={games}"
        results = [("", row["mean"], record.returns.std())]
    is_taught = config.budgets or config.games == 0  # anew or by a person: no command does that
    budget = {"games": learner.games} if is_taught or config.minutes else config.budget
    varies = is_taught or config.minutes or config.settings.get("threads", 1) > 1
    varies = varies or config.settings.get("device", "cpu") != "cpu"
    card = TEMPLATE.read_text(encoding="utf-8").format(
        name=name,
        env=task.env,
        metrics="\n".join(f"{METRIC}{n}, value: {m:.2f} +/- {s:.2f}}}" for n, m, s in results),
        tags="\n- deep-reinforcement-learning\n- stable-baselines3" * is_deep,
        options="".join(f", {option}={value!r}" for option, value in options.items()),
        model=f"`{exported['model']}`" if "model" in exported else "the last checkpoint",
        learned=f"{games_played(learner)} in {noted.seconds / 60:.3g} min",
        budget=config.budgets_in_words,
        again="an agent like it" if varies else "the same agent, bit for bit",
        agent_version=config.agent_version,
        command=shlex.join(_command(config, budget)),
        versions=", ".join(f"{package} {version}" for package, version in noted.versions.items()),
        version=exported["version"],
        results=indent("\n".join(block(row, with_speed=False) for row in rows), "    "),
        imports="".join(f"import {module}\n" for module in config.modules),
        evaluation=evaluation,
        games=how,
    )
    model = f"\n`{MODEL}` is the model, for `MaskedDQN.load` or `MaskablePPO.load`.\n"
    return card + model * is_deep


def _command(config: RunConfig, budget: Mapping[str, Any]) -> list[str]:
    """Return the command that trains as a run did, with what differs from the class's defaults."""
    # By a preset without settings; where there is none, all that presets set is listed.
    learner = learner_class(config.agent)
    settings = vars(read_settings(learner.Settings, config.settings))
    default = vars(learner.Settings())
    presets = presets_for(config.agent, config.env, config.task.game)
    set_by = {name: values.keys() & settings.keys() for name, (_, values) in presets.items()}
    neutral = next((name for name, names in set_by.items() if not names), None)
    listed = set[str]() if neutral else set[str]().union(*set_by.values())
    given: dict[str, Any] = {"preset": neutral, **budget}
    given |= {n: getattr(config, n) for n in ("seed", "env_kwargs", "test_every", "test_games")}
    given["side"] = config.sides[0] if len(config.sides) == 1 else None
    given = {n: value for n, value in given.items() if value is not None and value != {}}
    given |= {n: v for n, v in settings.items() if v != default[n] or n in listed}
    words = ["python", "-m", "baselines", "train", config.agent, "--env", config.env]
    words += [word for module in config.modules for word in ("--import", module)]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        else:
            values = value if isinstance(value, tuple) else (value,)
            words += [option, *(json.dumps(v) if isinstance(v, dict) else str(v) for v in values)]
    return words
