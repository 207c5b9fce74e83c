"""Small copies of trained n-tuple networks: half precision, weights only, compressed."""

from __future__ import annotations

from pathlib import Path

from baselines import runs
from baselines.lock import locked
from baselines.registry import load_player


def write_export(folder: Path, out: Path) -> None:
    """Write a copy of a trained network that `evaluate` takes like any run's folder.

    Args:
        folder: The run's folder.
        out: The folder of the copy.

    Raises:
        ValueError: If the folder does not hold a trained n-tuple network, or `out` holds a run.
    """
    config = runs.read_config(folder)
    if config["agent"] != "ntuple":
        raise ValueError(f"{folder} holds a {config['agent']}: only ntuple networks are exported.")
    if not config["finished"]:
        raise ValueError(f"{folder} is unfinished: continue it with train --resume.")
    runs.check_free(out, advice="give ")
    state = load_player(folder).agent.exported()  # type: ignore[attr-defined]
    plain = {"method": "td", "learning_rate": 0.1, "initial": 0.0}
    with locked(out):
        runs.write_checkpoint(out, state, compressed=True)
        settings = config["settings"] | plain
        runs.write_config(out, config | {"settings": settings, "exported": True})
    size = (out / runs.CHECKPOINT).stat().st_size
    print(f"{out} takes {size / 2**20:,.1f} MiB")
