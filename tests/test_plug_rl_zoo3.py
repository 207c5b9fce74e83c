"""rl-zoo3 trains by the command that `tile_envs.plug.rl_zoo3` documents."""

import subprocess
import sys

import pytest

from tile_envs.plug import rl_zoo3

pytest.importorskip("rl_zoo3", reason="needs tile-envs[rl-zoo3]")

COMMAND = rl_zoo3.__doc__.split("python -m ")[1].split("\n\n")[0].replace("\\\n", " ").split()


@pytest.mark.slow
@pytest.mark.parametrize("env", rl_zoo3.hyperparams)
def test_the_command_trains(env, tmp_path):
    command = [*COMMAND[:-1], str(tmp_path), "--n-timesteps", "3000", "--eval-freq", "-1"]
    command[command.index("--env") + 1] = env
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob(f"{env}.zip"))
