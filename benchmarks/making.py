"""Makes the rows of experiments, each kind in its own way."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from baselines.evaluation import evaluate
from baselines.exact.evaluation import evaluate_exactly
from baselines.exact.tictactoe import Policy, outcome, policy_of
from baselines.hyperparams import tuned
from baselines.registry import Player, make_agent, searching
from baselines.search.placing import ValuePlacer
from baselines.task import Task
from benchmarks.experiments import SIDES
from benchmarks.kinds import OWN_VALUES, Exact, Experiment, Measure, Pairings, Sampled
from benchmarks.results import Key, Row, key_of
from benchmarks.speed.turns import machine
from benchmarks.trained import LearnedLonger, folder_of, learned, settings_of, trained
from benchmarks.wanted import exact_names, learning_name, occasions, pairs, played_name
from tile_envs.agents import Agent

NAMING = ("agent", "env", "env_kwargs", "side")
"""Columns of an exact evaluation that name what is evaluated."""
SEED = 0
"""Seed of the games that are evaluated, and of agents that are not trained."""


class Maker:
    """Makes rows, and keeps the policies that several of them need.

    Args:
        experiments: All experiments; those of one table of pairings meet each other.
        runs: The folder of the training runs.
    """

    def __init__(self, experiments: Sequence[Experiment | Measure], runs: Path) -> None:
        self._experiments, self._runs = experiments, runs
        self._policies: dict[tuple[str, str], Policy] = {}

    def rows(self, each: Experiment | Measure, missing: Collection[Key]) -> Iterator[list[Row]]:
        """Make the missing rows of an experiment, a few at a time.

        Args:
            each: The experiment.
            missing: What names the rows to make.

        Raises:
            KeyboardInterrupt: If it is interrupted; the rows that came before are complete.
        """
        if isinstance(each, Measure):
            yield import_module(each.path).rows(**each.options)
        elif isinstance(each.evaluations, Exact):
            yield from self._exact_rows(each, missing)
        elif isinstance(each.evaluations, Pairings):
            yield from self._pairing_rows(each, missing)
        elif each.trained:
            yield from self._learning_rows(each, missing)
        else:
            yield [_played_row(each)]

    def _learning_rows(self, each: Experiment, missing: Collection[Key]) -> Iterator[list[Row]]:
        for seed in range(each.seeds):
            for minutes in each.minutes or (None,):
                names = {
                    way: learning_name(each, seed, minutes, way)
                    for at, way in occasions(each)
                    if at == minutes
                }
                ways = [way for way in names if key_of(each.table, names[way]) in missing]
                if not ways:
                    continue
                try:
                    player = trained(each, seed, minutes, self._runs)
                except LearnedLonger as error:
                    print(f"{each.label}: left out, {error}", file=sys.stderr)
                    continue
                for way in ways:
                    yield [names[way] | _learning_row(each, player, way)]

    def _exact_rows(self, each: Experiment, missing: Collection[Key]) -> Iterator[list[Row]]:
        for seed in range(each.seeds):
            names = [name for name in exact_names(each) if name["seed"] == seed]
            if any(key_of(each.table, name) in missing for name in names):
                agent = self._agent(each, seed)
                seconds = learned(folder_of(each, seed, self._runs)) if each.trained else 0.0
                yield [
                    name | _exactly(agent, each, name["side"]) | {"seconds": round(seconds, 1)}
                    for name in names
                ]

    def _pairing_rows(self, each: Experiment, missing: Collection[Key]) -> Iterator[list[Row]]:
        for x, o in pairs(each, self._experiments):
            row: Row = {"x": x.label, "o": o.label}
            if key_of(each.table, row) in missing:
                shares = outcome(self._policy(x, "X"), self._policy(o, "O"))
                yield [row | {"x_wins": shares.win, "draws": shares.draw, "o_wins": shares.loss}]

    def _policy(self, each: Experiment, side: str) -> Policy:
        if (each.label, side) not in self._policies:
            agent = self._agent(each)
            for its in SIDES:
                self._policies[each.label, its] = policy_of(agent, its)
        return self._policies[each.label, side]

    def _agent(self, each: Experiment, seed: int = SEED) -> Agent:
        if each.trained:
            return trained(each, seed, None, self._runs).agent
        game = Task.of(each.env, each.env_kwargs or {}).game
        return make_agent(each.agent, game, seed=seed, **each.agent_kwargs)


def _played_row(each: Experiment) -> Row:
    """Return the row of an agent that is not trained; its preset may say how it is evaluated."""
    assert isinstance(each.evaluations, tuple)
    (way,) = each.evaluations
    preset = tuned(each.agent, each.env, each.preset)
    name = played_name(each)
    agent = make_agent(each.agent, Task.of(each.env, name["env_kwargs"]).game, SEED)
    episodes, width = preset.get("episodes", way.episodes), preset.get("bins")
    row = evaluate(
        *(agent, each.env, name["env_kwargs"], episodes, SEED), name=each.agent, bins=width
    )
    return row | {"preset": each.preset}


def _learning_row(each: Experiment, player: Player, way: Sampled) -> Row:
    """Return the columns of a learner's row beside those that name it."""
    learner: Any = player.agent
    agent, threads, task = learner, settings_of(each).threads, player.task
    if way.depth > 1:
        options = {"threads": 1 if way.samples else threads, "samples": way.samples}
        agent = searching(player, way.depth, options).agent
    options = dict(task.env_kwargs)
    if way.placer:
        own = ValuePlacer(learner, task.game) if way.placer == OWN_VALUES else way.placer
        options["placer"] = own
    row = evaluate(agent, task.env, options, way.episodes, SEED, name=each.agent)
    row["env_kwargs"] = task.env_kwargs
    return {"threads": threads, "games_learned": learner.games} | row | {"machine": machine()}


def _exactly(agent: Agent, each: Experiment, side: str | None) -> Row:
    """Return what exact evaluation says of an agent beside what names its row."""
    options = {**(each.env_kwargs or {}), **({"side": side} if side else {})}
    row = evaluate_exactly(agent, each.env, options)
    return {key: value for key, value in row.items() if key not in NAMING}
