"""Agents on Stable-Baselines3: runs of ours, and models of its algorithms by their files."""

import json
import shutil
import tempfile
from dataclasses import replace

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
from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.ppo import PPOLearner, PPOSettings
from baselines.evaluation.policies import policy_of
from baselines.evaluation.rows import read_rows
from baselines.evaluation.sampled import play
from baselines.players import load, make_agent, open_player
from baselines.training import loop
from baselines.training import run_folder as runs
from baselines.training.run import config_for
from baselines.training.run_folder import Run
from tile_envs.plug.sb3 import make_sb3
from tile_envs.wrappers.vector import FlatObservation, OneHotPlanes, ReplaceIllegal

BOARD = {"shape": (2, 2)}
ON_TILES = {"env": "Tiles2048-v0", "env_kwargs": BOARD}
SMALL_RUNS = {
    "neural": {"env": "TicTacToe-v0", "games": 20, "n_envs": 20},
    "dqn": {**ON_TILES, "games": 20, **small.DQN},
    "ppo": {**ON_TILES, "games": 5, **small.PPO},
}


def made(learner, env_id="Tiles2048-v0", sides=(), **env_kwargs):
    settings = learner.Settings(**small.DQN if learner is DQNLearner else small.PPO)
    return learner(Task(env_id, env_kwargs).game, 0, settings, sides)


def test_ppo_plays_legal_actions():
    learner = made(PPOLearner, shape=(2, 3))
    boards = learner.envs.reset()
    for move in range(200):
        deterministic = move % 2 == 0
        masks = np.stack(learner.envs.env_method("action_masks"))
        actions, _ = learner.predict(boards, deterministic=deterministic)
        assert masks[np.arange(len(actions)), actions].all()
        assert deterministic <= (learner.predict(boards[0])[0] == actions[0])
        boards, *_ = learner.envs.step(actions)
    assert learner.games > 8
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
        expected = 0.0
        empty = np.argwhere(after[i, action] == 0)
        for cell in empty:
            for tile, chance in ((1, 0.9), (2, 0.1)):
                state = after[i, action].copy()
                state[tuple(cell)] = tile
                if game.legal_actions(state[None]).any():
                    with torch.no_grad():
                        value = learner.model.policy.predict_values(torch.from_numpy(state[None]))
                    expected += chance / len(empty) * float(value) * 64
        expected = rewards[i, action] + 0.9 * expected
        assert values[i, action] == pytest.approx(expected, rel=1e-5)
    assert np.allclose(learner.action_values(boards[0]), values[0])
    assert evaluate(learner, "Tiles2048-v0", {"shape": (2, 3)}, 3, search=2)["mean"] > 0
    assert not hasattr(made(PPOLearner, "TicTacToe-v0"), "action_values")


def test_a_tiny_run_beats_random_play(tmp_path):
    folder = tmp_path / "run"
    options = "--games 100 --width 32 --hidden 32 --learning-starts 1000 --n-envs 16"
    options += " --batch-size 128 --target-update-interval 160 --shape 3 3 --out"
    done = command("train", "dqn", *options.split(), folder)
    assert "greedy_return" in done.stderr
    trained = open_player(folder)
    task, agents = trained.task, (trained.agent, make_agent("random", trained.task.game))
    learned, random = (play(a, task.env, task.env_kwargs, episodes=100) for a in agents)
    assert learned.returns.mean() > 1.5 * random.returns.mean()
    best = open_player(folder / "best.zip")
    tests = [float(row["greedy_return"] or 0) for row in runs.read_progress(folder)]
    found = play(best.agent, task.env, task.env_kwargs, best.agent.test_games, use="test")
    assert found.returns.mean() == max(tests)
    (folder / "cut.zip").write_bytes((folder / "last.zip").read_bytes()[:1000])
    for name in ("cut.zip", "missing.zip"):
        with pytest.raises(ValueError, match=rf"{name} is no model of this run"):
            load(folder / name)
    model = MaskedDQN.load(folder / "last.zip")
    boards, _ = gym.make_vec(task.env, 20, **task.env_kwargs).reset(seed=0)
    actions, _ = model.predict(boards, deterministic=True)
    assert np.array_equal(actions, trained.agent.predict(boards)[0])


def test_what_a_run_takes_on_disk_is_said_at_its_start(tmp_path, monkeypatch):
    words = ("train", "ppo", "--width", 32, "--n-envs", 4, "--test-games", 1, "--games", 4, "--out")
    guessed, size_of = [], loop.size_of  # of a checkpoint; two models come beside it
    monkeypatch.setattr(loop, "size_of", lambda held: guessed.append(size_of(held)) or 7e9 / 3)
    assert f"{tmp_path / 'p'} will take about 7.0 GB" in command(*words, tmp_path / "p").stderr
    files = sum(path.stat().st_size for path in (tmp_path / "p").iterdir())
    assert 0.5 * files < 3 * guessed[0] < 2 * files


