"""Agents on Stable-Baselines3: runs of ours, and models of its algorithms by their files."""

import json
import shutil
from dataclasses import replace
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
import small
import torch
from commands import command, refused, typed
from sb3_contrib import QRDQN, MaskablePPO
from stable_baselines3 import DQN, PPO
from torch.nn.modules.module import register_module_forward_hook

from baselines import evaluate, train
from baselines.agents import Task
from baselines.deep.dqn import DQNLearner
from baselines.deep.ppo import PPOLearner, PPOSettings
from baselines.evaluation.policies import policy_of
from baselines.evaluation.rows import read_rows
from baselines.evaluation.sampled import play
from baselines.players import load, make_agent, open_player
from baselines.training import loop
from baselines.training import run_folder as runs
from baselines.training.run_folder import Run
from tile_envs.plug.sb3 import make_sb3
from tile_envs.wrappers.vector import FlatObservation, OneHotPlanes, ReplaceIllegal

BOARD = {"shape": (2, 2)}
ON_TILES = {"env": "Tiles2048-v0", "env_kwargs": BOARD}
SMALL_RUNS = {
    "neural": {"env": "TicTacToe-v0", "games": 20, "n_envs": 20},
    "dqn": {**ON_TILES, "games": 20, **small.DQN, "rollout_steps": 4},
    "ppo": {**ON_TILES, "games": 5, **small.PPO},
}


def made(learner, env_id="Tiles2048-v0", sides=(), **env_kwargs):
    settings = learner.Settings(**small.DQN if learner is DQNLearner else small.PPO)
    return learner(Task(env_id, env_kwargs).game, 0, settings, sides)


def test_ppo_plays_legal_actions():
    learner = made(PPOLearner, shape=(2, 3))
    boards = learner.envs.reset()
    for move in range(200):
        masks = np.stack(learner.envs.env_method("action_masks"))
        actions, _ = learner.predict(boards, deterministic=move % 2 == 0)
        assert masks[np.arange(len(actions)), actions].all()
        assert move % 2 or learner.predict(boards[0])[0] == actions[0]
        boards, *_ = learner.envs.step(actions)
    for side in ("X", "O"):  # raises if it plays a taken cell
        policy_of(made(PPOLearner, "TicTacToe-v0"), side)


def test_action_values_of_ppo_look_one_move_and_one_tile_ahead():
    settings = PPOSettings(**small.PPO, reward_scale=1 / 64, gamma=0.9)
    learner = PPOLearner(Task("Tiles2048-v0", {"shape": (2, 3)}).game, 0, settings)
    game, boards = learner.envs.games.game, learner.envs.reset()
    boards[0] = [[1, 2, 1], [2, 1, 0]]  # the game may end
    after, rewards, masks = game.afterstates(boards)
    values = learner.action_values(boards)
    assert np.array_equal(values == -np.inf, masks == 0)
    for i, action in np.argwhere(masks):
        expected, empty = 0.0, np.argwhere(after[i, action] == 0)
        for cell, (tile, chance) in product(empty, ((1, 0.9), (2, 0.1))):
            state = after[i, action].copy()
            state[tuple(cell)] = tile
            if game.legal_actions(state[None]).any():
                with torch.no_grad():
                    value = learner.model.policy.predict_values(torch.from_numpy(state[None]))
                expected += chance / len(empty) * float(value) * 64
        assert values[i, action] == pytest.approx(rewards[i, action] + 0.9 * expected, rel=1e-5)
    assert np.allclose(learner.action_values(boards[0]), values[0])
    assert evaluate(learner, "Tiles2048-v0", {"shape": (2, 3)}, 3, search=2)["mean"] > 0


def test_a_tiny_run_beats_random_play(tmp_path):
    folder = tmp_path / "run"
    options = "--games 100 --width 32 --hidden 32 --learning-starts 1000 --n-envs 16"
    options += " --batch-size 128 --target-update-interval 160 --shape 3 3 --out"
    typed("train", "dqn", *options.split(), folder)
    trained = open_player(folder)
    task, agents = trained.task, (trained.agent, make_agent("random", trained.task.game))
    learned, random = (play(a, task.env, task.env_kwargs, episodes=100) for a in agents)
    assert learned.returns.mean() > 1.5 * random.returns.mean()
    best = open_player(folder / "best.zip")
    tests = [float(row["greedy_return"] or 0) for row in runs.read_progress(folder)]
    found = play(best.agent, task.env, task.env_kwargs, best.agent.test_games, use="test")
    assert found.returns.mean() == max(tests)


