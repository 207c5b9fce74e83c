"""A user's script, which type checkers accept without a cast (see `test_typing.py`)."""

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type  # which Gymnasium needs

from baselines import Learner, evaluate, train
from tile_envs import RULES_2584, SlidingGame, Step
from tile_envs.sliding import Tiles2048Env, Tiles2048VectorEnv
from tile_envs.tictactoe import TicTacToeVectorEnv
from tile_envs.wrappers import MaskInObservation, vector

env = gym.make("Tiles2048-v0", shape=(3, 3))
observation, info = env.reset(seed=0)
mask: NDArray[np.int8] = info["action_mask"]
observation, reward, terminated, truncated, info = env.step(env.action_space.sample(mask))
wrapped = MaskInObservation(env, mask_dtype=np.float32)
legal: NDArray[np.bool_] = wrapped.action_masks()

game = env.unwrapped
assert isinstance(game, Tiles2048Env)
game.set_state(game.get_state())
afterstates, rewards, masks = game.game.afterstates(observation[None])

envs = gym.make_vec("Tiles2048-v0", 64)
assert isinstance(envs, Tiles2048VectorEnv)
observations, infos = envs.reset(seed=0)
observations, *_ = envs.step(envs.sample_legal_actions())
planes = vector.OneHotPlanes(envs)

fibonacci = SlidingGame(RULES_2584)
state, step = fibonacci.step(fibonacci.begin([0, 1]), [3, 0])
assert_type(step, Step)

agent: Learner = train("qtable", "TicTacToe-v0", games=1000, epsilon=0.5)
win: float = evaluate(agent, "TicTacToe-v0", episodes=10, side="O")["win"]

one = Tiles2048Env(shape=(3, 3), render_mode="ansi")
assert_type(one.reset()[1]["score"], int)
assert_type(one.step(0)[4]["illegal"], bool)
many = TicTacToeVectorEnv(64, opponent="minimax", autoreset_mode="SameStep")
print(planes.autoreset_mode, many.game.sides, one.reset()[1]["score"], legal.all())
