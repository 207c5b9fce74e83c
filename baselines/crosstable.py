"""Every agent of tic-tac-toe against every other, exactly, beside the published table."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from baselines.exact import Policy, against_random, outcome, policy_of, worst_case
from baselines.learner import SIDES
from baselines.roster import load, make_agent
from baselines.runs import CHECKPOINT
from baselines.tables import Row
from baselines.training import train_preset
from tile_envs.agents import Agent

ENV = "TicTacToe-v0"


@dataclass(frozen=True)
class Entry:
    """An agent of the table: one with a name and options, or one that is trained by a preset."""

    label: str
    agent: str
    options: Mapping[str, Any] | None = None
    preset: str | None = None
    trained: bool = False


ENTRIES = (
    Entry("random", "random"),
    Entry("minimax", "minimax"),
    Entry("minimax_first", "minimax_first"),
    Entry("mcts kept", "mcts", {"playouts": 4000, "kept": True}),
    Entry("mcts", "mcts", {"playouts": 1000}),
    Entry("qtable published", "qtable", preset="published", trained=True),
    Entry("qtable", "qtable", trained=True),
    Entry("value_table published", "value_table", preset="published", trained=True),
    Entry("value_table", "value_table", trained=True),
    Entry("neural published", "neural", preset="published", trained=True),
    Entry("neural", "neural", trained=True),
    Entry("dqn", "dqn", trained=True),
)


def crosstable(runs: Path, seed: int, labels: Sequence[str] | None = None) -> list[Row]:
    """Let every agent meet every agent, on both sides.

    Args:
        runs: Where trained agents are kept; one that is missing is trained there first.
        seed: Starts training and the agents' own random numbers.
        labels: Which entries take part; None is all.

    Returns:
        A row a pairing: `x, o, x_wins, draws, o_wins` as shares, and `published_x_wins,
        published_draws, published_o_wins`, None where nothing was published.

    Raises:
        ValueError: If there is no entry of a label.
    """
    known = {entry.label: entry for entry in ENTRIES}
    labels = _checked_labels(labels, known)
    agents = {label: _agent(known[label], runs, seed) for label in labels}
    policies: dict[tuple[str, str], Policy] = {
        (label, side): policy_of(agent, side) for label, agent in agents.items() for side in SIDES
    }
    published = {(x, o): figures for x, o, *figures in _published()}
    rows = []
    for x in labels:
        for o in labels:
            shares = outcome(policies[x, "X"], policies[o, "O"])
            theirs = [share / 100 for share in published.get((x, o), ())] or [None] * 3
            row: Row = {"x": x, "o": o}
            row |= {"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss}
            names = ("published_x_wins", "published_draws", "published_o_wins")
            rows.append(row | dict(zip(names, theirs, strict=True)))
    return rows


def text(rows: Sequence[Row]) -> str:
    """Write the rows for people, in %."""
    lines = [f"{'X':<22}{'O':<22}{'X wins':>8}{'draws':>8}{'O wins':>8}   published"]
    for row in rows:
        ours = "".join(f"{100 * row[key]:>8.2f}" for key in ("x_wins", "draws", "o_wins"))
        theirs = [row[f"published_{key}"] for key in ("x_wins", "draws", "o_wins")]
        beside = " / ".join(f"{100 * share:.1f}" for share in theirs if share is not None)
        lines.append(f"{row['x']:<22}{row['o']:<22}{ours}   {beside}".rstrip())
    return "\n".join(lines)


def spread(runs: Path, seeds: Sequence[int], labels: Sequence[str] | None = None) -> list[Row]:
    """Train every learner with several seeds, and judge each exactly.

    Args:
        runs: Where trained agents are kept; those that are missing are trained first.
        seeds: The seeds.
        labels: Which learners take part, of the labels of trained entries; None is all.

    Returns:
        A row for each learner, seed and side: `label, seed, side, win, draw, loss` against random
        play, `worst` against every opponent, and the `seconds` that training took by the clock
        (None if it was trained before).

    Raises:
        ValueError: If there is no learner of a label.
    """
    known = {entry.label: entry for entry in ENTRIES if entry.trained}
    rows: list[Row] = []
    for label in _checked_labels(labels, known):
        for seed in seeds:
            is_new = not (_folder(known[label], runs, seed) / CHECKPOINT).exists()
            began = time.monotonic()
            agent = _agent(known[label], runs, seed)
            seconds = round(time.monotonic() - began, 1) if is_new else None
            for side in SIDES:
                policy = policy_of(agent, side)
                row: Row = {"label": label, "seed": seed, "side": side}
                row |= against_random(policy, side)._asdict()
                rows.append(row | {"worst": worst_case(policy, side), "seconds": seconds})
    return rows


def spread_text(rows: Sequence[Row]) -> str:
    """Write rows of `spread` for people, in %."""
    lines = [f"{'agent':<22}{'seed':>5}  side{'wins':>9}{'draws':>9}{'losses':>9}  worst   seconds"]
    for row in rows:
        shares = "".join(f"{100 * row[key]:>9.3f}" for key in ("win", "draw", "loss"))
        seconds = "" if row["seconds"] is None else f"{row['seconds']:>10}"
        who = f"{row['label']:<22}{row['seed']:>5}  {row['side']:<4}"
        lines.append(f"{who}{shares}{row['worst']:>7}{seconds}")
    return "\n".join(lines)


def _checked_labels(labels: Sequence[str] | None, known: Mapping[str, Entry]) -> Sequence[str]:
    for label in labels or ():
        if label not in known:
            raise ValueError(f"there is no {label!r}: expected {', '.join(known)}.")
    return list(known) if labels is None else labels


def _folder(entry: Entry, runs: Path, seed: int) -> Path:
    return runs / f"{entry.label.replace(' ', '-')}-{seed}"


def _agent(entry: Entry, runs: Path, seed: int) -> Agent:
    if not entry.trained:
        return make_agent(entry.agent, ENV, seed=seed, **(entry.options or {}))
    folder = _folder(entry, runs, seed)
    if not (folder / CHECKPOINT).exists():
        train_preset(entry.agent, ENV, entry.preset, seed, folder)
    return load(folder).agent


def _published() -> list[list[Any]]:
    text = files("baselines").joinpath("published.yml").read_text(encoding="utf-8")
    figures: list[list[Any]] = yaml.safe_load(text)["tictactoe"]
    return figures
