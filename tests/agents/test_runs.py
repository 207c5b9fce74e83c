"""Training runs: folders that are evaluated, interrupted and resumed, and that notice damage."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from commands import command, in_a_process, python, refused, typed
from interrupting import interrupted
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from baselines import load, train
from baselines.agents import Task
from baselines.arrays import write_arrays
from baselines.commands.train import typed as given_by
from baselines.evaluation.rows import write_rows
from baselines.progress import clock
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.training import loop
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.run import config_for
from baselines.training.run_folder import Run
from tile_envs.errors import UsageError
from tile_envs.files import replacing
from tile_envs.games import IMPORTED


def arrays_of(folder):
    return {name: array.tobytes() for name, array in runs.read_checkpoint(folder).items()}


def contents(folder):
    """Return what a run's files say, but for times."""
    times = {"seconds", "moves_per_second"}
    progress = [
        {name: cell for name, cell in row.items() if name not in times}
        for row in runs.read_progress(folder)
    ]
    files = {path.name for path in folder.iterdir() if "tfevents" not in path.name}
    config = replace(Run.read(folder), seconds=0.0)
    return files, config, progress, arrays_of(folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "q"
    typed("train", "qtable", "--games", 30_000, "--seed", 3, "--out", folder)
    return folder


def test_an_id_without_a_version_is_its_latest_one(tmp_path):
    done = command("train", "qtable", "--env", "TicTacToe", "--games", 1000, "--out", tmp_path)
    assert done.stderr.count("TicTacToe-v0") == 1, done.stderr
    assert Run.read(tmp_path).config.env == "TicTacToe-v0"


def test_a_run_needs_no_library_that_its_agent_does_not(monkeypatch):
    monkeypatch.setattr(runs, "PACKAGES", (*runs.PACKAGES, "no-such-package"))
    versions = Run(RunConfig("qtable", 1, "TicTacToe-v0", {}, (), {}, 0)).versions
    assert versions.keys() >= {"numpy", "tile-envs"}
    assert "no-such-package" not in versions


def test_arrays_of_objects_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "arrays.npz", {"objects": np.array([{}], object)})
    assert not list(tmp_path.iterdir())


def fail_beside(folder):
    folder.mkdir()
    raise UsageError("oh")


def test_what_fails_while_a_file_is_written_is_told_whatever_lies_beside(tmp_path):
    with pytest.raises(UsageError, match="oh"), replacing(tmp_path / "file") as beside:
        fail_beside(beside)
    assert not list(tmp_path.iterdir())


def test_a_run_leaves_its_settings_its_progress_and_its_table(trained):
    config = json.loads((trained / "config.json").read_text())
    assert config["agent"] == "qtable"
    assert config["seed"] == 3
    assert config["sides"] == ["X", "O"]
    assert config["settings"]["loss_weight"] == 10.0
    assert config["modules"] == []
    assert config["versions"].keys() >= {"numpy", "tile-envs"}
    rows = runs.read_progress(trained)
    assert int(rows[-1]["games"]) == 30_000
    assert list(trained.glob("events.out.tfevents.*"))
    assert not list(trained.glob("*.part"))


def test_a_folder_is_evaluated_like_a_name(trained, tmp_path):
    out = tmp_path / "rows.json"
    typed("evaluate", trained, "--exact", "--out", out)
    x, o = json.loads(out.read_text())
    assert (x["side"], o["side"]) == ("X", "O")
    assert x["win"] > 0.95
    assert set(x) >= {"agent", "env", "side", "win", "draw", "loss", "worst"}
    typed("evaluate", trained, "--episodes", 300, "--out", out)
    assert [row["side"] for row in json.loads(out.read_text())] == ["X", "O"]


def test_the_same_command_learns_the_same_table_in_another_process(trained, tmp_path):
    again = tmp_path / "again"
    python("-m", "baselines", "train", "qtable", "--games", 30_000, "--seed", 3, "--out", again)
    assert arrays_of(again) == arrays_of(trained)


def test_a_resumed_run_ends_where_a_longer_one_ends(trained, tmp_path):
    folder = tmp_path / "run"
    arguments = ("train", "qtable", "--seed", 3, "--out", folder)
    typed(*arguments, "--games", 10_000)
    typed(*arguments, "--games", 30_000, "--resume")
    assert arrays_of(folder) == arrays_of(trained)
    rows = runs.read_progress(folder)
    games = [int(row["games"]) for row in rows]
    assert games == sorted(set(games))


