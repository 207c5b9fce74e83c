"""Masked PPO with games and learning in one compiled function of JAX, in the style of PureJaxRL.

    python benchmarks/libraries/purejax_ppo.py --env-id Tiles2048-v0 --minutes 5

It learns as `cleanrl_ppo.py` does.  Games are reset in the step that ends them, so that no state
without legal actions is ever seen; nothing truncates them, as masks leave no illegal actions.
"""

import time
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tile_envs.jax import make


@dataclass(frozen=True)
class Args:
    """Masked PPO on a game of tile_envs."""

    env_id: str = "Tiles2048-v0"  # Tiles2048-v0, Tiles2584-v0, TicTacToe-v0, or a game of your own.
    seed: int = 1  # Seed of games, network and exploration.
    minutes: float = 5.0  # Training budget in minutes, of CPU time if there is no accelerator.
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
    vf_coef: float = 0.5  # Coefficient of the value loss.
    max_grad_norm: float = 0.5  # Largest norm of a gradient.


class Agent:
    """Policy and values of boards, from a row of weights for each pair of neighbouring tiles."""

    def __init__(self, game, width):
        self.lowest, space = int(game.observation_space.low.min()), game.observation_space
        self.tiles = int(space.high.max()) - self.lowest + 1
        (rows, columns), self.n_actions, self.width = game.shape, game.n_actions, width
        self.pairs, self.params = (rows - 1) * columns + rows * (columns - 1), None

    def init(self, key):
        keys, width, orthogonal = (
            jax.random.split(key, 4),
            self.width,
            jax.nn.initializers.orthogonal,
        )
        table = jax.random.normal(keys[0], (self.pairs, self.tiles**2, width)) * self.pairs**-0.5
        layers = (width, 2**0.5), (self.n_actions, 0.01), (1, 1.0)
        dense = [
            (orthogonal(gain)(key, (width, units)), jnp.zeros(units))
            for key, (units, gain) in zip(keys[1:], layers, strict=True)
        ]
        return table, dense

    def __call__(self, params, boards, masks):
        """Return log probabilities `(n, actions)` and values `(n,)` of boards `(n, R, C)`."""
        (table, ((weights, bias), actor, critic)), n = params, len(boards)
        cells = boards.astype(jnp.int32) - self.lowest
        down = (cells[:, :-1] * self.tiles + cells[:, 1:]).reshape(n, -1)
        right = (cells[:, :, :-1] * self.tiles + cells[:, :, 1:]).reshape(n, -1)
        rows = jnp.concatenate((down, right), 1).T  # (pairs, n)
        start = jnp.zeros((n, self.width))  # on a CPU, a loop is twenty times as fast as one sum
        hidden, _ = jax.lax.scan(lambda h, pair: (h + pair[0][pair[1]], None), start, (table, rows))
        hidden = jax.nn.relu(jax.nn.relu(hidden) @ weights + bias)
        logits = jnp.where(masks, hidden @ actor[0] + actor[1], -1e9)
        return jax.nn.log_softmax(logits), (hidden @ critic[0] + critic[1])[:, 0]

    @partial(jax.jit, static_argnums=0)
    def _choose(self, params, boards, masks):
        return self(params, boards, masks)[0].argmax(1)

    def predict(self, observation, action_masks):
        """Return the most likely action of each board; few sizes of batches are compiled."""
        n = len(observation)
        padding = (1 << (n - 1).bit_length()) - n
        boards = np.pad(observation, ((0, padding), (0, 0), (0, 0)), mode="edge")
        masks = np.pad(np.asarray(action_masks, np.bool_), ((0, padding), (0, 0)))
        return np.asarray(self._choose(self.params, boards, masks))[:n]


