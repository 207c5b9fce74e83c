"""Masked PPO with games and learning in one compiled function, in the style of PureJaxRL.

It learns as `cleanrl_ppo.py` does.  A game is reset in the step that ends it, so no state is
without legal actions; as illegal actions are masked, nothing truncates a game.
"""

import time
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tyro

from tile_envs.jax import make


@dataclass(frozen=True)
class Args:
    env_id: str = "Tiles2048-v0"  # Tiles2048-v0, Tiles2584-v0, TicTacToe-v0, or a game of your own.
    seed: int = 1  # Seed of games, network and exploration.
    minutes: float = 5.0  # Training budget in minutes, of CPU time where there is no accelerator.
    total_timesteps: float = np.inf  # Training budget in steps: the first to be spent counts.
    num_envs: int = 512  # Games played side by side.
    num_steps: int = 32  # Steps of each game in a rollout.
    width: int = 128  # Units of each hidden layer.
    learning_rate: float = 2.5e-3  # Learning rate, which falls linearly to 0 over the budget.
    gamma: float = 0.997  # Discount factor.
    gae_lambda: float = 0.9  # λ of the generalized advantage estimate.
    update_epochs: int = 4  # Passes over each rollout.
    num_minibatches: int = 4  # Gradient steps in each pass.
    clip_coef: float = 0.2  # Clip range of the probability ratio.
    ent_coef: float = 0.01  # Entropy coefficient.


class Agent:
    """Policy and values of boards, from a row of weights for each pair of neighbouring tiles."""

    def __init__(self, env, args):
        self.env, self.args, self.apply = env, args, jax.jit(self.__call__)
        self.lowest, self.tiles = int(env.game.observation_space.low.min()), env.game.n_values

    def init(self, key):
        width, (rows, columns) = self.args.width, self.env.game.shape
        pairs = (rows - 1) * columns + rows * (columns - 1)
        key, *keys = jax.random.split(key, 4)
        table = jax.random.normal(key, (pairs, self.tiles**2, width)) * pairs**-0.5
        layers = zip(keys, (width, self.env.game.n_actions, 1), (2**0.5, 0.01, 1.0), strict=True)
        return table, [jax.nn.initializers.orthogonal(g)(k, (width, n)) for k, n, g in layers]

    def __call__(self, params, boards, masks):
        """Return log probabilities `(n, actions)` and values `(n,)` of boards `(n, R, C)`."""
        table, (dense, actor, critic) = params
        cells = boards.astype(jnp.int32) - self.lowest
        down = cells[:, :-1] * self.tiles + cells[:, 1:]
        right = cells[:, :, :-1] * self.tiles + cells[:, :, 1:]
        pairs = jnp.concatenate([x.reshape(len(boards), -1) for x in (down, right)], axis=1)
        # On a CPU, a loop over pairs is twenty times as fast as one sum, forwards and backwards.
        zeros = 0.0 * pairs[:, :1] + jnp.zeros(self.args.width)  # lies where the boards do
        hidden, _ = jax.lax.scan(lambda h, x: (h + x[0][x[1]], None), zeros, (table, pairs.T))
        hidden = jax.nn.relu(jax.nn.relu(hidden) @ dense)
        return jax.nn.log_softmax(jnp.where(masks, hidden @ actor, -1e9)), (hidden @ critic)[:, 0]

    def predict(self, observation, action_masks):
        boards, masks = padded(observation), padded(np.asarray(action_masks, np.bool_))
        return np.asarray(self.apply(self.params, boards, masks)[0].argmax(1))[: len(observation)]


def padded(arrays):  # so that few sizes are compiled
    size = max(64, 1 << (len(arrays) - 1).bit_length())
    return np.concatenate((arrays, arrays[-1:].repeat(size - len(arrays), axis=0)))