@pytest.mark.parametrize("name", ["dqn", "ppo"])
def test_the_learning_rate_follows_the_budget(name):
    seen, rates = [], {"learning_rate": 0.5, "final_learning_rate": 0.1, "games": 300}

    def see(learner, _):
        (group,) = learner.model.policy.optimizer.param_groups
        seen.append((learner.games / 300, group["lr"]))

    train(name, **SMALL_RUNS[name] | rates, callback=see)
    after, rate = np.array(seen[len(seen) // 5 :]).T  # it is not set before learning starts
    assert len(after) > 5
    assert rate[1:] == pytest.approx(0.5 - 0.4 * after[:-1], abs=0.02)


@pytest.mark.parametrize(("kind", "sides"), [(DQNLearner, ()), (PPOLearner, ("O",))])
def test_games_are_counted_on_each_side(kind, sides):
    learner = made(kind, "TicTacToe-v0", sides)
    while learner.envs.episodes < 100:
        learner.learn()
    assert learner.games == learner.envs.episodes // (len(sides) or 2)


def test_the_best_model_is_that_with_the_better_worst_side():
    """The first wins as X and loses as O, the second seldom loses, the third wins more, too."""
    names = [f"greedy_{name}" for name in ("loss_X", "win_X", "loss_O", "win_O")]
    tests = [(0, 0.99, 0.9, 0.05), (0.1, 0.5, 0.1, 0.7), (0.1, 0.6, 0, 0.8), (0.2, 0.95, 0.1, 0.9)]
    told = [dict(zip(names, test, strict=True)) for test in tests]
    assert max(told, key=loop._merit) == told[2]


@pytest.mark.parametrize(("name", "threads"), [("neural", 1), ("dqn", 1), ("ppo", 2)])
def test_torch_computes_as_the_settings_say_and_is_left_as_it_was_found(name, threads, tmp_path):
    def found():
        return torch.get_num_threads(), (torch.tensor(1e-40) * 1 == 0).item()

    def random():
        return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002

    used, before = [], torch.get_num_threads()
    hook = register_module_forward_hook(lambda *_: used.append(found()))
    torch.set_num_threads(3)
    try:
        train(name, **SMALL_RUNS[name], threads=threads, out=tmp_path)
        assert (threads, True) in used, "learning flushes denormal numbers"
        used.clear()
        drawn = random()
        evaluate(tmp_path, episodes=5)
        assert set(used) == {(threads, False)}
        assert (found(), random()) == ((3, False), drawn)
    finally:
        torch.set_num_threads(before)
        hook.remove()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
@pytest.mark.parametrize("name", ["dqn", "ppo"])
def test_a_run_on_a_gpu_is_resumed_and_plays_as_on_a_processor(name, tmp_path):
    options = SMALL_RUNS[name] | {"device": "cuda", "out": tmp_path}
    train(name, **options)
    train(name, **options | {"games": 2 * options["games"]}, resume=True)
    agent = load(tmp_path)
    assert agent.model.device.type == "cuda"
    same = type(agent)(agent.config.task.game, 0, replace(agent._settings, device="cpu"))
    same.load_state_dict(agent.state_dict())
    boards = same.envs.reset()
    assert np.allclose(agent.action_values(boards), same.action_values(boards), rtol=1e-4)


def test_a_run_of_an_earlier_version_is_played_and_not_resumed(tmp_path):
    train("ppo", **SMALL_RUNS["ppo"], out=tmp_path)
    Run(replace(Run.read(tmp_path).config, agent_version=3)).write(tmp_path)
    assert load(tmp_path).games >= 5
    with pytest.raises(ValueError, match="agent_version was 3"):
        train("ppo", games=20, out=tmp_path, resume=True)


OFF_POLICY = {"learning_starts": 8, "buffer_size": 100, "batch_size": 8}
ON_POLICY = {"n_steps": 8, "batch_size": 16, "n_epochs": 1}
MODELS = {
    "PPO": (PPO, (ReplaceIllegal, OneHotPlanes, FlatObservation), ON_POLICY),
    "MaskablePPO": (MaskablePPO, (), ON_POLICY),
    "DQN": (DQN, (ReplaceIllegal,), OFF_POLICY),
    "QRDQN": (QRDQN, (ReplaceIllegal,), OFF_POLICY),
}
GAME = ("--env", "Tiles2048-v0", "--shape", 2, 2)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, (kind, wrappers, how) in MODELS.items():
        envs = make_sb3("Tiles2048-v0", 4, shape=(2, 2), wrappers=wrappers)
        model = kind("MlpPolicy", envs, seed=0, **how).learn(64)
        model.save(folder / name)
        model.seed = 1
        model.save(folder / f"{name}-1")
    return folder


@pytest.mark.parametrize("name", MODELS)
def test_a_file_plays_legal_actions_by_its_algorithm(models, name, tmp_path):
    file, wrappers = models / f"{name}.zip", [each.__name__ for each in MODELS[name][1]]
    game = (*GAME, "--wrappers", *wrappers) if wrappers else GAME
    done = typed("evaluate", file, *game, "--episodes", 20)
    assert done.startswith(f"{file} ({name}) on Tiles2048-v0, ")
    typed("record", file, *game, "--out", tmp_path / "a.npz", "--format", "npz")
    played = np.load(tmp_path / "a.npz")
    assert played["action_masks"][np.arange(len(played["actions"])), played["actions"]].all()
    how = {"agent_kwargs": {"wrappers": wrappers}}
    assert f"{evaluate(file, 'Tiles2048-v0', BOARD, 20, **how)['mean']:,.1f}" in done
    if not wrappers:  # it answers one board by one action
        agent = load(file, gym.make("Tiles2048-v0", shape=(2, 2)))
        boards = np.array([[[1, 1], [0, 2]], [[1, 2], [2, 1]]], np.uint8)
        assert [agent.predict(board)[0] for board in boards] == agent.predict(boards)[0].tolist()


def test_files_are_named_by_their_paths_and_averaged_over_their_seeds(models, tmp_path):
    out = tmp_path / "rows.csv"
    typed("evaluate", models / "MaskablePPO*.zip", *GAME, "--episodes", 5, "--out", out)
    *rows, mean = read_rows(out)
    assert rows[0]["path"] == f"{models / 'MaskablePPO-1.zip'}"
    assert [row["train_seed"] for row in rows] == ["1", "0"]
    assert json.loads(rows[0]["settings"]) == ON_POLICY
    assert mean["interval_of"] == "mean"


def test_a_model_without_its_runs_configuration_is_not_loaded_in_silence(models, tmp_path):
    shutil.copy(models / "MaskablePPO.zip", tmp_path / "model.zip")
    (tmp_path / "progress.csv").touch()
    done = command("evaluate", tmp_path / "model.zip", *GAME, "--episodes", 2)
    assert done.returncode == 0
    assert "runs code" in done.stderr.splitlines()[0]
    assert "Observation spaces do not match" in refused("evaluate", models / "DQN.zip")
