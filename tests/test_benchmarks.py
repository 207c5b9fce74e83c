"""The benchmarks: the list, the runner, the rows of every kind, and the pages made of them."""

import dataclasses
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from commands import command, refused

from baselines.evaluation.rows import read_rows, write_rows
from baselines.registry import AGENTS, agent_class
from baselines.settings import check_settings
from baselines.tabular.value_table import ValueTable
from baselines.training.run_folder import lock, read_config, write_config
from benchmarks import report
from benchmarks.experiments import EXPERIMENTS, QUICK, select
from benchmarks.jobs import Job, Measure
from benchmarks.kinds import (
    OWN_VALUES,
    AgentExperiment,
    Exact,
    Games,
    Learning,
    Pairings,
    Sampled,
)
from benchmarks.results import FOLDER, KEYS, add, key_of, read
from benchmarks.rows import PUBLISHED, Committed, group, published, sources
from benchmarks.run import make_missing as run
from benchmarks.speed import ntuple as ntuple_speed
from benchmarks.speed import turns
from benchmarks.speed.ntuple import Work, moves_per_second
from benchmarks.speed.peers import Peer
from benchmarks.tables import TABLES
from benchmarks.tables.table import NOTE
from benchmarks.training import Recording, Training

LEARNERS = [e for e in EXPERIMENTS if isinstance(e, AgentExperiment) and e.learns]
MEASURES = [e for e in EXPERIMENTS if isinstance(e, Measure)]

GAME_2048, TICTACTOE = "Tiles2048-v0", "TicTacToe-v0"
NETWORK = {"network": "0123 4567", "iteration_games": 5, "threads": 1}
PLAYED = Sampled("agents", "greedy", "greedy", GAME_2048, episodes=20)
EXACT = Exact("seeds", "values", "value_table", TICTACTOE, {}, preset="published", seeds=2)
PAIRINGS = (
    Pairings("crosstable", "random", "random", TICTACTOE, {}),
    Pairings("crosstable", "minimax", "minimax", TICTACTOE, {}),
    Pairings("crosstable", "values", "value_table", TICTACTOE, {}, preset="published"),
)
NTUPLE = Learning(
    *("ntuple", "small, alone", "ntuple", GAME_2048),
    settings=NETWORK,
    games=10,
    seeds=2,
    evaluations=(Games(5), Games(2, depth=2), Games(2, depth=2, samples=1)),
)
STRONG = Training("strong", "ntuple", GAME_2048, settings=NETWORK, games=10)
SMALL_DQN = {"n_envs": 2, "width": 4, "hidden": (8,), "batch_size": 8, "learning_starts": 16}
DEEP = Learning(
    *("deep", "dqn, after games", "dqn", GAME_2048),
    settings=SMALL_DQN | {"buffer_size": 20_000, "replay_steps": 2},
    replays=Recording(STRONG, minutes=None, episodes=1),
    games=1,
    evaluations=(Games(2),),
)
SMALL_BOARD = {"shape": [2, 2]}
ADVERSARY = Learning(
    *("adversary", "small, adversary", "ntuple", GAME_2048, {"placer": "adversary"}),
    settings=NETWORK,
    games=10,
    evaluations=tuple(Games(5, placer=placer) for placer in ("random", "adversary", OWN_VALUES)),
)
EXACTLY = (
    Exact("exact", "greedy", "greedy", GAME_2048, SMALL_BOARD),
    Exact("exact", "ntuple, small", "ntuple", GAME_2048, SMALL_BOARD, games=100, seeds=2),
    ADVERSARY,
)
WORKS = (
    Work("TC training", "TC", 10, 4_000),
    Work("greedy play", "TC", 10, 30_000, depth=1),
    Work("search, 2-ply", "TC", 1, 300, depth=2),
)
KERNELS = {"network": "0123 4567", "taught": 10, "iteration_games": 10, "iterations": 2}
BRIEF = {"turns": 1, "seconds": 0.01, "peers": False}
SPEEDS = (
    Measure("kernels", "n-tuple networks", "speed.ntuple", {"turns": 1, "works": WORKS, **KERNELS}),
    Measure("solved", "small boards", "speed.solutions", {"boards": {GAME_2048: ((2, 2),)}}),
    Measure(
        *("bridge", "Stable-Baselines3", "speed.sb3"),
        options=BRIEF | {"games": {"tic-tac-toe": TICTACTOE}, "sizes": (2,)},
    ),
    Measure("speed", "start-up", "speed.start_up", {"turns": 1}),
    Measure(
        *("speed", "environments", "speed.environments"),
        measure=turns.STEPS_PER_SECOND,
        options=BRIEF | {"games": ("2048", "2048, 5×5", "tic-tac-toe"), "sizes": (1, 4)},
    ),
)
FROM_OUTSIDE = ("start-up", "n-tuple networks")
"""Measures that start a dozen processes."""
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


