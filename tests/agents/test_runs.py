"""Training runs: what a folder holds, when a run ends, and that a resumed one ends alike."""

import json
import re
import shutil
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from commands import command, refused, typed
from numba.extending import overload
from same import content_of, contents

from baselines import train
from baselines.agents import Task
from baselines.commands.train import typed as given_by
from baselines.progress import clock
from baselines.tabular.qtable import QTable, QTableSettings
from baselines.training import loop
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.run import config_for
from baselines.training.run_folder import Run
from tile_envs.errors import UsageError
from tile_envs.files import replacing

FEW = {"games": 100, "n_envs": 10}
ON_FOUR_CELLS = {"env": "Tiles2048-v0", "env_kwargs": {"shape": [2, 2]}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "q"
    typed("train", "qtable", "--games", 30_000, "--seed", 3, "--out", folder)
    return folder


def arrays_of(folder):
    return content_of(folder / runs.CHECKPOINT)


def fail_beside(folder):
    folder.mkdir()
    raise UsageError("oh")


def test_what_fails_while_a_file_is_written_is_told_whatever_lies_beside(tmp_path):
    with pytest.raises(UsageError, match="oh"), replacing(tmp_path / "file") as beside:
        fail_beside(beside)
    assert not list(tmp_path.iterdir())


def test_a_run_leaves_its_settings_its_progress_and_its_table(trained, monkeypatch):
    config = json.loads((trained / "config.json").read_text())
    assert config["settings"].pop("loss_weight") == 10.0
    told = {"agent": "qtable", "seed": 3, "sides": ["X", "O"], "modules": []}
    assert config | told == config
    assert int(runs.read_progress(trained)[-1]["games"]) == 30_000
    assert list(trained.glob("events.out.tfevents.*"))
    assert not list(trained.glob("*.part"))
    monkeypatch.setattr(runs, "PACKAGES", ("numpy", "no-such-package"))
    assert Run(Run.read(trained).config).versions.keys() == {"numpy", "tile-envs"}
    assert config["versions"].keys() >= {"numpy", "tile-envs"}


def test_a_folder_is_evaluated_like_a_name(trained, tmp_path):
    out = tmp_path / "rows.json"
    typed("evaluate", trained, "--exact", "--out", out)
    x, o = json.loads(out.read_text())
    assert (x["side"], o["side"]) == ("X", "O")
    assert x["win"] > 0.95
    assert set(x) >= {"agent", "env", "side", "win", "draw", "loss", "worst"}
    typed("evaluate", trained, "--episodes", 300, "--out", out)
    assert [row["side"] for row in json.loads(out.read_text())] == ["X", "O"]
    typed("train", "qtable", "--side", "X", "--games", 3000, "--out", tmp_path / "x")
    assert re.findall("side=.", typed("evaluate", tmp_path / "x", "--exact")) == ["side=X"]


def test_a_resumed_run_ends_where_a_longer_one_ends(trained, tmp_path):
    folder = tmp_path / "run"
    arguments = ("train", "qtable", "--seed", 3, "--out", folder)
    typed(*arguments, "--games", 10_000)
    typed(*arguments, "--games", 30_000, "--resume")
    assert arrays_of(folder) == arrays_of(trained)
    games = [int(row["games"]) for row in runs.read_progress(folder)]
    assert games == sorted(set(games))


def test_a_run_goes_on_with_the_latest_version_and_the_preset_that_it_began_with(tmp_path):
    words = ("--env", "TicTacToe", "--preset", "published", "--games", 10, "--out", tmp_path / "q")
    done = command("train", "qtable", *words)
    assert done.stderr.count("TicTacToe-v0") == 1, done.stderr
    run = Run.read(tmp_path / "q").config
    assert run.env == "TicTacToe-v0"
    resumed, begun = (config_for("qtable", preset=p, resumed=run) for p in ("published", None))
    assert (resumed.games, begun.games) == (7000, 10)
    assert resumed.settings == begun.settings


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


def slowly_compiled(x): ...


@overload(slowly_compiled)
def _(x):
    time.sleep(0.3)
    return lambda x: x


def test_the_clock_of_a_budget_stands_still_while_numba_compiles():
    before, began = clock(), time.perf_counter()
    assert numba.njit(lambda x: slowly_compiled(x))(3) == 3
    assert clock() - before <= time.perf_counter() - began - 0.3


def test_files_to_learn_from_are_found_by_their_path_or_their_content(tmp_path, monkeypatch):
    def starting(path):
        return json.dumps({"shape": [2, 2], "starts": str(path)})

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


def test_a_run_goes_on_up_to_a_larger_budget_and_no_further(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "run")
    again = ("train", "qtable", "--out", folder, "--resume")
    typed(*again)
    assert contents(folder) == contents(trained)
    assert "has played 32,000 games" in typed(*again, "--games", 32_000)
    assert Run.read(folder).config.games == 32_000


@pytest.fixture
def now(monkeypatch):
    """The seconds that the clocks show; each iteration of a Q-table takes a minute."""
    now, learn = [0.0], QTable.learn

    def learn_slowly(learner):
        now[0] += 60
        return learn(learner)

    clocks = {"monotonic": lambda: now[0], "perf_counter": lambda: now[0]}
    monkeypatch.setattr(loop, "time", SimpleNamespace(time=time.time, **clocks))
    monkeypatch.setattr("baselines.progress.clock", lambda: now[0])
    monkeypatch.setattr(QTable, "learn", learn_slowly)
    return now


def test_minutes_of_earlier_calls_count(now, tmp_path):
    small = {"minutes": 12, "n_envs": 10, "out": tmp_path}
    assert train("qtable", **small).iterations == 12
    before = contents(tmp_path)
    train("qtable", **small, resume=True)
    assert contents(tmp_path) == before
    assert train("qtable", **small | {"minutes": 18}, resume=True).iterations == 18
    seconds = [float(row["seconds"]) for row in runs.read_progress(tmp_path)]
    assert seconds == sorted(seconds)
    assert seconds[-1] == 18 * 60


LEARNERS = """
from dataclasses import dataclass
import numpy as np
from baselines.training.episodes import EpisodicLearner
class Mine(EpisodicLearner):
    def __init__(self, game, seed=0, settings=None, sides=()):
        super().__init__(game, seed, 5, "random", sides)
        self.weights = np.zeros(3)
    def action_values(self, boards):
        return np.where(self._game.legal_actions(boards), 0.0, -np.inf)
    def update(self, episodes): ...
class Clashing(Mine):
    @dataclass
    class Settings:
        games: int = 3
"""


def test_a_learner_of_the_users_is_resumed_up_to_its_budget(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.py").write_text(LEARNERS)
    assert "Settings.games" in refused("train", "mine:Clashing", "--games", "20", "--out", "run")
    assert not (tmp_path / "run").exists()
    typed("train", "mine:Mine", "--games", 40, "--out", "run")
    assert "Mine has played 40 games" in typed("train", "mine:Mine", "--resume", "--out", "run")
    assert runs.read_checkpoint(tmp_path / "run")["iterations"] == 8
    assert train(sys.modules.pop("mine").Mine, games=40).iterations == 8


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
    assert train("qtable", games=50, n_envs=10).iterations == 5
    assert runs.read_checkpoint(tmp_path / "q")["iterations"] == 5


def test_saving_takes_a_small_share_of_the_time_before_the_end(now, tmp_path, monkeypatch):
    saving, shares = [0.0], []

    def write(seconds):
        saving[0], now[0] = saving[0] + seconds, now[0] + seconds
        shares.append(saving[0] / now[0])

    monkeypatch.setattr(loop, "size_of", lambda _: 10 * loop.BYTES_PER_SECOND)
    monkeypatch.setattr(QTable, "test", lambda learner, _: {"greedy_return": float(learner.games)})
    monkeypatch.setattr(runs, "write_checkpoint", lambda *_: write(20))
    monkeypatch.setattr(QTable, "save_model", lambda *_: write(10))
    train("qtable", games=1000, n_envs=10, test_every=100, out=tmp_path / "q")
    assert len(shares) > 10 + 2 * 5  # the best models, and checkpoints with the last ones
    assert max(shares[:-2]) <= 1.1 * loop.MAX_SAVING_FRACTION


@pytest.mark.parametrize(("games", "tests"), [(3, [20, 40, 60, 80, 100]), (0, [])])
def test_tests_come_as_often_and_are_as_long_as_asked(games, tests, tmp_path):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    given = {**ON_FOUR_CELLS, **FEW, "test_every": 20, "test_games": games}
    train("qtable", **given, out=whole, checkpoint_every=0.01)
    rows = runs.read_progress(whole)
    assert [int(row["games"]) for row in rows if row.get("greedy_return")] == tests
    train("qtable", **given, out=resumed, callback=lambda learner, _: learner.games < 50)
    train("qtable", out=resumed, resume=True)
    assert contents(resumed) == contents(whole)


def test_a_run_that_is_saved_before_its_end_is_unfinished(tmp_path):
    train("qtable", **FEW, callback=lambda *_: False).save(tmp_path / "q")
    assert not Run.read(tmp_path / "q").finished
    assert train("qtable", resume=True, out=tmp_path / "q").games == 100
    train("qtable", **FEW).save(tmp_path / "whole")
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


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({"env_kwargs": {"shape": (4, 4)}}, True),
        ({"env_kwargs": {"spawn": {"2": 0.9, "4": 0.1}, "max_illegal": 100}}, True),
        ({"minutes": 1.0, "settings": {"epsilon": 1, "replays": "moved"}}, True),
        ({"env_kwargs": {"shape": [3, 4]}}, False),
        ({"env_kwargs": {"max_illegal": 5}}, False),
        ({"contents": {"replays": "another"}}, False),
        ({"budgets": ({"minutes": 0.5}, {"minutes": 1})}, False),
    ],
)
def test_runs_have_equal_keys_if_the_same_decides_them(change, equal):
    settings = {"epsilon": 1.0, "replays": "a"}
    one = RunConfig("qtable", 1, "Tiles2048-v0", {}, (), settings, 0, None, None, 1)
    one = replace(one, contents={"replays": "what they hold"})
    assert (replace(one, **change).key == one.key) == equal