VALUES = ("train", "value_table", "--n-envs", "500")
GAMES = (20_000, 3_000)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for games in GAMES:
        typed(*VALUES, "--games", games, "--out", folder / str(games))
    return {games: contents(folder / str(games)) for games in GAMES}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("name", "status"), [("SIGKILL", -9), ("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize(("games", "iteration"), [(20_000, 12), (3_000, 6)])
def test_an_interrupted_run_ends_where_an_uninterrupted_one_ends(
    uninterrupted, tmp_path, name, status, games, iteration
):
    """Interrupted in the middle, and in its last iteration."""
    folder = tmp_path / "run"
    options = (*VALUES, "--games", games, "--out", folder)
    done = interrupted("baselines.tabular.value_table:ValueTable", iteration, name, *options)
    assert done.returncode == status, done.stderr
    # A signal that can be caught lets the iteration end and saves; a kill loses the last one.
    learned = iteration - (name == "SIGKILL")
    assert int(runs.read_checkpoint(folder)["iterations"]) == learned
    if name != "SIGKILL":
        assert f"stopped after {500 * iteration:,} games" in done.stderr.splitlines()[-1]
    assert "--unfinished" in refused("evaluate", folder, "--exact")
    assert "value_table, unfinished" in typed("evaluate", folder, "--exact", "--unfinished")
    typed(*options, "--resume")
    assert contents(folder) == uninterrupted[games]


def test_a_run_goes_on_with_the_preset_that_it_began_with(tmp_path):
    typed("train", "qtable", "--preset", "published", "--games", 10, "--out", tmp_path / "q")
    run = Run.read(tmp_path / "q").config
    resumed, begun = (config_for("qtable", preset=p, resumed=run) for p in ("published", None))
    assert (resumed.games, begun.games) == (7000, 10)
    assert resumed.settings == begun.settings


HOLDING = """
import sys, time
from pathlib import Path
from baselines.training.run_folder import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_process_at_a_time_learns_in_a_folder(trained, tmp_path):
    folder = copied(trained, tmp_path / "run")
    asked = ("train", "qtable", "--games", 31_000, "--seed", 3, "--out", folder, "--resume")
    holding = [sys.executable, "-c", HOLDING, str(folder)]
    other = subprocess.Popen(holding, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    assert f"{folder} is in use by another process" in refused(*asked)
    assert arrays_of(folder) == arrays_of(trained)
    other.kill()
    other.communicate()
    assert (folder / "lock").exists()
    done = command(*asked, "--take-over")  # the system has freed the lock of a process that is gone
    assert (done.returncode, "no effect" in done.stderr) == (0, True)
    assert not (folder / "lock").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits")
def test_a_full_disk_is_named_with_the_folder(trained, tmp_path):
    folder = copied(trained, tmp_path / "run")
    limits = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (0, 0)); import runpy; "
    code = limits + "runpy.run_module('baselines', run_name='__main__')"
    words = ("train", "qtable", "--resume", "--games", 31_000, "--out", folder)
    done = in_a_process("-B", "-c", code, *words)
    assert (done.returncode, str(folder) in done.stderr.splitlines()[-1]) == (2, True), done.stderr


def test_a_budget_that_is_given_replaces_those_of_the_preset(tmp_path):
    for words, budget in (
        ((), (10_000_000, None, 10)),
        (("--games", 5), (5, None, None)),
        (("--minutes", 0.5, "--moves", 9), (None, 9, 0.5)),
    ):
        config = config_for("ntuple", **given_by("ntuple", [*map(str, words)]))
        assert (config.games, config.moves, config.minutes) == budget
    agent = train("qtable", moves=3000, n_envs=10, out=tmp_path / "q")
    assert 3000 <= agent.moves < 3200
    config = json.loads((tmp_path / "q" / "config.json").read_text())
    assert (config["games"], config["moves"], config["minutes"]) == (None, 3000, None)


def test_the_return_is_the_mean_of_the_last_100_training_games():
    seen = {"X": [], "O": []}

    class Kept(QTable):
        def update(self, episodes):
            side = "XO"[bool(episodes.observations[0].any())]
            seen[side] += episodes.returns.tolist()

    for n_envs, sides, last in ((30, ("X",), 100), (1, ("X",), 7), (60, (), 50)):
        seen["X"].clear(), seen["O"].clear()
        learner = Kept(Task("TicTacToe-v0").game, 0, QTableSettings(n_envs=n_envs), sides)
        metrics = [learner.learn() for _ in range(7)][-1]
        expected = seen["X"][-last:] + ([] if sides else seen["O"][-last:])
        assert metrics["return"] == pytest.approx(np.mean(expected))


def test_the_clock_of_a_budget_stands_still_while_numba_compiles():
    before, began = clock(), time.perf_counter()
    numba.njit(lambda x: np.sort(x) + x)(np.zeros(3))
    assert clock() - before < 0.7 * (time.perf_counter() - began)


def test_output_needs_no_character_that_its_encoding_lacks():
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    told = python("-m", "baselines", "train", "ntuple", "--help", env=env).stdout
    assert "of the ?-return" in told


def test_files_to_learn_from_are_found_by_their_path_or_their_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("late.npy", [[[2, 2], [1, 0]]])
    words = ("train", "qtable", "--env", "Tiles2048-v0", "--out", tmp_path / "q", "--games")
    typed(*words, 20, "--n-envs", 10, "--env-kwargs", starting("late.npy"))
    monkeypatch.chdir("/")
    typed(*words, 30, "--resume")
    (tmp_path / "late.npy").rename(tmp_path / "moved.npy")
    np.save(tmp_path / "other.npy", [[[3, 3], [1, 0]]])
    asked = (*words, 40, "--resume", "--env-kwargs")
    assert "env_kwargs was" in refused(*asked, starting(tmp_path / "other.npy"))
    typed(*asked, starting(tmp_path / "moved.npy"))
    assert Run.read(tmp_path / "q").config.env_kwargs["starts"] == str(tmp_path / "moved.npy")
    np.save(tmp_path / "moved.npy", [[[2, 1], [1, 0]]])  # changed in its place
    assert "env_kwargs was" in refused(*asked, starting(tmp_path / "moved.npy"))


def starting(path):
    return json.dumps({"shape": [2, 2], "starts": str(path)})


def test_a_run_goes_on_up_to_a_larger_budget_and_no_further(trained, tmp_path):
    folder = copied(trained, tmp_path / "run")
    before = contents(folder)
    again = ("train", "qtable", "--out", folder, "--resume")
    typed(*again)
    assert contents(folder) == before
    assert "has played 32,000 games" in typed(*again, "--games", 32_000)
    assert Run.read(folder).config.games == 32_000


def test_minutes_of_earlier_calls_count(tmp_path):
    learn = ("train", "qtable", "--games", "1000000", "--minutes", "0.02", "--out", tmp_path / "q")
    typed(*learn)
    before = contents(tmp_path / "q")
    assert 1.2 <= float(runs.read_progress(tmp_path / "q")[-1]["seconds"]) < 3
    typed(*learn, "--resume")
    assert contents(tmp_path / "q") == before
    typed(*learn, "--minutes", "0.03", "--resume")
    seconds = [float(row["seconds"]) for row in runs.read_progress(tmp_path / "q")]
    assert seconds == sorted(seconds)
    assert 1.8 <= seconds[-1] < 3.6


def copied(folder, to):
    to.mkdir()
    for name in ("config.json", "checkpoint.npz", "progress.csv"):
        (to / name).write_bytes((folder / name).read_bytes())
    return to


def counted_back(folder):
    with np.load(folder / "checkpoint.npz") as state:
        np.savez(folder / "checkpoint.npz", **{**state, "iterations": np.array(-1)})


def with_entries(**entries):
    """Return what changes entries of a run's configuration."""

    def edit(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | entries))

    return edit


SMALL = {"env": "Tiles2048-v0", "env_kwargs": {"shape": [2, 2]}, "sides": []}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (counted_back, "'iterations' .* -1"),
        (with_entries(**SMALL), "another game"),
        (with_entries(agent="value_table", settings={}), "bytes of arrays"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json is damaged"),
        (with_entries(format=99), "format 99"),
        (with_entries(trice=1), "'trice'"),
        (with_entries(settings={"n_envs": 10**9}), "1,000,000,000"),
        (with_entries(agent="subprocess:Popen"), "subprocess:Popen"),
        (with_entries(sides=["X", "Z"]), "'Z'"),
        (lambda folder: os.remove(folder / "checkpoint.npz"), "no checkpoint.npz"),
        (with_entries(modules=["elsewhere"], settings={"epsilon": 7}), "got 7"),
        (with_entries(modules=["elsewhere"], agent="elsewhere:Mine"), "module elsewhere"),
        (with_entries(modules=["elsewhere"], env="Mine-v0"), "module elsewhere"),
        (lambda folder: os.remove(folder / "config.json"), "holds no run"),
    ],
)
def test_a_damaged_or_foreign_run_is_one_clear_error(trained, tmp_path, spoil, message):
    folder = copied(trained, tmp_path / "spoiled")
    spoil(folder)
    with pytest.raises(ValueError, match=rf"\A(?=.*{message}).*{folder}.*\Z"):
        load(folder)