def test_every_experiment_has_rows_of_its_own_and_every_committed_row_is_one_of_them():
    assert {each.table for each in EXPERIMENTS} == set(KEYS)
    for table in KEYS:
        experiments = [each for each in EXPERIMENTS if each.table == table]
        agents = [each for each in experiments if isinstance(each, AgentExperiment)]
        rows = [key for each in agents for key in each.wanted(EXPERIMENTS)]
        assert len(set(rows)) == len(rows) or table == "crosstable"
        names = [each.measure for each in experiments if isinstance(each, Measure)]
        assert len(set(names)) == len(names)
        for key, row in read(FOLDER, table).items():
            assert key in rows or row.get("measure") in names or "" in names


@pytest.mark.parametrize("each", LEARNERS, ids=lambda each: f"{each.table}, {each.label}")
def test_the_settings_of_the_list_are_allowed(each):
    options = each.options()
    check_settings(options.settings)
    assert getattr(each, "minutes", ()) or each.games or not options.minutes  # a budget in games


def test_trainings_that_differ_have_folders_of_their_own(tmp_path):
    how = {}
    for each in LEARNERS:
        training = (each.agent, each.preset, each.options().settings, each.env_kwargs, each.games)
        assert how.setdefault(each.folder(0, tmp_path), training) == training


def test_committed_rows_are_sorted_and_have_versions(tmp_path):
    for table in KEYS:
        path = FOLDER / f"{table}.csv"
        rows = read_rows(path)
        assert all(row["version"].isdigit() for row in rows)
        add(tmp_path, table, rows)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_experiments_are_chosen_by_table_label_or_both():
    assert {each.table for each in select(["ntuple", "speed"])} == {"ntuple", "speed"}
    assert len(select(["one core"])) == 2
    assert {each.table for each in select(["dqn"])} == {"crosstable", "seeds", "deep"}
    assert {each.table for each in select(["deep/dqn"])} == {"deep"}
    assert len(select([])) == len(EXPERIMENTS)


# The command


def test_an_unknown_label_is_one_line_that_names_what_exists():
    line = refused("run", "--only", "nobody", module="benchmarks")
    assert re.fullmatch(r".*there is no 'nobody'.* crosstable.* `run --list` .*\n", line)


def test_the_list_shows_every_experiment():
    done = command("run", "--list", "--only", "seeds", "recipe", module="benchmarks")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(select(["seeds", "recipe"]))
    assert re.fullmatch(r"seeds +qtable +12 of 12 +\d+\.\d  TicTacToe-v0", lines[2])