def iteration(args, env, agent, optimizer, carry, learning_rate):
    """Play a rollout and learn from it."""
    params, moments, games, sums, key = carry

    def play(carry, key):
        states, returns, scores = carry
        boards, masks = jax.vmap(env.observation)(states), jax.vmap(env.mask)(states)
        log_probs, values = agent(params, boards, masks)
        keys = jax.random.split(key)
        actions = jax.random.categorical(keys[0], log_probs)
        chosen = jnp.take_along_axis(log_probs, actions[:, None], 1)[:, 0]
        states, step = jax.vmap(env.step)(states, actions)
        over = states.over
        seeds = jax.random.bits(keys[1], (args.num_envs, 2))
        fresh = jax.vmap(env.begin)(seeds)
        states = jax.tree.map(partial(jnp.where, over), fresh, states)
        returns, scores = returns * args.gamma + step.reward, scores + step.reward
        transition = boards, masks, actions, chosen, values, step.reward, over
        return (states, returns * ~over, scores * ~over), (transition, returns, scores)

    key, *keys = jax.random.split(key, 2 + args.update_epochs)
    ticks = jax.random.split(keys[0], args.num_steps)
    games, (rollout, returns, scores) = jax.lax.scan(play, games, ticks)
    *inputs, values, rewards, over = rollout
    # Rewards are measured in standard deviations of the discounted sums of all rewards so far.
    sums += jnp.stack((jnp.float32(1), returns.mean(), jnp.square(returns).mean()))
    rewards /= jnp.sqrt(sums[2] / sums[0] - jnp.square(sums[1] / sums[0]))
    boards, masks = jax.vmap(env.observation)(games[0]), jax.vmap(env.mask)(games[0])
    _, last = agent(params, boards, masks)

    def advantage(later, step):
        value, following, reward, over = step
        delta = reward + args.gamma * ~over * following - value
        later = delta + args.gamma * args.gae_lambda * ~over * later
        return later, later

    following = jnp.concatenate((values[1:], last[None]))
    steps = values, following, rewards, over
    _, advantages = jax.lax.scan(advantage, jnp.zeros_like(last), steps, reverse=True)
    batch = (*inputs, advantages, advantages + values)
    batch = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)

    def loss(params, boards, masks, actions, old, advantages, returns):
        log_probs, values = agent(params, boards, masks)
        ratio = jnp.exp(jnp.take_along_axis(log_probs, actions[:, None], 1)[:, 0] - old)
        clipped = ratio.clip(1 - args.clip_coef, 1 + args.clip_coef)
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy = -jnp.minimum(advantages * ratio, advantages * clipped).mean()
        entropy = -(jnp.exp(log_probs) * log_probs * masks).sum(1).mean()
        error = 0.5 * jnp.square(values - returns).mean()
        return policy + args.vf_coef * error - args.ent_coef * entropy

    def learn(carry, chosen):
        params, moments = carry
        gradient = jax.grad(loss)(params, *(x[chosen] for x in batch))
        updates, moments = optimizer.update(gradient, moments)
        updates = jax.tree.map(lambda x: -learning_rate * x, updates)
        return (optax.apply_updates(params, updates), moments), None

    orders = [jax.random.permutation(key, args.num_envs * args.num_steps) for key in keys[1:]]
    chosen = jnp.stack(orders).reshape(args.update_epochs * args.num_minibatches, -1)
    (params, moments), _ = jax.lax.scan(learn, (params, moments), chosen)
    ended = jnp.where(over, scores, 0).sum(), over.sum()
    return (params, moments, games, sums, key), ended


def train(args):
    """Train an agent; return it, and the last of the metrics that are printed every few seconds."""
    env = make(args.env_id)
    agent = Agent(env.game, args.width)
    optimizer = optax.chain(
        optax.clip_by_global_norm(args.max_grad_norm), optax.scale_by_adam(eps=1e-5)
    )
    key, *keys = jax.random.split(jax.random.key(args.seed), 3)
    params, zeros = agent.init(keys[0]), partial(jnp.zeros, args.num_envs)
    states = jax.vmap(env.begin)(jax.random.bits(keys[1], (args.num_envs, 2)))
    carry = params, optimizer.init(params), (states, zeros(), zeros()), jnp.full(3, 1e-4), key
    learn = jax.jit(partial(iteration, args, env, agent, optimizer), donate_argnums=0)
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    steps, used, began, printed, recent = 0, 0.0, clock(), time.time(), []
    while True:
        carry, ended = jax.block_until_ready(learn(carry, args.learning_rate * (1 - used)))
        recent = [*recent, ended][-100:]
        steps, seconds = steps + args.num_steps * args.num_envs, clock() - began
        used = max(steps / args.total_timesteps, seconds / 60 / args.minutes)
        if used >= 1 or time.time() > printed + 5:
            (scores, games), printed = map(float, map(sum, zip(*recent, strict=True))), time.time()
            metrics = {"steps": steps, "mean score": scores / max(games, 1)}
            metrics |= {"steps/s": steps / seconds}
            print("  ".join(f"{name} {value:,.6g}" for name, value in metrics.items()), flush=True)
        if used >= 1:
            agent.params, agent.steps = carry[0], steps
            return agent, metrics


if __name__ == "__main__":
    import tyro

    from baselines import evaluate

    args = tyro.cli(Args)
    agent, _ = train(args)
    print(evaluate(agent, args.env_id)["mean"])
