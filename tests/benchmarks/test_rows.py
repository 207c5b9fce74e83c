"""The benchmarks: the list of experiments, the keys and records of rows, and making them."""

import copy
import json
import re
import signal
from dataclasses import make_dataclass, replace
from pathlib import Path

import pytest
from commands import command, refused

from baselines.agents import LEARNERS, agent_class
from baselines.evaluation import exact, sampled
from baselines.evaluation.rows import read_rows, write_rows
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.expectimax import Expectimax
from baselines.tabular.value_table import ValueTable
from baselines.training import recording
from baselines.training.config import key_of
from baselines.training.learner import learner_class
from baselines.training.run import presets_of
from baselines.training.run_folder import Run, lock
from benchmarks import kinds, results, training
from benchmarks.experiments import EXPERIMENTS, select
from benchmarks.kinds import Exact, Games, Measure, Pairings, Sampled, Trained
from benchmarks.libraries import table as libraries
from benchmarks.results import FOLDER, NAMES, add, digest_of, name_of, read
from benchmarks.rows import Committed
from benchmarks.run import make_missing
from benchmarks.training import DEFAULTS, Recording, Training

GAME_2048, TICTACTOE = "Tiles2048-v0", "TicTacToe-v0"
VALUES = Training("value_table", TICTACTOE, {}, preset="published")
EXACT = Exact("values", VALUES, seeds=2)
PLAYERS = {n: Training(n, TICTACTOE, {}) for n in ("random", "minimax")} | {"values": VALUES}
NETWORK = {"network": "0123 4567", "iteration_games": 5, "threads": 1}
SMALL_NTUPLE = Training("ntuple", GAME_2048, settings=NETWORK, games=10)
SMALL_DQN = {"n_envs": 2, "width": 4, "hidden": (8,), "batch_size": 8, "learning_starts": 16}
SMALL_DQN |= {"buffer_size": 20_000, "replay_steps": 2}
RECORDED = Recording(SMALL_NTUPLE, episodes=1)
AFTER_GAMES = Training("dqn", GAME_2048, settings=SMALL_DQN, replays=RECORDED, games=1)
PLACED = replace(SMALL_NTUPLE, env_kwargs={"placer": "adversary"})
PLACERS = tuple(Games(5, placer=placer) for placer in ("random", "adversary", kinds.OWN_VALUES))
BRIEF = {"turns": 1, "seconds": 0.01}
BRIDGED = BRIEF | {"games": {"tic-tac-toe": TICTACTOE}, "sizes": (2,)}
SPEED = BRIEF | {"games": ("2048",), "sizes": (1, 4)}
SMALL = {
    "agents": [Sampled("greedy", Training("greedy", GAME_2048), (Games(20),))],
    "seeds": [EXACT],
    "crosstable": [Pairings(label, PLAYERS) for label in PLAYERS],
    "ntuple": [Sampled("small", SMALL_NTUPLE, (Games(5), Games(2, depth=2), Games(2, 2, 1)))],
    "adversary": [Sampled("small, adversary", PLACED, PLACERS)],
    "deep": [Sampled("dqn, after games", AFTER_GAMES, (Games(2),))],
    "exact": [Exact("greedy", Training("greedy", GAME_2048, {"shape": [2, 2]}))],
    "solved": [Measure("boards", "speed.solutions", (), {"boards": {GAME_2048: ((2, 2),)}})],
    "speed": [Measure("environments", "speed.environments", (), SPEED)],
    "bridge": [Measure("SB3", "speed.sb3", (), BRIDGED)],
}


@pytest.fixture(autouse=True)
def _no_tests_during_training(monkeypatch):
    for name in ("ntuple", "dqn"):
        monkeypatch.setattr(agent_class(name), "test_games", 0)


def run_small(folder, *tables, experiments=SMALL):
    chosen = {table: experiments[table] for table in tables}
    return make_missing(chosen, folder / "results", folder / "runs")