def test_a_run_of_one_side_is_evaluated_as_that_side(tmp_path):
    typed("train", "qtable", "--side", "X", "--games", 3000, "--out", tmp_path)
    assert re.findall("side=.", typed("evaluate", tmp_path, "--exact")) == ["side=X"]


LEARNER = """
from dataclasses import dataclass
import numpy as np
from baselines.training.episodes import EpisodicLearner
{settings}
class Mine(EpisodicLearner):
    {body}
    def __init__(self, game, seed=0, settings=None, sides=()):
        super().__init__(game, seed, 5, "random", sides)
        self.weights = {weights}
    def action_values(self, boards):
        masks = self._game.legal_actions(boards)
        return np.where(masks, 0.0, -np.inf)
    {update}
"""
GOOD = {"settings": "", "body": "", "weights": "np.zeros(3)", "update": "def update(self, e): ..."}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The file of a module that is found as in the folder where Python has been started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "mine.py"
    sys.modules.pop("mine", None)
    IMPORTED[:] = [module for module in IMPORTED if module != "mine"]


def test_settings_of_a_learner_have_other_names_than_options(mine):
    change = {"settings": "@dataclass\nclass S:\n    games: int = 3", "body": "Settings = S"}
    mine.write_text(LEARNER.format(**GOOD | change))
    assert "Settings.games" in refused("train", "mine:Mine", "--games", "20", "--out", "run")
    assert not mine.with_name("run").exists()


