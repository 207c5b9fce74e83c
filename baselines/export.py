"""Small copies of trained n-tuple networks, for sharing, in the layout of the Hugging Face Hub.

config.json      what was trained, and how
checkpoint.npz   the weights in half precision, compressed
README.md        the model card: how well it plays, and how it is loaded
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baselines import runs
from baselines.evaluation import evaluate
from baselines.lock import LOCK, locked
from baselines.registry import Player, load_player
from baselines.rows import block
from tile_envs.files import PART, write_file

CARD = "README.md"
EPISODES = 200
UNFINISHED = {runs.CHECKPOINT, LOCK}
"""What an export that was killed leaves behind."""


def write_export(folder: Path, out: Path, episodes: int = EPISODES) -> None:
    """Write a copy of a trained network that `load` and `evaluate` take like any run's folder.

    Args:
        folder: The run's folder.
        out: The folder of the copy.
        episodes: The number of games of the evaluation on its model card.

    Raises:
        ValueError: If the folder does not hold a trained n-tuple network, or `out` holds anything.
    """
    config = runs.read_config(folder)
    if config["agent"] != "ntuple":
        raise ValueError(f"{folder} holds a {config['agent']}: only ntuple networks are exported.")
    if not config["finished"]:
        raise ValueError(f"{folder} is unfinished: continue it with train --resume.")
    runs.check_free(out, advice="give ")
    there = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if others := sorted(name for name in there - UNFINISHED if not name.endswith(PART)):
        raise ValueError(f"{out} holds {others[0]} already: give another --out.")
    state = load_player(folder).agent.exported()  # type: ignore[attr-defined]
    plain = {"method": "td", "learning_rate": 0.1, "initial": 0.0}
    with locked(out):
        runs.write_checkpoint(out, state, compressed=True)
        settings = config["settings"] | plain
        runs.write_config(out, config | {"settings": settings, "exported": True})
        card = _card(load_player(out), config, episodes)
        write_file(out / CARD, card.encode())
    size = (out / runs.CHECKPOINT).stat().st_size
    print(f"wrote {out}, {size / 2**20:,.1f} MiB; {out / CARD} is its model card")


def _card(copied: Player, config: dict[str, Any], episodes: int) -> str:
    """Return the model card of a copy, which plays the games of its evaluation first."""
    task, version = copied.task, config.get("versions", {}).get("tile-envs", "")
    row = evaluate(copied.agent, task.env, task.env_kwargs, episodes, name="ntuple")
    options = "".join(f", {name}={value!r}" for name, value in task.env_kwargs.items())
    return f"""---
library_name: tile-envs
tags:
- reinforcement-learning
- {task.env}
- n-tuple-network
model-index:
- name: ntuple
  results:
  - task:
      type: reinforcement-learning
    dataset:
      name: {task.env}
      type: {task.env}
    metrics:
    - type: mean_reward
      value: {row["mean"]:.1f}
---

# An n-tuple network for {task.env}

It plays `gym.make("{task.env}"{options})` by r + V(s') of afterstates. It was trained by
`python -m baselines train ntuple` of tile-envs {version}, with seed {config["seed"]}; `config.json`
has all settings. The weights are in half precision: it plays, but cannot go on learning.

    {block(row).replace(chr(10), chr(10) + "    ")}

Load it from a folder with these files:

```python
from baselines import evaluate, load

agent = load("FOLDER")
actions, _ = agent.predict(boards)  # tile indices, (n, R, C)
row = evaluate(agent, "{task.env}", {dict(task.env_kwargs)!r}, episodes={episodes})
```
"""
