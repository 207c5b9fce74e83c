"""The benchmarks: the list, the runner, the rows of every kind, and the pages made of them."""

import copy
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from commands import command, refused

from baselines.agents import AGENTS, STRONG, agent_class
from baselines.evaluation import exact, sampled
from baselines.evaluation.rows import read_rows, write_rows
from baselines.search.compiled_expectimax import CompiledSearch
from baselines.search.expectimax import Expectimax
from baselines.tabular.value_table import ValueTable
from baselines.training import recording
from baselines.training.run import presets_of
from baselines.training.run_folder import Run, lock
from benchmarks import kinds, report
from benchmarks.experiments import CROSSTABLE, EXPERIMENTS, QUICK, select
from benchmarks.kinds import Clients, Evaluated, Exact, Games, Measure, Pairings, Sampled
from benchmarks.libraries import clients
from benchmarks.libraries.clients import CLIENTS
from benchmarks.results import FOLDER, NAMES, add, commit, name_of, read
from benchmarks.rows import Committed
from benchmarks.run import make_missing as run
from benchmarks.speed.ntuple import Work
from benchmarks.tables import TABLES
from benchmarks.tables.table import NOTE
from benchmarks.training import ARTICLE, Recording, Training

GAME_2048, TICTACTOE = "Tiles2048-v0", "TicTacToe-v0"
NETWORK = {"network": "0123 4567", "iteration_games": 5, "threads": 1}
PLAYED = Sampled("agents", "greedy", Training("greedy", GAME_2048), (Games(20),))
VALUES = Training("value_table", TICTACTOE, {}, preset="published")
EXACT = Exact("seeds", "values", VALUES, seeds=2)
PAIRINGS = [
    Pairings("crosstable", name, Training(name, TICTACTOE, {})) for name in ("random", "minimax")
]
PAIRINGS += [Pairings("crosstable", "values", VALUES)]
SMALL_NTUPLE = Training("ntuple", GAME_2048, settings=NETWORK, games=10)
PLAYS = (Games(5), Games(2, depth=2), Games(2, depth=2, samples=1))
NTUPLE = Sampled("ntuple", "small, alone", SMALL_NTUPLE, PLAYS, seeds=2)
SMALL_DQN = {"n_envs": 2, "width": 4, "hidden": (8,), "batch_size": 8, "learning_starts": 16}
SMALL_DQN |= {"buffer_size": 20_000, "replay_steps": 2}
RECORDED = Recording(SMALL_NTUPLE, episodes=1)
AFTER_GAMES = Training("dqn", GAME_2048, settings=SMALL_DQN, replays=RECORDED, games=1)
DEEP = Sampled("deep", "dqn, after games", AFTER_GAMES, (Games(2),))
SMALL_BOARD = {"shape": [2, 2]}
AGAINST = replace(SMALL_NTUPLE, env_kwargs={"placer": "adversary"})
PLACED = tuple(Games(5, placer=placer) for placer in ("random", "adversary", kinds.OWN_VALUES))
EXACTLY = (
    Exact("exact", "greedy", Training("greedy", GAME_2048, SMALL_BOARD)),
    Exact("exact", "ntuple, small", Training("ntuple", GAME_2048, SMALL_BOARD, games=100), seeds=2),
    Sampled("adversary", "small, adversary", AGAINST, PLACED),
)
WORKS = (
    Work("TC training", "TC", 10, 4_000),
    Work("greedy play", "TC", 10, 30_000, depth=1),
    Work("search, 2-ply", "TC", 1, 300, depth=2),
)
KERNELS = {"network": "0123 4567", "taught": 10, "iteration_games": 10, "iterations": 2}
BRIEF = {"turns": 1, "seconds": 0.01, "peers": False}
BRIDGED = {"games": {"tic-tac-toe": TICTACTOE}, "sizes": (2,)}
BOARDS = {"games": ("2048", "2048, 5×5", "tic-tac-toe"), "sizes": (1, 4)}
SPEEDS = (
    Measure("kernels", "n-tuple networks", "speed.ntuple", {"turns": 1, "works": WORKS, **KERNELS}),
    Measure("solved", "small boards", "speed.solutions", {"boards": {GAME_2048: ((2, 2),)}}),
    Measure("bridge", "Stable-Baselines3", "speed.sb3", BRIEF | BRIDGED),
    Measure("speed", "start-up", "speed.start_up", {"turns": 1}),
    Measure("speed", "environments", "speed.environments", BRIEF | BOARDS),
)
SMALL = (PLAYED, EXACT, *PAIRINGS, NTUPLE, DEEP, *EXACTLY, *SPEEDS)