def test_a_learner_of_the_users_is_resumed_up_to_its_budget(mine):
    mine.write_text(LEARNER.format(**GOOD))
    python("-m", "baselines", "train", "mine:Mine", "--games", 40, "--out", "run")
    assert "Mine has played 40 games" in typed("train", "mine:Mine", "--resume", "--out", "run")
    assert runs.read_checkpoint(mine.with_name("run"))["iterations"] == 8
    assert train(sys.modules["mine"].Mine, games=40).iterations == 8


def test_tensorboard_shows_each_step_once_after_a_resume(tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    train = ("train", "qtable", "--n-envs", 10)
    typed(*train, "--games", 3000, "--out", whole)
    typed(*train, "--games", 1500, "--out", part)
    (part / "checkpoint.npz").replace(whole / "checkpoint.npz")  # as after a kill
    replace(Run.read(whole), finished=False).write(whole)
    typed(*train, "--games", 3000, "--out", whole, "--resume")
    shown = EventAccumulator(str(whole)).Reload()
    games = [int(row["games"]) for row in runs.read_progress(whole)]
    for tag in shown.Tags()["scalars"]:
        steps = [event.step for event in shown.Scalars(tag)]
        assert steps == sorted(set(steps))
        assert steps[-1] == 3000
    assert set(games) <= {event.step for event in shown.Scalars("train/return")}


def test_a_callback_sees_each_iteration_and_can_end_the_run(tmp_path):
    seen = []

    def callback(learner, metrics):
        seen.append((learner.games, metrics["return"]))
        return len(seen) < 3

    options = {"games": 50, "n_envs": 10, "out": tmp_path / "q"}
    learner = train("qtable", callback=callback, **options)
    assert [games for games, _ in seen] == [10, 20, 30] == [10, 20, learner.games]
    assert not Run.read(tmp_path / "q").finished

    def failing(learner, metrics):
        raise ZeroDivisionError("oh")

    with pytest.raises(ValueError, match=r"40 games.*ZeroDivisionError: oh"):
        train("qtable", resume=True, callback=failing, **options)
    train("qtable", resume=True, **options)
    assert train("qtable", games=50, n_envs=10).state_dict()["iterations"] == 5
    assert arrays_of(tmp_path / "q")["iterations"] == np.array(5).tobytes()


def test_saving_takes_a_small_share_of_the_time_before_the_end(tmp_path, monkeypatch):
    now, shares, learn = [0.0, 0.0], [], QTable.learn  # seconds of all, and of saving

    def write(seconds):
        now[:] = now[0] + seconds, now[1] + seconds
        shares.append(now[1] / now[0])

    def learn_slowly(learner):
        now[0] += 10
        return learn(learner)

    clocks = {"monotonic": lambda: now[0], "perf_counter": lambda: now[0]}
    monkeypatch.setattr(loop, "time", SimpleNamespace(time=time.time, **clocks))
    monkeypatch.setattr("baselines.progress.clock", lambda: now[0])
    monkeypatch.setattr(loop, "size_of", lambda _: 10 * loop.BYTES_PER_SECOND)
    monkeypatch.setattr(QTable, "test", lambda learner, _: {"greedy_return": float(learner.games)})
    monkeypatch.setattr(runs, "write_checkpoint", lambda *_: write(20))
    monkeypatch.setattr(QTable, "save_model", lambda *_: write(10))
    monkeypatch.setattr(QTable, "learn", learn_slowly)
    train("qtable", games=5000, n_envs=10, test_every=500, out=tmp_path / "q")
    assert len(shares) > 10 + 2 * 5  # the best models, and checkpoints with the last ones
    assert max(shares[:-2]) <= 1.1 * loop.MAX_SAVING_FRACTION


def test_tests_come_as_often_and_are_as_long_as_asked(tmp_path):
    small = {"env": "Tiles2048-v0", "env_kwargs": {"shape": [2, 2]}, "games": 100, "n_envs": 10}
    for games, tests in ((3, 5), (0, 0)):
        folder = tmp_path / str(games)
        train("qtable", **small, test_every=20, test_games=games, out=folder, checkpoint_every=0.01)
        rows = runs.read_progress(folder)
        tested = [int(row["games"]) for row in rows if row.get("greedy_return")]
        assert tested == [20, 40, 60, 80, 100][:tests]
        resumed = tmp_path / f"{games} resumed"
        given = {"test_every": 20, "test_games": games, "callback": lambda q, _: q.games < 50}
        train("qtable", **small, **given, out=resumed)
        train("qtable", out=resumed, resume=True)
        assert contents(resumed) == contents(folder)


def test_a_run_that_is_saved_before_its_end_is_unfinished(tmp_path):
    small = {"games": 100, "n_envs": 10}
    train("qtable", **small, callback=lambda *_: False).save(tmp_path / "q")
    assert not Run.read(tmp_path / "q").finished
    assert train("qtable", resume=True, out=tmp_path / "q").games == 100
    train("qtable", **small).save(tmp_path / "whole")
    assert Run.read(tmp_path / "whole").finished


def test_a_run_tells_all_its_budgets(tmp_path):
    words = ("train", "qtable", "--n-envs", 10, "--out", tmp_path / "q")
    typed(*words, "--games", 20)
    typed(*words, "--games", 40, "--resume")
    typed(*words, "--resume")
    assert Run.read(tmp_path / "q").config.budgets == ({"games": 20}, {"games": 40})
    assert "20, then 40 games" in typed("evaluate", tmp_path / "q", "--exact")
    typed("export", tmp_path / "q", "--out", tmp_path / "copy", "--episodes", 1)
    card = (tmp_path / "copy" / "README.md").read_text()
    assert "20, then 40 games" in card
    assert "makes that run again:" not in card


def test_the_clock_is_not_set_back_by_a_kill_before_the_configuration(tmp_path):
    train("qtable", games=100, n_envs=10, out=tmp_path)
    replace(Run.read(tmp_path), seconds=0.0, finished=False).write(tmp_path)
    *_, row = runs.read_progress(tmp_path)
    write_rows([row | {"seconds": 7.5}], tmp_path / runs.PROGRESS)
    assert train("qtable", resume=True, out=tmp_path).run.seconds == 7.5


EQUAL = [
    {"env_kwargs": {"shape": (4, 4)}},
    {"env_kwargs": {"spawn": {"2": 0.9, "4": 0.1}, "max_illegal": 100}},
    {"minutes": 1.0, "settings": {"epsilon": 1, "replays": "moved"}},
]
OTHERS = [
    {"env_kwargs": {"shape": [3, 4]}},
    {"env_kwargs": {"max_illegal": 5}},
    {"contents": {"replays": "another"}},
    {"budgets": ({"minutes": 0.5}, {"minutes": 1})},
]


@pytest.mark.parametrize("change", [*EQUAL, *OTHERS])
def test_runs_have_equal_keys_if_the_same_decides_them(change):
    settings = {"epsilon": 1.0, "replays": "a"}
    one = RunConfig("qtable", 1, "Tiles2048-v0", {}, (), settings, 0, None, None, 1)
    one = replace(one, contents={"replays": "what they hold"})
    assert (replace(one, **change).key == one.key) == (change in EQUAL)
