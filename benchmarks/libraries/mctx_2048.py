"""Plays 2048 by the search of Stochastic MuZero, with the true rules in place of learned ones.

The policy and the values are those of a network that `purejax_ppo.py` trains first.  The search
sees boards alone: new tiles come from `env.spawn` with the probabilities of the rules, never from
the random stream of the game that is played.
"""

from functools import partial

import jax
import jax.numpy as jnp
import mctx
import numpy as np

from tile_envs.jax import make

if __package__:
    from benchmarks.libraries import purejax_ppo
else:  # run as a file: Python looks for modules beside it
    import purejax_ppo


class Searcher:
    def __init__(self, env, agent, num_simulations, gamma):
        self.env, self.agent, self.gamma = env, agent, gamma
        self.num_simulations, self.key = num_simulations, jax.random.key(0)

    def look(self, params, states):
        """Return the policy as logits and the values of states; games that are over are worth 0."""
        boards, masks = jax.vmap(self.env.observation)(states), jax.vmap(self.env.mask)(states)
        logits, values = self.agent(params, boards, masks)
        return logits, jnp.where(masks.any(1), values, 0)

    def reply(self, params, key, outcome, afterstates):
        """Let tiles appear, and return what follows; an illegal action ends the game here."""
        states, step = jax.vmap(self.env.spawn)(afterstates, outcome)
        logits, values = self.look(params, states)
        goes_on = afterstates.legal & ~step.terminated
        rewards = jnp.where(afterstates.legal, step.reward / self.agent.scale, 0)
        output = mctx.ChanceRecurrentFnOutput(
            action_logits=logits, value=values, reward=rewards, discount=self.gamma * goes_on
        )
        return output, states

    def act(self, params, key, actions, states):
        """Move, and return the probabilities of tiles, and the value with one of them."""
        afterstates = jax.vmap(self.env.afterstate)(states, actions)
        logits = jnp.log(jax.vmap(self.env.probabilities)(afterstates))
        drawn, _ = self.reply(params, key, jax.random.categorical(key, logits), afterstates)
        values = drawn.reward + drawn.discount * drawn.value
        output = mctx.DecisionRecurrentFnOutput(chance_logits=logits, afterstate_value=values)
        return output, afterstates

    @partial(jax.jit, static_argnums=0)
    def search(self, params, key, boards):
        states = jax.vmap(partial(self.env.begin, 0))(boards)
        logits, values = self.look(params, states)
        found = mctx.stochastic_muzero_policy(
            params,
            key,
            mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states),
            self.act,
            self.reply,
            self.num_simulations,
            invalid_actions=~jax.vmap(self.env.mask)(states),
            dirichlet_fraction=0.0,
        )
        return found.action_weights.argmax(1)

    def predict(self, observation):
        boards, n = purejax_ppo.padded(observation), len(observation)
        self.key, key = jax.random.split(self.key)
        return np.asarray(self.search(self.agent.params, key, boards))[:n]


def train(env_id="Tiles2048-v0", seed=0, num_simulations=16, **settings):
    args = purejax_ppo.Args(env_id=env_id, seed=seed, **settings)
    agent, _ = purejax_ppo.train(args)
    return Searcher(make(env_id), agent, num_simulations, args.gamma)


if __name__ == "__main__":
    from baselines import evaluate

    searcher = train(minutes=1.0)
    for player in (searcher.agent, searcher):  # the network alone, and with search
        print(evaluate(player, "Tiles2048-v0", episodes=100))