@pytest.fixture(autouse=True)
def _no_tests_during_training(monkeypatch):
    for name in ("ntuple", "dqn"):
        monkeypatch.setattr(agent_class(name), "test_games", 0)


def run_small(folder, *chosen, experiments=SMALL):
    return run(chosen, experiments, folder / "results", folder / "runs")


def names_in(folder, table):
    return set(read(folder / "results", table))


# The list


def wanted(experiments):
    """Return the experiment and the key of each row, by table and name; of a measure, of all."""
    rows = {}
    for each in experiments:
        for row in each.wanted(experiments):
            name = name_of(each.table, row.name) if row.name else (each.label,)
            rows[(each.table, *name)] = each, row.key
    return rows


UNASKED = {"accelerator"}
"""Tables of rows that no experiment asks for, as few machines can make them."""


def test_every_experiment_has_rows_of_its_own_and_every_committed_row_is_one_of_them():
    assert {each.table for each in EXPERIMENTS} | UNASKED == set(NAMES)
    rows = wanted(EXPERIMENTS)
    assert len({(name[0], key) for name, (_, key) in rows.items()}) == len(rows)
    alone = [e for e in EXPERIMENTS if not isinstance(e, Pairings)]  # of which two have a row
    assert sum(len(e.wanted(EXPERIMENTS)) for e in alone) + len(CROSSTABLE) ** 2 == len(rows)
    measured = {each.table for each in EXPERIMENTS if isinstance(each, Measure)}
    for table in NAMES.keys() - measured - UNASKED:
        assert all((table, *name) in rows for name in read(FOLDER, table))


def test_every_row_of_the_list_is_committed_or_in_the_list_of_missing_rows():
    committed, listed = Committed(), read_rows(report.MISSING)
    assert listed == report.missing(committed)
    missing = {(row["experiment"].partition("/")[0], row["key"]) for row in listed}
    made = {(t, row["key"]) for t in NAMES for row in committed.rows(t) if not row["is_stale"]}
    assert not made & missing
    assert made | missing == {(t, key) for t, keys in committed.wanted.items() for key in keys}


def test_committed_rows_are_sorted_and_have_keys(tmp_path):
    for table in NAMES:
        path = FOLDER / f"{table}.csv"
        if path.exists():
            rows = read_rows(path)
            if table not in UNASKED:
                assert all(re.fullmatch("([0-9a-f]{16})?", row["key"]) for row in rows)
            add(tmp_path, table, rows)
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()


# What decides a row


def anew(each, **changes):
    """Return an experiment without what it has read of the presets, with a changed training."""
    if recorded := each.training.replays:
        changes["replays"] = replace(recorded, player=replace(recorded.player))
    return replace(each, training=replace(each.training, **changes))


def with_preset(agent, env, preset, **changes):
    def edit(monkeypatch, experiments):
        presets = copy.deepcopy(presets_of(agent))
        presets[env][preset] |= changes
        read = {agent: presets}.get
        monkeypatch.setattr("baselines.training.run.presets_of", lambda a: read(a) or presets_of(a))
        return experiments

    return edit


def with_attribute(owner, name="version", value=None):
    def edit(monkeypatch, experiments):
        monkeypatch.setattr(owner, name, value or getattr(owner, name, 1) + 1, raising=False)
        return experiments

    return edit


DEPTH, DOWNGRADE = (1 + NAMES["ntuple"].index(column) for column in ("depth", "downgrade"))


def of(label):
    return lambda each, name: str(each).startswith(label)


def with_experiment(label, change):
    def edit(_, experiments):
        return [change(each) if str(each) == label else each for each in experiments]

    return edit, of(label)


def of_kinds(*classes):
    return lambda each, name: isinstance(each, classes)


def searched(by_ntuple):
    return lambda each, name: (
        isinstance(each, Sampled)
        and each.training.learns
        and (name[DEPTH], name[DOWNGRADE]) != ("1", "")
        and (each.training.agent == "ntuple") == by_ntuple
    )