def test_a_reader_that_leaves_is_no_error():
    asked = f"{sys.executable} -m benchmarks run --list | head -1"
    done = subprocess.run(asked, shell=True, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_short_list_has_every_agent_and_environment_and_takes_minutes():
    experiments = [each for each in QUICK if isinstance(each, AgentExperiment)]
    assert {each.agent for each in experiments} == set(AGENTS)
    assert {each.env for each in experiments} == {GAME_2048, "Tiles2584-v0", TICTACTOE}
    # Budgets in minutes would make other rows each time.
    assert not any(getattr(each, "minutes", ()) for each in experiments)
    assert sum(each.total_minutes for each in QUICK) < 6


def test_the_short_list_prints_its_results_beside_the_published_ones(tmp_path, monkeypatch):
    few = ["agents/random", "exact/greedy", "crosstable/random", "minimax", "qtable published"]
    chosen = [each for each in select(few, QUICK) if each.env != "Tiles2584-v0"]
    speed = dataclasses.replace(SPEEDS[-1], options=SPEEDS[-1].options | {"games": ("2048",)})
    monkeypatch.setattr("benchmarks.run.QUICK", (*chosen, speed))
    quick = ("run", "--quick", "--runs", tmp_path)
    first = command(*quick, module="benchmarks").stdout
    assert re.search(r"a beginner's article, 2020 +1,000 +1,005 ", first)
    assert re.search(r"random, seed 0 +1,000 +1,023 \(993 to 1,055\) ", first)
    assert re.search(r"minimax +random +96\.78 / 3\.22 / 0\.00 +96\.8 / 3\.2 / 0\.0", first)
    assert re.search(r"greedy +35\.89% +16\.16%", first)
    assert re.search(r"2048 +tile-envs, numba +[\d.]+ M", first)
    told, _, printed = command(*quick, module="benchmarks").stdout.partition("\n")
    assert told == "All rows are there."
    assert first.endswith(printed)
    assert printed.startswith("Mean scores")


# The rows, each kind in small


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(each, marks=[pytest.mark.slow] if each.label in FROM_OUTSIDE else [])
        for each in SMALL
    ],
    ids=lambda each: f"{each.table}, {each.label}",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_experiment_makes_its_rows_once(each, tmp_path, monkeypatch):
    run_small(tmp_path, each)
    path = tmp_path / "results" / f"{each.table}.csv"
    rows, content = read_rows(path), path.read_bytes()
    assert names_in(tmp_path, each.table) == set(each.wanted(SMALL))
    versions = each.wanted(SMALL)
    assert all(row["version"] == str(versions[key_of(each.table, row)]) for row in rows)
    columns = set(read_rows(FOLDER / path.name)[0])
    new = {"machine", "quantiles", "fraction_intervals", "threads", "curve"}  # old rows lack them
    assert set(rows[0]) <= columns | new
    monkeypatch.setattr(Job, "make", None)
    run_small(tmp_path, each)
    assert path.read_bytes() == content


def test_committed_rows_are_made_again_to_the_last_digit(tmp_path):
    again = [
        each
        for each in EXPERIMENTS
        if (each.table, each.label) == ("seeds", "value_table published")
        or (each.table == "agents" and (each.env == TICTACTOE or each.preset == "article"))
        or (each.table == "exact" and not each.learns)
    ]
    run(again, EXPERIMENTS, tmp_path / "results", tmp_path / "runs")
    not_compared = {"seconds", "moves_per_second"}
    not_compared |= {"low", "high", "interval_method", "fraction_intervals"}  # of an earlier method
    for table in ("agents", "seeds", "exact"):
        known = read(FOLDER, table)
        for key, row in read(tmp_path / "results", table).items():
            for column, value in row.items():
                if column not in not_compared:
                    assert value == known[key][column]


def test_only_missing_rows_and_those_of_an_earlier_version_are_made(tmp_path):
    run_small(tmp_path, EXACT)
    path = tmp_path / "results" / "seeds.csv"
    good, old, _, other = rows = read_rows(path)
    write_rows([good | {"win": "kept"}, old | {"version": "0", "win": "old"}, other], path)
    run_small(tmp_path, EXACT)
    assert read_rows(path) == [good | {"win": "kept"}, *rows[1:]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n3,4\n", "it has no column 'label'"),
        (b"label,seed,side\n\xff,0,X\n", "is damaged"),
    ],
)
def test_a_damaged_table_is_one_clear_error_and_stays(content, message, tmp_path):
    path = tmp_path / "results" / "seeds.csv"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        run_small(tmp_path, EXACT)
    assert path.read_bytes() == content


def test_one_process_at_a_time_makes_the_rows_of_a_table(tmp_path):
    (tmp_path / "results").mkdir()
    with (
        lock(tmp_path / "results" / "seeds.lock", "seeds"),
        pytest.raises(ValueError, match=r"the table seeds in .* is in use by process \d+"),
    ):
        run_small(tmp_path, EXACT)
    run_small(tmp_path, EXACT)
    assert not list((tmp_path / "results").glob("*.lock"))


@pytest.mark.parametrize("place", ["results", "runs"])
def test_folders_that_cannot_be_written_to_are_refused_before_anything_is_made(place, tmp_path):
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs", place: Path("/proc")}
    with pytest.raises(OSError, match="nothing can be written to /proc"):
        run((PLAYED,), (PLAYED,), **folders)
    assert not list(tmp_path.rglob("*.csv"))


def test_an_agent_of_another_version_is_trained_anew(tmp_path, monkeypatch):
    before = EXACT.folder(0, tmp_path)
    monkeypatch.setattr(ValueTable, "version", ValueTable.version + 1)
    assert EXACT.folder(0, tmp_path) != before


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