def rows_in(folder, table):
    return read_rows(folder / "results" / f"{table}.csv")


# What decides a row


def wanted(experiments):
    """Return the experiment and the key of each row, by table and name; of a measure, of all."""
    rows = {}
    for table, listed in experiments.items():
        for each in listed:
            for row in each.rows(table):
                name = name_of(table, row.name) if row.name else (each.label,)
                rows[(table, *name)] = each, row.key
    return rows


def test_every_experiment_has_rows_of_its_own_and_every_committed_row_is_one_of_them():
    assert list(EXPERIMENTS) == list(NAMES)
    rows = wanted(EXPERIMENTS)
    assert len({(name[0], key) for name, (_, key) in rows.items()}) == len(rows)
    for table, experiments in EXPERIMENTS.items():
        if not isinstance(experiments[0], Measure):
            assert all((table, *name) in rows for name in read(FOLDER, table))


def test_the_key_of_every_committed_row_is_made_again_from_its_record(tmp_path):
    for table in NAMES:
        rows = read_rows(FOLDER / f"{table}.csv")
        assert [row["key"] for row in rows] == [key_of(json.loads(row["record"])) for row in rows]
        assert {row["stamp"] for row in rows} <= {"made", "recorded"}
        assert all(row["commit"] and row["date"] for row in rows)
        assert all(row["processor"] and row["seconds"] for row in rows if row["stamp"] == "made")
        add(tmp_path, table, rows)
        assert (tmp_path / f"{table}.csv").read_bytes() == (FOLDER / f"{table}.csv").read_bytes()


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [("key", "0" * 16, "00000000"), ("record", "", "no record"), ("record", '{"a": 1}', "key")],
)
def test_an_edited_row_is_refused_in_one_line(column, value, named, tmp_path):
    first, *others = read_rows(FOLDER / "seeds.csv")
    write_rows([first | {column: value}, *others], tmp_path / "seeds.csv")
    with pytest.raises(ValueError, match=rf"\A.*seeds\.csv.*{named}.*\Z"):
        read(tmp_path, "seeds")


def anew(each, **changes):
    """Return an experiment without what it has read of the presets, with a changed training."""
    if not hasattr(each, "training"):
        return each
    if recorded := each.training.replays:
        changes["replays"] = replace(recorded, player=replace(recorded.player))
    return replace(each, training=replace(each.training, **changes))


def keys_with(monkeypatch, experiment, **defaults):
    """Return the keys of an experiment where settings of networks have these defaults."""
    kind = learner_class("ntuple")
    with monkeypatch.context() as patch:
        fields = [(name, type(value), value) for name, value in defaults.items()]
        settings = make_dataclass("Settings", fields, bases=(kind.Settings,), frozen=True)
        patch.setattr(kind, "Settings", settings)
        training.defaults_of.cache_clear()
        keys = [row.key for row in anew(experiment).rows("ntuple")]
    training.defaults_of.cache_clear()
    return keys


def test_a_new_setting_changes_no_key_and_a_changed_default_those_made_with_it(monkeypatch):
    (usual,) = SMALL["ntuple"]
    before = keys_with(monkeypatch, usual)
    assert keys_with(monkeypatch, usual, temperature=0.5) == before
    assert not {*keys_with(monkeypatch, usual, late_games=7)} & {*before}
    given = replace(SMALL_NTUPLE, settings={**NETWORK, "late_games": 0})
    explicit = replace(usual, training=given)
    assert keys_with(monkeypatch, explicit, late_games=7) == before


def test_the_default_of_every_setting_is_recorded():
    recorded = json.loads(DEFAULTS.read_text())
    for agent in LEARNERS:
        assert recorded[agent].keys() == vars(learner_class(agent).Settings()).keys()


def with_preset(agent, env, preset, **changes):
    def edit(monkeypatch, experiments):
        presets = copy.deepcopy(presets_of(agent))
        presets[env][preset] |= changes
        read = {agent: presets}.get
        monkeypatch.setattr("baselines.training.run.presets_of", lambda a: read(a) or presets_of(a))

    return edit