OTHER_CLIENTS = (replace(CLIENTS[0], arguments={}), *CLIENTS[1:])
EDITS = {
    "a setting of a preset": (
        with_preset("ntuple", "Tiles2584-v0", "course", learning_rate=0.2),
        of("ntuple/course"),
    ),
    "a setting of an experiment": with_experiment(
        "ntuple/two cores, 1 and 3 appear", lambda e: anew(e, settings={})
    ),
    "a larger budget": with_experiment("deep/ppo, an hour", lambda e: anew(e, minutes=(24,))),
    "the version of a measure": with_experiment(
        "speed/start-up", lambda e: replace(e, version=e.version + 1)
    ),
    "the version of a learner": (
        with_attribute(ValueTable),
        lambda _, name: "value_table" in str(name),
    ),
    "the version of the compiled search": (with_attribute(CompiledSearch), searched(True)),
    "the version of the other search": (with_attribute(Expectimax), searched(False)),
    "the version of recorded games": (
        with_attribute(recording, "VERSION"),
        lambda each, _: isinstance(each, Evaluated) and each.training.replays is not None,
    ),
    "that of sampled evaluation": (
        with_attribute(sampled, "VERSION"),
        of_kinds(Sampled, Clients),
    ),
    "that of exact evaluation": (with_attribute(exact, "VERSION"), of_kinds(Exact, Pairings)),
    "the program of a client": (
        with_attribute(clients, "CLIENTS", OTHER_CLIENTS),
        lambda each, name: name[1:] == name_of("plug", CLIENTS[0].name),
    ),
}


@pytest.mark.parametrize(("edit", "depends"), EDITS.values(), ids=list(EDITS))
def test_an_edit_changes_the_keys_of_the_rows_that_depend_on_it_and_no_others(
    edit, depends, monkeypatch
):
    before = wanted(EXPERIMENTS)
    experiments = [anew(each) if isinstance(each, Evaluated) else each for each in EXPERIMENTS]
    after = {key for _, key in wanted(edit(monkeypatch, experiments)).values()}
    changed = {name for name, (_, key) in before.items() if key not in after}
    assert changed == {name for name, (each, _) in before.items() if depends(each, name)} != set()


def test_experiments_with_the_same_training_share_its_run():
    (adversary, strongest) = select(["two cores, 1 and 3 appear"])
    assert adversary.training.minutes != strongest.training.minutes
    assert adversary.training.name(0) == strongest.training.name(0)


def test_an_edited_experiment_is_trained_in_another_folder_and_its_row_is_made_again(tmp_path):
    run_small(tmp_path, EXACT)
    folder, config = tmp_path / "runs" / VALUES.name(0), "config.json"
    before = (folder / config).read_bytes()
    other = anew(EXACT, games=40)
    assert all(row["is_stale"] for row in Committed(tmp_path / "results", (other,)).rows("seeds"))
    run_small(tmp_path, other, experiments=(other,))
    assert not any(r["is_stale"] for r in Committed(tmp_path / "results", (other,)).rows("seeds"))
    assert Run.read(tmp_path / "runs" / other.training.name(0)).config.games == 40
    assert (folder / config).read_bytes() == before


def test_experiments_are_chosen_by_table_label_or_both():
    assert {each.table for each in select(["ntuple", "speed"])} == {"ntuple", "speed"}
    assert len(select(["one core"])) == 2
    assert {each.table for each in select(["dqn"])} == {"crosstable", "seeds", "deep"}
    assert {each.table for each in select(["deep/dqn"])} == {"deep"}
    assert len(select([])) == len(EXPERIMENTS)


# The command


def test_the_list_shows_every_experiment_and_an_unknown_label_is_refused():
    assert "'nobody'" in refused("run", "--only", "nobody", module="benchmarks")
    done = command("run", "--list", "--only", "seeds", "recipe", module="benchmarks")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(select(["seeds", "recipe"]))
    assert re.fullmatch(r"seeds +qtable +12 of 12 +\d+\.\d  TicTacToe-v0", lines[2])


def test_the_short_list_has_every_agent_and_environment_and_takes_minutes():
    trainings = [each.training for each in QUICK if isinstance(each, Evaluated)]
    assert {each.agent for each in trainings} == {*AGENTS, STRONG, ARTICLE}
    assert {each.env for each in trainings} == {GAME_2048, "Tiles2584-v0", TICTACTOE}
    assert not any(each.minutes for each in trainings), "they would make other rows each time"
    assert sum(row.minutes for each in QUICK for row in each.wanted(QUICK)) < 6


