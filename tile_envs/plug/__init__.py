"""How to plug the environments into reinforcement learning libraries.

Each library has a program in `benchmarks/libraries/`, which runs as it is:

| library | program | what it uses |
|---|---|---|
| Stable-Baselines3, sb3-contrib | `sb3.py` | `tile_envs.plug.sb3` |
| rl-zoo3 | `rl_zoo.py` | `tile_envs.plug.rl_zoo3` |
| RLlib | `rllib.py` | `tile_envs.plug.rllib` |
| TorchRL | `torchrl_ppo.py`, `torchrl_dqn.py` | wrappers |
| Tianshou | `tianshou_ppo.py`, `tianshou_dqn.py` | wrappers |
| plain torch, as CleanRL | `cleanrl_ppo.py`, `cleanrl_dqn.py` | `gym.make_vec` |
| PettingZoo | `pettingzoo_selfplay.py` | `tile_envs.plug.pettingzoo` |
| OpenSpiel | `openspiel.py` | `tile_envs.plug.openspiel` |

- TorchRL: the transform `ActionMask` masks random actions, but a collector without a policy ignores
  it.  Do not use `GymEnv(id, num_envs=n)`: it plays in the mode "NextStep", in which TorchRL loses
  the last observations of games.
- Tianshou: `Collector.collect(random=True)` ignores masks: for random play set `eps_training=1.0`.

LightZero 0.2.0 and PufferLib 3.0.0 could not be installed by pip beside Gymnasium 1.4, so what
follows of them has not been run.  LightZero expects observations `{"observation", "action_mask",
"to_play"}`: `MaskInObservation` gives the first two; `to_play` is -1 in a game for one player, and
its `step` returns four values and the return of the game in `info["eval_episode_return"]`.
PufferLib's `GymnasiumPufferEnv` takes a single environment, and has no masks of its own:
`MaskInObservation` brings them to the policy.
"""