def with_attribute(owner, name="version", value=None):
    def edit(monkeypatch, experiments):
        monkeypatch.setattr(owner, name, value or getattr(owner, name, 1) + 1, raising=False)

    return edit


def with_experiment(table, label, change):
    def edit(_, experiments):
        listed = experiments[table]
        experiments[table] = [change(each) if each.label == label else each for each in listed]

    return edit, lambda each, name: (name[0], each.label) == (table, label)


def of_kinds(*classes):
    return lambda each, name: isinstance(each, classes)


DEPTH, DOWNGRADE = (1 + NAMES["ntuple"].index(column) for column in ("depth", "downgrade"))


def searched(by_ntuple):
    return lambda each, name: (
        isinstance(each, Sampled)
        and each.training.learns
        and (name[DEPTH], name[DOWNGRADE]) != ("1", "")
        and (each.training.agent == "ntuple") == by_ntuple
    )


OTHER_PROGRAMS = (replace(libraries.PROGRAMS[0], episodes=7), *libraries.PROGRAMS[1:])
CODE = "tile_envs/sliding/packed/kernels.py"
EDITS = {
    "a setting of a preset": (
        with_preset("ntuple", "Tiles2584-v0", "course", learning_rate=0.2),
        lambda each, name: name[0] == "ntuple" and each.label.startswith("course"),
    ),
    "a setting of an experiment": with_experiment(
        *("ntuple", "two cores, 1 and 3 appear", lambda each: anew(each, settings={}))
    ),
    "the options of a measure": with_experiment(
        "threads", "2048", lambda each: replace(each, options={"turns": 1})
    ),
    "the version of a learner": (
        with_attribute(ValueTable),
        lambda _, name: "value_table" in str(name),
    ),
    "the version of the compiled search": (with_attribute(CompiledSearch), searched(True)),
    "the version of the other search": (with_attribute(Expectimax), searched(False)),
    "the version of recorded games": (
        with_attribute(recording, "VERSION"),
        lambda each, _: getattr(getattr(each, "training", None), "replays", None) is not None,
    ),
    "that of sampled evaluation": (with_attribute(sampled, "VERSION"), of_kinds(Sampled, Trained)),
    "that of exact evaluation": (with_attribute(exact, "VERSION"), of_kinds(Exact, Pairings)),
    "the program of a library": (
        with_attribute(libraries, "PROGRAMS", OTHER_PROGRAMS),
        lambda each, name: name == ("plug", *name_of("plug", OTHER_PROGRAMS[0].name())),
    ),
}


@pytest.mark.parametrize(("edit", "depends"), EDITS.values(), ids=list(EDITS))
def test_an_edit_changes_the_keys_of_the_rows_that_depend_on_it_and_no_others(
    edit, depends, monkeypatch
):
    before = wanted(EXPERIMENTS)
    experiments = {table: list(map(anew, listed)) for table, listed in EXPERIMENTS.items()}
    edit(monkeypatch, experiments)
    after = {key for _, key in wanted(experiments).values()}
    changed = {name for name, (_, key) in before.items() if key not in after}
    assert changed == {name for name, (each, _) in before.items() if depends(each, name)} != set()


def test_speeds_are_marked_when_code_changes_and_not_when_comments_do(tmp_path, monkeypatch):
    module, code = tmp_path / "tile_envs" / "it.py", 'def f(x):\n    """Say."""\n    return x + 1\n'
    module.parent.mkdir()
    monkeypatch.setattr(results, "FOLDER", tmp_path / "benchmarks" / "results")

    def digest(text):
        module.write_text(text)
        return digest_of("tile_envs.it")

    same = digest(code)
    assert digest('"""A module."""\n\n' + code.replace("Say.", "Say more.\n\n    Or less.")) == same
    assert digest(code.replace("x + 1", "x + 1  # the next")) == same
    assert digest(code.replace("x + 1", "x + 2")) != same
    assert digest(code.replace("    return", "    if x:\n        return")) != same