def test_the_short_list_prints_its_results_beside_the_published_ones(tmp_path, monkeypatch):
    few = ["agents/random", "exact/greedy", "crosstable/random", "minimax", "qtable published"]
    chosen = [each for each in select(few, QUICK) if each.training.env != "Tiles2584-v0"]
    speed = replace(SPEEDS[-1], options=SPEEDS[-1].options | {"games": ("2048",)})
    monkeypatch.setattr("benchmarks.run.QUICK", (*chosen, speed))
    quick = ("run", "--quick", "--runs", tmp_path)
    first = command(*quick, module="benchmarks").stdout
    assert re.search(r"random +1,000 +1,023 +993 to 1,055 .* 1,005 \(a beginner's", first)
    assert re.search(r"minimax +random +96\.78 / 3\.22 / 0\.00 +96\.8 / 3\.2", first)
    assert re.search(r"greedy +35\.89% +16\.16%", first)
    assert re.search(r"2048 +tile-envs, numba +~?[\d,.]+", first)
    told, _, printed = command(*quick, module="benchmarks").stdout.partition("\n")
    assert told == "All rows are there."
    assert first.endswith(printed)
    assert printed.startswith("Agents that are not trained")


# The rows, each kind in small


def unless_slow(each):
    """Mark measures that start a dozen processes."""
    slow = each.label in ("start-up", "n-tuple networks")
    return pytest.param(each, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("each", [*map(unless_slow, SMALL)], ids=lambda e: f"{e.table}, {e.label}")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_experiment_makes_its_rows_once(each, tmp_path, monkeypatch):
    run_small(tmp_path, each)
    path = tmp_path / "results" / f"{each.table}.csv"
    rows, content = read_rows(path), path.read_bytes()
    wanted = each.wanted(SMALL)
    if isinstance(each, Evaluated):
        names = {name_of(each.table, row.name): row.key for row in wanted}
        assert names == {name_of(each.table, row): row["key"] for row in rows}
    assert {row["key"] for row in rows} == {row.key for row in wanted}
    assert set(rows[0]) <= set(read_rows(FOLDER / path.name)[0]) | {"machine", "cores"}
    assert all(row["processor"] and row["commit"] == commit() for row in rows)
    monkeypatch.setattr(kinds.Wanted, "made", None)
    run_small(tmp_path, each)
    assert path.read_bytes() == content


def test_rows_of_learners_say_what_has_learned(tmp_path):
    run_small(tmp_path, NTUPLE, DEEP)
    alone, *_ = read_rows(tmp_path / "results" / "ntuple.csv")
    (deep,) = read_rows(tmp_path / "results" / "deep.csv")
    assert alone["network"] == "2 four-tuples"
    assert alone["algorithm"].startswith("TC(0.5), restart 0.2")
    assert deep["algorithm"] == "3-step DQN, after 1 recorded games"
    assert int(alone["moves_learned"]) > 10 * int(alone["games_learned"]) >= 100
    assert (alone["cores"], alone["threads"]) == ("1", "1")
    assert int(deep["moves_learned"]) > 0


def test_committed_rows_are_made_again_to_the_last_digit(tmp_path):
    again = select(["seeds/value_table published"])
    again += [e for e in EXPERIMENTS if e.table == "exact" and not e.training.learns]
    agents = (e for e in EXPERIMENTS if e.table == "agents")
    again += [e for e in agents if e.training.env == TICTACTOE or e.bins]
    run(again, EXPERIMENTS, tmp_path / "results", tmp_path / "runs")
    not_compared = {"seconds", "moves_per_second", "processor", "machine", "commit"}
    for table in ("agents", "seeds", "exact"):
        known = read(FOLDER, table)
        for name, row in read(tmp_path / "results", table).items():
            for column in row.keys() - not_compared if known[name]["key"] else ("mean", "win"):
                assert row.get(column) == known[name].get(column)


def test_only_missing_rows_and_those_of_another_key_are_made(tmp_path):
    run_small(tmp_path, EXACT)
    path = tmp_path / "results" / "seeds.csv"
    good, old, _, other = rows = read_rows(path)
    write_rows([good | {"win": "kept"}, old | {"key": "", "win": "old"}, other], path)
    run_small(tmp_path, EXACT)
    assert read_rows(path) == [good | {"win": "kept"}, *rows[1:]]


def test_a_damaged_table_is_one_clear_error_and_stays(tmp_path):
    path, content = tmp_path / "results" / "seeds.csv", b"1,2\n3,4\n"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match="'label'"):
        run_small(tmp_path, EXACT)
    assert path.read_bytes() == content


def test_one_process_at_a_time_makes_the_rows_of_a_table(tmp_path):
    (tmp_path / "results").mkdir()
    locked = lock(tmp_path / "results" / "seeds.lock", "seeds")
    with locked, pytest.raises(ValueError, match=r"seeds in .* is in use"):
        run_small(tmp_path, EXACT)
    run_small(tmp_path, EXACT)
    assert not list((tmp_path / "results").glob("*.lock"))


