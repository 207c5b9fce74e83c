"""The programs of libraries and of the article: each trains for a moment, and plays legally."""

import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from commands import ROOT, python
from torch.distributions import Categorical

from baselines.evaluation.sampled import play
from benchmarks.experiments import EXPERIMENTS
from benchmarks.libraries import cleanrl_dqn, cleanrl_ppo, table
from benchmarks.libraries.table import PROGRAMS
from benchmarks.run import make_missing

PATHS = sorted(Path(table.__file__).parent.glob("[!_]*.py"))
LONGER = {"cleanrl_ppo": 150, "cleanrl_dqn": 150, "purejax_ppo": 160, "mctx_2048": 160, "table": 80}
FOREVER = {"num_envs": 32, "width": 16, "minutes": float("inf")}
CLEANRL = [(cleanrl_ppo, FOREVER | {"num_steps": 64}), (cleanrl_dqn, FOREVER | {"batch_size": 64})]


@pytest.fixture(autouse=True)
def torch_as_it_was():
    """Undo what the programs ask of torch for their own process."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_program_is_short_and_named_on_the_page_of_libraries(path):
    assert path.read_text().count("\n") <= LONGER.get(path.stem, 60)
    page = (ROOT / "tile_envs" / "README.md").read_text()
    assert path.stem == "table" or f"`{path.name}`" in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # libraries warn of themselves
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p.extra}-{p.algorithm}-{p.env}")
def test_a_program_trains_and_plays_without_illegal_actions(program, strict):
    if needs := program.needs():
        pytest.skip(needs)
    small = {"total_timesteps": 2_500, "games": 100, "minutes": 0.01}
    arguments = {name: small.get(name, value) for name, value in program.arguments.items()}
    assert play(replace(program, arguments=arguments).train(), program.env, episodes=20).moves > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("libraries/cleanrl_ppo.py", "--minutes", 0.001),
        ("libraries/cleanrl_dqn.py", "--minutes", 0.001),
        ("article.py", "--iterations", 1),
    ],
)
def test_a_program_runs_as_a_script(command, tmp_path):
    done = python(ROOT / "benchmarks" / command[0], *command[1:], cwd=tmp_path)
    assert re.search(r"mean score|3 plies: [\d,]+ \([\d,]+ to [\d,]+\)", done.stdout)


def test_a_row_tells_the_result_beside_random_play(strict):
    program = next(program for program in PROGRAMS if program.program == "cleanrl_dqn")
    arguments = {"total_timesteps": 2_000, "num_envs": 32, "batch_size": 64, "width": 8}
    row = replace(program, arguments=arguments, episodes=20).make()
    assert program.name().items() <= row.items()
    assert row["low"] < row["mean"] < row["high"]
    assert row["random"] > 500
    assert torch.tensor(1e-40) * 1 != 0, "the program flushes denormal numbers in its process alone"


def test_libraries_that_are_missing_are_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(table, "PROGRAMS", [replace(p, package="none") for p in PROGRAMS])
    make_missing({"plug": EXPERIMENTS["plug"]}, tmp_path, tmp_path)
    assert "plug/RLlib: left out, needs pip install -e '.[rllib]'" in capsys.readouterr().out
    assert not (tmp_path / "plug.csv").exists()


def test_advantages_leave_out_the_steps_that_reset_games():
    """Boards are their values; step 2 ends game 0 and truncates game 1, step 3 resets both."""
    info = {"action_mask": np.ones((3, 2)), "illegal": np.zeros(3)}
    rewards, games = iter([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 0.0, 6.0]]), Mock()
    ends = iter([[0, 0, 0], [1, 2, 0], [0, 0, 0]])
    boards = iter(np.arange(1, 13).reshape(4, 3, 1))

    def step(actions):
        end = np.array(next(ends))
        return next(boards), np.array(next(rewards)), end == 1, end == 2, info

    def agent(boards, masks):
        return Categorical(logits=torch.zeros(len(boards), 2)), boards[:, 0].float()

    games.reset, games.step = lambda seed: (next(boards), info), step
    args = cleanrl_ppo.Args(num_envs=3, num_steps=3, gamma=0.5, gae_lambda=0.5)
    (seen, *_, advantages, returns), _ = next(cleanrl_ppo.rollouts(agent, games, args))
    assert seen[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 9]
    # Nothing follows a termination; the last board of a truncated game, 8, has its value.
    terminated, truncated, third = 3 - 4, 4 + 0.5 * 8 - 5, 6 + 0.5 * 12 - 9
    second = 5 + 0.5 * 9 - 6 + 0.25 * third
    following = np.array([terminated, truncated, second])
    first = np.array([0.5 + 0.5 * 4 - 1, 1 + 0.5 * 5 - 2, 2 + 0.5 * 6 - 3]) + 0.25 * following
    assert advantages.tolist() == [*first, terminated, truncated, second, third]
    assert returns.tolist() == (advantages + seen[:, 0]).tolist()


@pytest.mark.parametrize(("program", "small"), CLEANRL, ids=["ppo", "dqn"])
def test_the_plain_programs_train_on_every_game_and_the_seed_decides(program, small, strict):
    def weights(env_id, seed):
        agent, metrics = program.train(program.Args(env_id, seed, total_timesteps=6_000, **small))
        assert metrics["games"] > metrics["illegal"] == 0
        play(agent, env_id, episodes=10)
        return torch.cat([*map(torch.ravel, agent.parameters())])

    assert all(weights(env_id, 1).isfinite().all() for env_id in ("Tiles2048-v0", "Tiles2584-v0"))
    one, same, other = (weights("TicTacToe-v0", seed) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.slow
def test_the_plain_dqn_learns():
    """Four times the score of random play."""
    small = {"num_envs": 64, "batch_size": 256, "width": 32, "minutes": float("inf")}
    agent, _ = cleanrl_dqn.train(cleanrl_dqn.Args(total_timesteps=60_000, **small))
    assert play(agent, "Tiles2048-v0", episodes=50).returns.mean() > 4_000