def test_experiments_with_the_same_training_share_its_run():
    chosen = select(["two cores, 1 and 3 appear"])
    (adversary,), (strongest,) = chosen["adversary"], chosen["ntuple"]
    assert adversary.training.minutes != strongest.training.minutes
    assert adversary.training.name(0) == strongest.training.name(0)


def test_experiments_are_chosen_by_table_label_or_both():
    assert {*select(["ntuple", "speed"])} == {"ntuple", "speed"}
    assert len(select(["one core"])["ntuple"]) == 2
    assert {*select(["dqn"])} == {"crosstable", "seeds", "deep"}
    assert [each.label for each in select(["deep/dqn"])["deep"]] == ["dqn"]
    assert {t: len(of) for t, of in select([]).items()} == {t: len(EXPERIMENTS[t]) for t in NAMES}


# Making rows


def test_the_list_shows_every_experiment_and_an_unknown_label_is_refused():
    assert "'nobody'" in refused("run", "--only", "nobody", module="benchmarks")
    lines = command("run", "--list", "--only", "seeds", module="benchmarks").stdout.splitlines()
    assert len(lines) == 1 + len(EXPERIMENTS["seeds"])
    assert re.match(r"seeds +qtable +12 of 12", lines[2])


SLOW = ("adversary", "deep")  # which compile much, and record games
TABLES = [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in SMALL]


@pytest.mark.parametrize("table", TABLES)
def test_an_experiment_makes_its_rows_once(table, tmp_path, monkeypatch):
    assert not run_small(tmp_path, table)
    path = tmp_path / "results" / f"{table}.csv"
    rows, content = rows_in(tmp_path, table), path.read_bytes()
    asked = [row for each in SMALL[table] for row in each.rows(table)]
    if asked[0].name:
        names = {name_of(table, row.name): row.key for row in asked}
        assert names == {name_of(table, row): row["key"] for row in rows}
    assert {row["key"] for row in rows} == {row.key for row in asked}
    assert {*rows[0]} <= {*read_rows(FOLDER / path.name)[0], "cores"}
    assert all(row["stamp"] == "made" and row["commit"] == results.commit() for row in rows)
    monkeypatch.setattr(kinds.Wanted, "made", None)
    assert not run_small(tmp_path, table)
    assert path.read_bytes() == content


def test_committed_rows_are_made_again_to_the_last_digit(tmp_path):
    again = select(["seeds/value_table published", "agents/random, article", "exact/greedy"])
    make_missing(again, tmp_path / "results", tmp_path / "runs")
    not_compared = {*results.made_now({}, 0.0), "training_seconds", "moves_per_second"}
    for table in again:
        known = read(FOLDER, table)
        for name, row in read(tmp_path / "results", table).items():
            for column in row.keys() - not_compared:
                assert row[column] == known[name][column]


def test_only_missing_rows_and_those_of_another_key_are_made(tmp_path):
    run_small(tmp_path, "seeds")
    path = tmp_path / "results" / "seeds.csv"
    good, old, _, other = rows = read_rows(path)
    stale = {"record": "{}", "key": key_of({}), "win": "old"}
    write_rows([good | {"win": "kept"}, old | stale, other], path)
    run_small(tmp_path, "seeds")
    times = dict.fromkeys(("seconds", "date"))
    made, before = ([row | times for row in each] for each in (read_rows(path), rows))
    assert made == [before[0] | {"win": "kept"}, *before[1:]]


def test_an_edited_experiment_is_trained_in_another_folder_and_its_row_is_made_again(tmp_path):
    run_small(tmp_path, "seeds")
    folder = tmp_path / "runs" / VALUES.name(0) / "config.json"
    before, other = folder.read_bytes(), {"seeds": [anew(EXACT, games=40)]}
    committed = Committed(tmp_path / "results", other)
    assert all(row["is_stale"] for row in committed.rows("seeds"))
    run_small(tmp_path, "seeds", experiments=other)
    assert not any(row["is_stale"] for row in committed.rows("seeds"))
    name = other["seeds"][0].training.name(0)
    assert Run.read(tmp_path / "runs" / name).config.games == 40
    assert folder.read_bytes() == before