def test_minutes_are_budgets_one_after_the_other(tmp_path):
    each = dataclasses.replace(NTUPLE, games=None, minutes=(1e-9, 2e-9), seeds=1)
    run_small(tmp_path, each, experiments=(each,))
    rows = read_rows(tmp_path / "results" / "ntuple.csv")
    assert [row["minutes"] for row in rows] == ["1e-09", "2e-09", "2e-09", "2e-09"]
    assert int(rows[0]["games_learned"]) <= int(rows[1]["games_learned"])


def test_a_run_that_has_passed_a_budget_makes_no_row_of_it(tmp_path, monkeypatch):
    each = dataclasses.replace(NTUPLE, games=None, minutes=(1e-9, 2e-9), seeds=1)
    agent = each.train(0, 2e-9, tmp_path).agent
    monkeypatch.setattr("benchmarks.training.run", None)  # nothing is left to learn
    assert each.train(0, 2e-9, tmp_path).agent.games == agent.games
    failure, *_ = run((each,), (each,), tmp_path / "results", tmp_path)
    assert failure.startswith("ntuple/small, alone: ")
    assert "has learned for more than 1e-09 minutes: delete it" in failure
    rows = read_rows(tmp_path / "results" / "ntuple.csv")
    assert {row["minutes"] for row in rows if not row["error"]} == {"2e-09"}


def test_a_run_that_does_not_say_that_it_is_finished_makes_no_row(tmp_path, monkeypatch):
    run_small(tmp_path, EXACT)
    folder = EXACT.folder(0, tmp_path / "runs")
    (tmp_path / "results" / "seeds.csv").unlink()
    write_config(folder, read_config(folder) | {"finished": False})
    monkeypatch.setattr("benchmarks.training.run", lambda *_: None)
    assert all("is not finished" in failure for failure in run_small(tmp_path, EXACT))
    rows = read_rows(tmp_path / "results" / "seeds.csv")
    assert [row["seed"] for row in rows if row["error"]] == ["0", "0"]
    monkeypatch.undo()
    run_small(tmp_path, EXACT)
    assert read_config(folder)["finished"]
    assert not any(row["error"] for row in read(tmp_path / "results", "seeds").values())


def test_a_job_that_fails_has_rows_and_a_log_and_the_others_are_made(tmp_path, monkeypatch):
    def diverged(self):
        raise RuntimeError("learning has diverged")

    monkeypatch.setattr(ValueTable, "learn", diverged)
    monkeypatch.setattr("benchmarks.run.EXPERIMENTS", (EXACT, PLAYED))
    folders = ("--results", tmp_path / "results", "--runs", tmp_path / "runs")
    done = command("run", *folders, module="benchmarks")
    message = "failed: seeds/values: RuntimeError: learning has diverged and 3 more; the same"
    assert done.returncode.startswith(message)
    assert "seeds/values, values, 0, X: error RuntimeError" in done.stdout
    (log, _) = sorted((tmp_path / "runs").glob("*.log"))
    assert log.name == "seeds-values-0.log"
    assert "Traceback" in log.read_text()
    assert "in diverged" in log.read_text()
    assert names_in(tmp_path, "agents") == set(PLAYED.wanted(SMALL))
    failed = read_rows(tmp_path / "results" / "seeds.csv")
    assert {row["error"] for row in failed} == {"RuntimeError: learning has diverged"}
    assert Committed(tmp_path / "results", SMALL).rows("seeds") == []
    monkeypatch.undo()
    run_small(tmp_path, EXACT)
    assert not any(row["error"] for row in read_rows(tmp_path / "results" / "seeds.csv"))