@pytest.mark.parametrize("place", ["results", "runs"])
def test_folders_that_cannot_be_written_to_are_refused_before_anything_is_made(place, tmp_path):
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs", place: Path("/proc")}
    with pytest.raises(OSError, match="/proc"):
        run((PLAYED,), (PLAYED,), **folders)
    assert not list(tmp_path.rglob("*.csv"))


def test_an_interrupted_training_leaves_no_row_and_is_resumed(tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    run_small(whole, EXACT)
    learn, learned = ValueTable.learn, []

    def interrupted(self):
        learned.append(self.games)
        if learned.count(40) == 1 and self.games == 40:
            signal.raise_signal(signal.SIGINT)
        return learn(self)

    monkeypatch.setattr(ValueTable, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path, EXACT)
    assert not names_in(tmp_path, "seeds")
    assert learned[-1] == 40
    run_small(tmp_path, EXACT)
    assert learned[41] == 41  # not from the beginning
    with_seconds = [read_rows(folder / "results" / "seeds.csv") for folder in (tmp_path, whole)]
    ours, theirs = ([row | {"seconds": ""} for row in rows] for rows in with_seconds)
    assert ours == theirs


def test_a_run_that_has_passed_a_budget_makes_no_row_of_it(tmp_path, monkeypatch):
    each = replace(anew(NTUPLE, games=None, minutes=(1e-9, 2e-9)), seeds=1)
    agent = each.training.train(0, 2e-9, tmp_path).agent
    monkeypatch.setattr("benchmarks.training.train", None)  # nothing is left to learn
    assert each.training.train(0, 2e-9, tmp_path).agent.games == agent.games
    failure, *_ = run((each,), (each,), tmp_path / "results", tmp_path)
    assert re.search("^ntuple/small, alone: .* 1e-09 minutes", failure)
    rows = read_rows(tmp_path / "results" / "ntuple.csv")
    assert {row["minutes"] for row in rows if not row["error"]} == {"2e-09"}


def test_rows_that_fail_say_why_with_a_log_and_the_others_are_made(tmp_path, monkeypatch):
    def diverged(self):
        raise RuntimeError("learning has diverged")

    monkeypatch.setattr(ValueTable, "learn", diverged)
    monkeypatch.setattr("benchmarks.run.EXPERIMENTS", (EXACT, PLAYED))
    folders = ("--results", tmp_path / "results", "--runs", tmp_path / "runs")
    done = command("run", *folders, module="benchmarks")
    assert "seeds/values: RuntimeError: learning has diverged and 3 more" in done.returncode
    assert "seeds/values, values, 0, X: error RuntimeError" in done.stdout
    (log,) = (tmp_path / "runs").glob("*.log")
    assert log.name == "seeds-values.log"
    assert "in diverged" in log.read_text()
    assert names_in(tmp_path, "agents")
    failed = read_rows(tmp_path / "results" / "seeds.csv")
    assert {row["error"] for row in failed} == {"RuntimeError: learning has diverged"}
    assert Committed(tmp_path / "results", SMALL).rows("seeds") == []
    monkeypatch.undo()
    run_small(tmp_path, EXACT)
    assert not any(row["error"] for row in read_rows(tmp_path / "results" / "seeds.csv"))


# The pages


def test_unknown_tables_and_damaged_cells_are_told_with_the_table(tmp_path):
    with pytest.raises(ValueError, match="'nothing'"):
        report.fill("<!-- table: nothing -->\n<!-- end -->", Committed())
    rows = read_rows(FOLDER / "plug.csv")
    write_rows([row | {"mean": "1{89.356"} for row in rows], tmp_path / "plug.csv")
    with pytest.raises(ValueError, match=r"plug.*89\.356"):
        report.fill("<!-- table: plug -->\n<!-- end -->", Committed(tmp_path))


@pytest.mark.parametrize("table", ["speed", "ntuple", "crosstable"])
def test_rows_that_the_list_no_longer_asks_for_are_marked(table, tmp_path):
    for path in FOLDER.glob("*.csv"):
        changed = {"key": ""} if path.stem == table else {}
        write_rows([row | changed for row in read_rows(path)], tmp_path / path.name)
    committed = Committed(tmp_path)
    assert all(row["is_stale"] for row in committed.rows(table))
    text = TABLES[table](committed).markdown()
    assert NOTE in text
    assert text.count(" † |") == text.count("\n") - 3  # every line below the head
    listed = command("run", "--list", "--only", table, "--results", tmp_path, module="benchmarks")
    assert (" out of date" in listed.stdout) == (table != "speed")  # which names its rows itself