@pytest.mark.parametrize("kind", [DQNLearner, PPOLearner])
def test_a_learner_leaves_no_temporary_folder_of_its_log(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made(kind, **BOARD).learn()
    assert not list(tmp_path.glob("SB3-*"))


@pytest.mark.parametrize("kind", [DQNLearner, PPOLearner])
def test_the_learning_rate_follows_the_budget(kind):
    rates = {"learning_rate": 0.5, "final_learning_rate": 0.1}
    settings = (small.DQN if kind is DQNLearner else small.PPO) | rates
    learner = kind(Task("Tiles2048-v0", BOARD).game, 0, kind.Settings(**settings))
    for progress, rate in ((0.0, 0.5), (0.5, 0.3), (1.0, 0.1)):
        learner.progress = progress  # as the loop says before each iteration
        for _ in range(20):
            learner.learn()
        (group,) = learner.model.policy.optimizer.param_groups
        assert group["lr"] == pytest.approx(rate, abs=0.02)
    resumed = kind(Task("Tiles2048-v0", BOARD).game, 0, kind.Settings(**settings))
    resumed.load_state_dict(learner.state_dict())
    assert resumed.model.policy.optimizer.param_groups[0]["lr"] == group["lr"]


def test_a_run_tells_its_learner_the_progress():
    seen, options = [], {**ON_TILES, **small.DQN, "games": 300, "rollout_steps": 4}
    train("dqn", callback=lambda dqn, _: seen.append((dqn.games / 300, dqn.progress)), **options)
    after, before = zip(*seen, strict=True)
    assert len(seen) > 5
    assert before[1:] == pytest.approx(after[:-1], abs=0.01)


def test_a_dqn_tells_its_exploration_and_the_values_of_what_it_learns_from():
    learner = made(DQNLearner, **BOARD)
    metrics = learner.learn()
    assert metrics["exploration"] == 1  # until learning starts
    assert np.isnan(metrics["value"])
    learner.progress = 0.05
    for _ in range(10):
        metrics = learner.learn()
    assert metrics["exploration"] == pytest.approx(learner.model.exploration_rate, abs=0.02)
    assert np.isfinite(metrics["value"])


@pytest.mark.parametrize("kind", [DQNLearner, PPOLearner])
@pytest.mark.parametrize(("sides", "n_sides"), [((), 2), (("O",), 1)])
def test_games_are_counted_on_each_side(kind, sides, n_sides):
    learner = made(kind, "TicTacToe-v0", sides)
    while learner.envs.episodes < 100:
        assert learner.games < 100 / n_sides
        learner.learn()
    assert learner.games == learner.envs.episodes // n_sides


def test_the_best_model_is_that_with_the_better_worst_side(tmp_path, monkeypatch):
    """The first wins as X and loses as O, the second seldom loses, the third wins more, too."""
    names = [f"greedy_{name}" for name in ("loss_X", "win_X", "loss_O", "win_O")]
    tests = [(0, 0.99, 0.9, 0.05), (0.1, 0.5, 0.1, 0.7), (0.1, 0.6, 0, 0.8), (0.2, 0.95, 0.1, 0.9)]
    tested = []

    def next_test(learner, sides):
        tested.append(learner.games)
        return dict(zip(names, tests[len(tested) - 1], strict=True))

    monkeypatch.setattr("baselines.training.learner.side_metrics", next_test)
    monkeypatch.setattr(PPOLearner, "save_model", lambda m, path: path.write_text(f"{m.games}"))
    few = {"n_envs": 32, "n_steps": 16, "batch_size": 256, "n_epochs": 1, "width": 8}
    train("ppo", "TicTacToe-v0", games=1000, out=tmp_path, **few)
    assert len(tested) == 4
    assert int((tmp_path / "best.zip").read_text()) == tested[2]


@pytest.mark.parametrize(("name", "threads"), [("neural", 1), ("dqn", 1), ("ppo", 2)])
def test_torch_computes_as_the_settings_say_and_is_left_as_it_was_found(name, threads, tmp_path):
    def found():
        return torch.get_num_threads(), (torch.tensor(1e-40) * 1 == 0).item()

    used = []
    hook = register_module_forward_hook(lambda *_: used.append(found()))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        task = train(name, **SMALL_RUNS[name], threads=threads, out=tmp_path).config.task
        assert (threads, True) in used, "learning flushes denormal numbers"
        used.clear()
        random = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
        agent = load(tmp_path)
        boards, _ = gym.make_vec(task.env, 5, **task.env_kwargs).reset(seed=0)
        for predict in (agent.predict, getattr(agent, "action_values", agent.predict)):
            predict(boards)
            predict(boards[0])
        evaluate(agent, task.env, task.env_kwargs, episodes=5)
        assert set(used) == {(threads, False)}
        assert found() == (3, False)
        now = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
        assert now == random
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
    task = agent.config.task
    assert agent.model.device.type == "cuda"
    same = type(agent)(task.game, 0, replace(agent._settings, device="cpu"))
    same.load_state_dict(agent.state_dict())
    boards, _ = gym.make_vec(task.env, 20, **task.env_kwargs).reset(seed=0)
    assert np.allclose(agent.action_values(boards), same.action_values(boards), rtol=1e-4)


def test_a_run_says_what_device_auto_was_and_may_be_resumed_on_another(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    learner = PPOLearner.new(config_for("ppo", "Tiles2048-v0", BOARD, **small.PPO))
    config = learner.config
    assert config.settings["device"] == "cpu"
    elsewhere = replace(config, settings=config.settings | {"device": "cuda"})
    assert not elsewhere.differences(config)
    libraries = {"stable-baselines3", "sb3-contrib", "torch", "numba"}
    assert learner.run.versions.keys() >= libraries


def test_a_run_of_an_earlier_version_is_played_unless_its_settings_are_others(tmp_path):
    train("ppo", "Tiles2048-v0", BOARD, games=2, out=tmp_path, **small.PPO)
    config = Run.read(tmp_path).config
    Run(replace(config, agent_version=3)).write(tmp_path)
    assert open_player(tmp_path).agent.games >= 2
    with pytest.raises(ValueError, match="agent_version was 3"):
        train("ppo", games=20, out=tmp_path, resume=True)
    for version, named in ((3, "version 3 of ppo"), (config.agent_version, "'symmetric'")):
        old = replace(config, settings=config.settings | {"symmetric": True})
        Run(replace(old, agent_version=version)).write(tmp_path)
        with pytest.raises(ValueError, match=named):
            load(tmp_path)


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
    typed("watch", file, *game, "--html", tmp_path / "game.html")
    how = {"agent_kwargs": {"wrappers": wrappers}}
    assert f"{evaluate(file, 'Tiles2048-v0', BOARD, 20, **how)['mean']:,.1f}" in done


def test_a_file_answers_one_board_by_one_action(models):
    agent = load(models / "MaskablePPO.zip", gym.make("Tiles2048-v0", shape=(2, 2)))
    boards = np.array([[[1, 1], [0, 2]], [[1, 2], [2, 1]]], np.uint8)
    actions, _ = agent.predict(boards)
    assert [agent.predict(board)[0] for board in boards] == actions.tolist()


def test_files_are_named_by_their_paths_and_grouped_by_patterns(models, tmp_path):
    said = typed("compare", models / "DQN.zip", "greedy", *GAME, "--wrappers", "ReplaceIllegal")
    assert "DQN" in said
    assert "greedy" in said
    files, out = [models / "MaskablePPO.zip", models / "MaskablePPO-1.zip"], tmp_path / "rows.csv"
    for name in ("compare", "evaluate"):
        typed(name, *files, *GAME, "--episodes", 5, "--out", out)
        rows = read_rows(out)
        assert [row["path"] for row in rows] == [*map(str, files)]
        assert all(row["agent"].startswith(row["path"]) for row in rows)
        typed(name, models / "MaskablePPO*.zip", *GAME, "--episodes", 5, "--out", out)
        *rows, mean = read_rows(out)
        assert [row["train_seed"] for row in rows] == ["1", "0"]
        assert json.loads(rows[0]["settings"]) == ON_POLICY
        assert mean["interval_of"] == "mean"
        assert f"{models}/none*.zip" in refused(name, models / "none*.zip", *GAME)


def test_what_does_not_fit_is_said_in_one_line(models, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    for words, named in (
        ((tmp_path / "a.zip", *GAME), "a.zip is no model"),
        ((models / "DQN.zip",), "Observation spaces do not match: Box(0, 17, (2, 2), uint8)"),
        ((models / "DQN.zip", *GAME, "--wrappers", "Log2Reward"), "wrappers"),
    ):
        assert named in refused("evaluate", *words)
    with pytest.raises(ValueError, match="Observation spaces"):
        load(models / "DQN.zip")


@pytest.mark.parametrize(("name", "beside"), [("model.zip", "progress.csv"), ("best.zip", "a")])
def test_a_model_without_its_runs_configuration_is_not_loaded_in_silence(
    models, tmp_path, name, beside
):
    shutil.copy(models / "MaskablePPO.zip", tmp_path / name)
    (tmp_path / beside).touch()
    done = command("evaluate", tmp_path / name, *GAME, "--episodes", 2)
    assert done.returncode == 0
    assert "runs code" in done.stderr.splitlines()[0]
    assert "runs code" not in command("evaluate", models / "DQN.zip").stderr