def test_the_line_over_all_jobs_goes_from_nothing_to_all(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("baselines.progress.LINE_SECONDS", 0)
    run_small(tmp_path, PLAYED, EXACT)
    told = capsys.readouterr()
    shown = [int(done) for done in re.findall(r"(\d) of 3 jobs", told.err)]
    assert shown == sorted(shown)
    assert {0, 1, 2, 3} == set(shown)
    assert "jobs: 0 of 3 jobs, agents/greedy" in told.err
    assert "value_table" not in told.err  # training says nothing of its own
    assert len(told.out.splitlines()) == 5


def test_jobs_of_an_experiment_take_its_minutes():
    for each in EXPERIMENTS:
        jobs = each.jobs(EXPERIMENTS)
        assert not jobs or sum(job.minutes for job in jobs) == pytest.approx(each.total_minutes)


# Measures


def test_rows_of_peers_that_are_not_installed_are_kept(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    peer = {"measure": turns.STEPS_PER_SECOND, "package": "rare", "game": "2048", "kind": "single"}
    peer |= {"num_envs": "1", "value": "5", "version": "1"}
    write_rows([peer], results / "speed.csv")
    run_small(tmp_path, SPEEDS[-1])
    kept = read(results, "speed")[key_of("speed", peer)]
    assert kept["value"] == "5"
    assert len(names_in(tmp_path, "speed")) > 1


COUNTING = """
import sys, time
options = sys.argv[1:]
given = dict(zip(options[::2], options[1::2]))
n = int(given.get("-t", given.get("-e", "1x0")).split("x")[1])
start_up = 0.5
end = time.process_time() + start_up + 0.002 * n * (0.5 if "-c" in given else 1.0)
while time.process_time() < end:
    pass
time.sleep(0.3)
print(f"001/001 {n}ms 7000.00ops")
"""


def test_a_program_that_fails_or_takes_no_time_is_not_measured():
    with pytest.raises(RuntimeError, match=r"0 more moves took .* s more"):
        moves_per_second(lambda n: [sys.executable, "-c", "print(1)"], int, 100, 600)
    with pytest.raises(RuntimeError, match=r"failed: .*oh"):
        moves_per_second(lambda n: [sys.executable, "-c", "raise SystemExit('oh')"], int, 100, 600)


@pytest.mark.slow
def test_tdl2048_is_measured_by_the_cpu_time_of_the_program_without_its_start_up(
    tmp_path, monkeypatch
):
    program = tmp_path / "2048"
    program.write_text(f"#!{sys.executable}\n{COUNTING}")
    program.chmod(0o755)
    monkeypatch.setenv("TDL2048", str(program))
    ours, *theirs = ntuple_speed._programs("4x6")
    assert [program.package for program in (ours, *theirs)] == ["tile-envs", "TDL2048+", "TDL2048+"]
    # Ours is measured by another test; here it is the peer's program again.
    programs = [theirs[0]._replace(package="tile-envs"), *theirs]
    monkeypatch.setattr(ntuple_speed, "_programs", lambda network: programs)
    works = (Work("TC training", "TC", 1, 300), Work("search, 2-ply", "TC", 1, 300, depth=2))
    peer = dataclasses.replace(SPEEDS[0], options=SPEEDS[0].options | {"works": works})
    run_small(tmp_path, peer, experiments=(peer,))
    rows = read_rows(tmp_path / "results" / "kernels.csv")
    theirs = {row["measure"]: row for row in rows if row["package"] == "TDL2048+"}
    # Seven moves a game, of two milliseconds each, or of one with a transposition table.
    assert 2_500 < float(theirs["0123 4567 TC training"]["value"]) < 4_500
    assert 5_000 < float(theirs["0123 4567 search, 2-ply"]["value"]) < 9_000
    assert theirs["0123 4567 search, 2-ply"]["options"] == "-c 64M"
    assert len({row["run"] for row in rows}) == 1
    monkeypatch.undo()
    monkeypatch.setenv("TDL2048", str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="which is no program"):
        peer.wanted((peer,))


def test_a_measure_with_a_broken_peer_is_made_again_and_replaces_no_result(tmp_path, monkeypatch):
    peer = Peer("numpy", "2048", "single", 1, lambda n: lambda steps: len(list(range(steps))))
    broken = peer._replace(kind="vector", make=None)
    monkeypatch.setattr("benchmarks.speed.environments.installed", lambda: [peer, broken])
    options = SPEEDS[-1].options | {"peers": True, "games": ("2048",), "sizes": ()}
    each = dataclasses.replace(SPEEDS[-1], options=options)
    results = tmp_path / "results"
    for _ in range(2):
        (failure,) = run_small(tmp_path, each, experiments=(each,))
        assert "'NoneType' object is not callable" in failure
        good, bad, _ = read(results, "speed").values()
        assert (good["version"], bad["version"]) == ("1", "")
    assert "Traceback" in (tmp_path / "runs" / "speed-environments-0.log").read_text()
    key = turns.speed_key(broken)
    add(results, "speed", [key | {"value": 7.0}])
    run_small(tmp_path, each, experiments=(each,))
    assert float(read(results, "speed")[key_of("speed", key)]["value"]) == 7.0


def test_threads_are_measured_by_wall_clock(tmp_path, monkeypatch):
    def make(num_envs, threads):
        return lambda steps: time.sleep(steps / 1e5 / threads) or steps

    peer = Peer("numpy", "2048", "numba", 4, make)
    others = [peer._replace(kind="vector"), peer._replace(game="tic-tac-toe")]
    monkeypatch.setattr("benchmarks.speed.environments.installed", lambda: [peer, *others])
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    options = BRIEF | {"games": ("2048",), "sizes": (), "peers": True, "threads": True}
    each = Measure("threads", "2048", "speed.environments", options)
    assert not run_small(tmp_path, each, experiments=(each,))
    theirs, ours = group(read(tmp_path / "results", "threads").values(), "package")
    assert [row["threads"] for row in theirs] == [row["threads"] for row in ours] == ["1", "2", "4"]
    # A turn that takes long is one in which the machine had no time.
    assert all(1e3 < float(row["value"]) / int(row["threads"]) < 1e5 for row in theirs)
    made = TABLES["threads"](Committed(tmp_path / "results", (each,)))
    assert made.head[2:5] == ["threads: 1", "threads: 2", "threads: 4"]
    assert all(re.search(r"^[\d,]+ \(.* to .*\) .+ ×$", line[3]) for line in made.lines)


# The pages


@pytest.mark.parametrize("page", report.PAGES, ids=lambda page: page.parent.name)
def test_the_pages_are_those_of_the_committed_rows(page):
    text = page.read_text(encoding="utf-8")
    assert report.fill(text, Committed()) == text
    assert "<!-- table:" in text


def test_every_table_stands_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in report.PAGES)
    assert set(re.findall(r"<!-- table: ([\w-]+) -->", text)) == set(TABLES)


@pytest.mark.parametrize("name", report.PICTURES)
def test_pictures_show_the_committed_rows(name):
    """Another version of matplotlib may draw other bytes of the same data."""
    drawn, there = report.PICTURES[name](Committed()), (report.FIGURES / f"{name}.svg").read_bytes()
    (data,) = set(re.findall(rb"data [0-9a-f]{64}", drawn))
    assert data in there
    assert len(there) < 200_000
    assert drawn == report.PICTURES[name](Committed())
    assert f"figures/{name}.svg" in report.PAGES[1].read_text(encoding="utf-8")


def test_a_page_with_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="there is no table 'nothing'"):
        report.fill("<!-- table: nothing -->\n<!-- end -->", Committed())


