"""Training on Stable-Baselines3 as a run: resumed bit for bit, judged, better than random play."""

import subprocess
import sys
from functools import partial

import gymnasium as gym
import numpy as np
import psutil
import pytest
from baselines.evaluate import play
from baselines.roster import contestant, load, make_agent

from baselines import runs
from baselines.deep.dqn import DQNLearner, DQNSettings
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.ppo import PPOLearner, PPOSettings

SMALL = {"width": 8, "hidden": (8,), "batch": 16, "warm_up": 64, "memory": 640, "threads": 1}


def made(env_id="Tiles2048-v0", sides=(), seed=0, env_kwargs=None, **settings):
    env = gym.make(env_id, **(env_kwargs or {}))
    return DQNLearner(env, sides, DQNSettings(**(SMALL | settings)), seed)


def made_ppo(env_id="Tiles2048-v0", sides=(), seed=0, env_kwargs=None):
    small = {"width": 8, "hidden": (8,), "batch": 16, "rollout_steps": 4, "games_at_once": 8}
    env = gym.make(env_id, **(env_kwargs or {}))
    return PPOLearner(env, sides, PPOSettings(**small, threads=1), seed)


def equal(one, other):
    one, other = one.state(), other.state()
    return all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one.keys() | other.keys()
    )


@pytest.mark.parametrize("make", [made, partial(made, n_steps=2), made_ppo])
@pytest.mark.parametrize(
    ("env_id", "sides"), [("Tiles2048-v0", ()), ("Tiles2584-v0", ()), ("TicTacToe-v0", ("X", "O"))]
)
def test_a_restored_learner_ends_where_the_other_ends(env_id, sides, make):
    env_kwargs = {} if sides else {"shape": (2, 3)}
    whole, again, other = (make(env_id, sides, seed, env_kwargs) for seed in (0, 0, 1))
    for _ in range(6):
        whole.learn()
    again.restore({name: array.copy() for name, array in whole.state().items()})
    assert equal(whole, again)
    for _ in range(6):
        figures, same = whole.learn(), again.learn()
    assert equal(whole, again)
    del figures["environment_share"], same["environment_share"]
    assert figures == same
    for _ in range(12):
        other.learn()
    assert not equal(whole, other)


@pytest.mark.parametrize("deterministic", [True, False])
def test_ppo_plays_legal_actions(deterministic):
    learner = made_ppo(env_kwargs={"shape": (2, 3)})
    record = play(
        learner, "Tiles2048-v0", {"shape": (2, 3)}, episodes=20, deterministic=deterministic
    )
    assert record.moves > 20
    exact = made_ppo("TicTacToe-v0", ("X", "O")).test(1)
    assert exact["greedy_win_X"] + exact["greedy_draw_X"] + exact["greedy_loss_X"] == pytest.approx(
        1
    )


def test_what_others_draw_does_not_matter():
    one, other = made(), made()
    for _ in range(4):
        one.learn()
        np.random.random(3)  # noqa: NPY002
        other.learn()
    assert equal(one, other)


def test_a_tiny_run_beats_random_play(tmp_path):
    folder = tmp_path / "run"
    arguments = [
        *("train", "dqn", "--env-kwargs", '{"shape": [3, 3]}', "--games", "150", "--threads", "1"),
        *("--width", "32", "--hidden", "32", "--warm-up", "1000", "--games-at-once", "16"),
        *("--gradient-steps", "1", "--target-steps", "1000", "--learning-rate", "2e-3"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "baselines", *arguments, "--out", folder],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "greedy_mean" in done.stderr
    assert (folder / "best.zip").exists()
    player = load(folder)
    trained = play(player.agent, player.env, player.env_kwargs, episodes=100).returns.mean()
    random = make_agent("random", player.env, player.env_kwargs)
    assert trained > 1.5 * play(random, player.env, player.env_kwargs, episodes=100).returns.mean()
    best = contestant(str(folder / "best.zip"), None, {}, 0, {})
    assert play(best.agent, best.env, best.env_kwargs, episodes=10).moves > 0
    (folder / "cut.zip").write_bytes((folder / "last.zip").read_bytes()[:1000])
    for name in ("cut.zip", "missing.zip"):
        with pytest.raises(ValueError, match=rf"{name} is no model of this run"):
            load(folder / name)
    model = MaskedDQN.load(folder / "last.zip")
    boards, _ = gym.make_vec(player.env, 20, **player.env_kwargs).reset(seed=0)
    assert np.array_equal(
        model.predict(boards, deterministic=True)[0], player.agent.predict(boards)[0]
    )


def test_memory_is_checked_before_it_is_taken(monkeypatch):
    class Little:
        available = 1 << 20

    monkeypatch.setattr(psutil, "virtual_memory", Little)
    with pytest.raises(ValueError, match=r"200,000 transitions takes 0.0 GiB.*a memory of at most"):
        made(memory=200_000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"precision": "half"}, "precision must be one of auto, float32, bfloat16, got 'half'"),
        ({"hidden": (0,)}, "hidden must be widths of at least 1"),
        ({"memory": 8}, "memory must be at least warm_up, 64, got 8"),
        ({"warm_up": 8}, "warm_up must be at least batch, 16, got 8"),
        ({"epsilon": 1.5}, "epsilon must be from 0 to 1, got 1.5"),
        ({"discount": -1}, "discount must be from 0 to 1, got -1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"afterstates": False}, "symmetric needs afterstates"),
    ],
)
def test_unusable_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_a_checkpoint_of_another_network_is_refused():
    with pytest.raises(ValueError, match="the checkpoint"):
        made(width=9).restore(made().state())
    with pytest.raises(ValueError, match="the checkpoint"):
        made("Tiles2584-v0").restore(made().state())


def test_boards_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="must have shape"):
        made().values(np.zeros((1, 3, 3), np.uint8))


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    config = dict.fromkeys(runs.ENTRIES, "x") | {"settings": {}}
    runs.begin(tmp_path, config)
    learner = made(env_kwargs={"shape": (2, 2)})
    runs.train(tmp_path, learner, games=30)
    again = made(env_kwargs={"shape": (2, 2)})
    again.restore(runs.read_checkpoint(tmp_path))
    assert again.games == learner.games >= 30
    assert equal(learner, again)


def test_a_run_goes_on_on_another_device_but_not_otherwise(tmp_path):
    def config(settings):
        return dict.fromkeys(runs.ENTRIES, "x") | {"settings": settings}

    runs.begin(tmp_path, config({"device": "cuda", "width": 8}))
    runs.go_on(tmp_path, config({"device": "cpu", "width": 8}), made())
    with pytest.raises(ValueError, match="goes on as it began only: width was 8 and is now 9"):
        runs.go_on(tmp_path, config({"device": "cuda", "width": 9}), made())