def iteration(args, env, agent, optimizer, carry, learning_rate):
    """Play a rollout and learn from it."""
    params, adam, games, sums, key = carry

    def play(games, key):
        states, returns, scores = games
        boards, masks = jax.vmap(env.observation)(states), jax.vmap(env.mask)(states)
        log_probs, values = agent(params, boards, masks)
        key, reset_key = jax.random.split(key)
        actions = jax.random.categorical(key, log_probs)
        log_prob = log_probs[jnp.arange(args.num_envs), actions]
        states, step = jax.vmap(env.step)(states, actions)
        begun = jax.vmap(env.begin)(jax.random.bits(reset_key, (args.num_envs, 2), np.uint32))
        over, states = states.over, jax.tree.map(partial(jnp.where, states.over), begun, states)
        returns, scores = returns * args.gamma + step.reward, scores + step.reward
        transition = boards, masks, actions, log_prob, values, step.reward, over
        return (states, returns * ~over, scores * ~over), (transition, returns, scores)

    def advantage(later, step):
        value, following, reward, over = step
        expected = following + args.gae_lambda * later
        later = reward + args.gamma * ~over * expected - value
        return later, later

    def loss(params, boards, masks, actions, old, advantages, returns):
        log_probs, values = agent(params, boards, masks)
        ratio = jnp.exp(log_probs[jnp.arange(len(actions)), actions] - old)
        clipped = ratio.clip(1 - args.clip_coef, 1 + args.clip_coef)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy = -jnp.minimum(advantages * ratio, advantages * clipped).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(1).mean()
        return policy + 0.25 * jnp.square(values - returns).mean() - args.ent_coef * entropy

    def learn(carry, chosen):
        gradient = jax.grad(loss)(carry[0], *(x[chosen] for x in batch))
        updates, adam = optimizer.update(gradient, carry[1])
        params = jax.tree.map(lambda x, step: x - learning_rate * step, carry[0], updates)
        return (params, adam), None

    key, *keys = jax.random.split(key, 2 + args.update_epochs)
    ticks = jax.random.split(keys[0], args.num_steps)
    games, (rollout, returns, scores) = jax.lax.scan(play, games, ticks)
    *inputs, values, rewards, over = rollout
    # Rewards are in standard deviations of the discounted sums of all rewards so far.
    sums += jnp.stack((jnp.float32(1), returns.mean(), jnp.square(returns).mean()))
    scale = jnp.sqrt(sums[2] / sums[0] - jnp.square(sums[1] / sums[0]))
    _, last = agent(params, jax.vmap(env.observation)(games[0]), jax.vmap(env.mask)(games[0]))
    steps = values, jnp.concatenate((values[1:], last[None])), rewards / scale, over
    _, advantages = jax.lax.scan(advantage, jnp.zeros_like(last), steps, reverse=True)
    batch = *inputs, advantages, advantages + values
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
    orders = jnp.stack([jax.random.permutation(key, over.size) for key in keys[1:]])
    chosen = orders.reshape(args.update_epochs * args.num_minibatches, -1)
    (params, adam), _ = jax.lax.scan(learn, (params, adam), chosen)
    return (params, adam, games, sums, key), jnp.stack([(scores * over).sum(), over.sum(), scale])


def train(args):
    """Train an agent; return it and its speed, and print how it does on the way."""
    env = make(args.env_id)
    agent = Agent(env, args)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.scale_by_adam(eps=1e-5))
    key, *keys = jax.random.split(jax.random.key(args.seed), 3)
    params, zeros = agent.init(keys[0]), partial(jnp.zeros, args.num_envs)
    states = jax.vmap(env.begin)(jax.random.bits(keys[1], (args.num_envs, 2), np.uint32))
    carry = params, optimizer.init(params), (states, zeros(), zeros()), jnp.zeros(3), key
    learn = jax.jit(partial(iteration, args, env, agent, optimizer), donate_argnums=0)
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    steps, used, began, recent = 0, 0.0, clock(), []
    while used < 1:
        carry, ended = jax.block_until_ready(learn(carry, args.learning_rate * (1 - used)))
        recent.append(ended)
        steps, seconds = steps + args.num_steps * args.num_envs, clock() - began
        used = max(steps / args.total_timesteps, seconds / 60 / args.minutes)
        if used >= 1 or len(recent) == 20:
            (scores, games, _), recent = np.sum(recent, axis=0), []
            print(f"{steps:,} steps, {steps / seconds:,.0f}/s, mean {scores / max(games, 1):,.0f}")
    agent.params, agent.scale, agent.steps = carry[0], float(ended[2]), steps
    return agent, {"steps/s": steps / seconds}


if __name__ == "__main__":
    from baselines import evaluate

    print(evaluate(train(args := tyro.cli(Args))[0], args.env_id))