@pytest.mark.parametrize("table", ["speed", "kernels", "bridge", "ntuple", "seeds", "crosstable"])
def test_rows_of_another_version_are_marked(table, tmp_path):
    present = {each.table: {} for each in EXPERIMENTS}
    for each in EXPERIMENTS:
        present[each.table] |= each.wanted(EXPERIMENTS)
    for path in FOLDER.glob("*.csv"):
        versions = present[path.stem]
        rows = [
            row | {"version": 0 if path.stem == table else versions.get(key_of(path.stem, row), 1)}
            for row in read_rows(path)
        ]
        write_rows(rows, tmp_path / path.name)
    committed = Committed(tmp_path)
    assert all(row["is_stale"] == (table == "seeds") for row in committed.rows("seeds"))
    text = TABLES[table](committed).markdown()
    assert NOTE in text
    assert text.count(" † |") == text.count("\n") - 3  # every line below the head


@pytest.mark.parametrize("each", MEASURES, ids=lambda each: f"{each.table}, {each.label}")
def test_measures_are_marked_by_their_own_version(each, tmp_path):
    row = dict.fromkeys(KEYS[each.table], "1") | {"measure": each.measure or "another", "value": 1}
    for version in (each.version, each.version - 1):
        add(tmp_path, each.table, [row | {"version": version}])
        (found,) = Committed(tmp_path).rows(each.table)
        assert found["is_stale"] == (version != each.version)


@pytest.mark.parametrize("name", yaml.safe_load(PUBLISHED.read_text())["figures"])
def test_published_results_have_a_source(name):
    for row in published(name):
        source = row["source"]
        assert all((source.author, source.title, source.year, source.link))
        assert source.link.startswith("http") or source.link == "unknown"


def test_sources_are_named_once():
    names = [(source.author, source.title) for source in sources().values()]
    assert len(set(names)) == len(names)