def test_a_damaged_table_and_one_in_use_are_clear_errors_and_stay(tmp_path):
    path, content = tmp_path / "results" / "seeds.csv", b"1,2\n3,4\n"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match="'env'"):
        run_small(tmp_path, "seeds")
    with lock(path.with_suffix(".lock"), "seeds"), pytest.raises(ValueError, match="in use"):
        run_small(tmp_path, "seeds")
    assert [each.name for each in path.parent.iterdir()] == ["seeds.csv"]
    assert path.read_bytes() == content


@pytest.mark.linux
@pytest.mark.parametrize("place", ["results", "runs"])
def test_folders_that_cannot_be_written_to_are_refused_before_anything_is_made(place, tmp_path):
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs", place: Path("/proc")}
    with pytest.raises(OSError, match="/proc"):
        make_missing({"agents": SMALL["agents"]}, **folders)
    assert not list(tmp_path.rglob("*.csv"))


def test_an_interrupted_training_leaves_no_row_and_is_resumed(tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    run_small(whole, "seeds")
    learn, learned = ValueTable.learn, []

    def interrupted(self):
        learned.append(self.games)
        if learned.count(40) == 1 and self.games == 40:
            signal.raise_signal(signal.SIGINT)
        return learn(self)

    monkeypatch.setattr(ValueTable, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path, "seeds")
    assert not read(tmp_path / "results", "seeds")
    assert learned[-1] == 40
    run_small(tmp_path, "seeds")
    assert learned[41] == 41  # not from the beginning
    times = dict.fromkeys(("seconds", "training_seconds", "date"))
    ours, theirs = ([r | times for r in rows_in(each, "seeds")] for each in (tmp_path, whole))
    assert ours == theirs


def test_a_run_that_has_passed_a_budget_makes_no_row_of_it(tmp_path, monkeypatch):
    each = anew(SMALL["ntuple"][0], games=None, minutes=(1e-9, 2e-9))
    agent = each.training.train(0, 2e-9, tmp_path).agent
    monkeypatch.setattr("benchmarks.training.train", None)  # nothing is left to learn
    assert each.training.train(0, 2e-9, tmp_path).agent.games == agent.games
    failure, *_ = make_missing({"ntuple": [each]}, tmp_path / "results", tmp_path)
    assert re.search("^ntuple/small: .* 1e-09 minutes", failure)
    rows = rows_in(tmp_path, "ntuple")
    assert {row["minutes"] for row in rows if not row["error"]} == {"2e-09"}


def test_rows_that_fail_say_why_with_a_log_and_the_others_are_made(tmp_path, monkeypatch):
    def diverged(self):
        raise RuntimeError("learning has diverged")

    monkeypatch.setattr(ValueTable, "learn", diverged)
    small = {table: SMALL[table] for table in ("seeds", "agents")}
    monkeypatch.setattr("benchmarks.run.select", lambda only: small)
    folders = ("--results", tmp_path / "results", "--runs", tmp_path / "runs")
    done = command("run", *folders, module="benchmarks")
    assert "seeds/values: RuntimeError: learning has diverged and 3 more" in done.returncode
    (log,) = (tmp_path / "runs").glob("*.log")
    assert log.name == "seeds-values.log"
    assert "in diverged" in log.read_text()
    assert read(tmp_path / "results", "agents")
    failed = rows_in(tmp_path, "seeds")
    assert {row["error"] for row in failed} == {"RuntimeError: learning has diverged"}
    assert Committed(tmp_path / "results", small).rows("seeds") == []
    monkeypatch.undo()
    run_small(tmp_path, "seeds")
    assert not any(row["error"] for row in rows_in(tmp_path, "seeds"))
