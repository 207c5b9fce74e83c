"""How to plug the environments into reinforcement learning libraries.

Modules of this package hold what a library needs beyond a wrapper, with a program for it in the
docstring:

- `tile_envs.plug.sb3`: Stable-Baselines3 and sb3-contrib
- `tile_envs.plug.rl_zoo3`: rl-zoo3
- `tile_envs.plug.rllib`: RLlib
- `tile_envs.plug.pettingzoo`: tic-tac-toe for PettingZoo
- `tile_envs.plug.openspiel`: agents in the games of OpenSpiel

For TorchRL and Tianshou, below, wrappers are enough.  `benchmarks/libraries/cleanrl_ppo.py` is a
PPO in
plain torch.

LightZero 0.2.0 and PufferLib 3.0.0 could not be installed by pip beside Gymnasium 1.4, so what
follows of them has not been run.  LightZero expects observations `{"observation", "action_mask",
"to_play"}`: `MaskInObservation` gives the first two; `to_play` is -1 in a game for one player, and
its `step` returns four values and the return of the game in `info["eval_episode_return"]`.
PufferLib's `GymnasiumPufferEnv` takes a single environment, and has no masks of its own:
`MaskInObservation` brings them to the policy.

## TorchRL

PPO's loss on 64 games in a native vector environment.  TorchRL resets ended games itself, so the
autoreset mode is "Disabled"; masks must be `bool`.  Here each batch is learnt from once.

    import gymnasium as gym
    from torch.optim import Adam
    from torchrl import collectors, envs, modules, objectives

    from tile_envs.wrappers.vector import FlatObservation, MaskInObservation

    vec = FlatObservation(gym.make_vec("Tiles2048-v0", 64, autoreset_mode="Disabled"))
    env = envs.GymWrapper(MaskInObservation(vec, mask_dtype=bool), categorical_action_encoding=True)
    net = modules.SafeModule(modules.MLP(16, 4), ["observation"], ["logits"])
    options = {"distribution_class": modules.MaskedCategorical, "return_log_prob": True}
    actor = modules.ProbabilisticActor(net, {"logits": "logits", "mask": "action_mask"}, **options)
    ppo = objectives.ClipPPOLoss(actor, modules.ValueOperator(modules.MLP(16, 1)))
    optimizer = Adam(ppo.parameters())
    for loss in map(ppo, collectors.Collector(env, actor, frames_per_batch=512, total_frames=8192)):
        optimizer.zero_grad()
        (loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]).backward()
        optimizer.step()

A single environment goes into `GymWrapper` in the same way, with the wrappers of
`tile_envs.wrappers`.  The transform `ActionMask` masks random actions; `QValueActor` and
`EGreedyModule` take `action_mask_key="action_mask"`.  Do not use `GymEnv(id, num_envs=n)`: it plays
in the mode "NextStep", in which TorchRL loses the last observations of games.

## Tianshou

DQN on eight single games side by side.  It finds the board and the mask under the keys `obs` and
`mask` of the observations.  Each epoch plays 2,048 steps, then makes as many updates.

    import gymnasium as gym
    from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.trainer import OffPolicyTrainerParams
    from tianshou.utils.net.common import Net

    from tile_envs.wrappers import MaskInObservation

    envs = DummyVectorEnv([lambda: MaskInObservation(gym.make("Tiles2048-v0"), "obs", "mask")] * 8)
    net = Net(state_shape=(4, 4), action_shape=4, hidden_sizes=(64,))
    policy = DiscreteQLearningPolicy(model=net, action_space=envs.action_space[0], eps_training=0.1)
    dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=500)
    collector = Collector(dqn, envs, VectorReplayBuffer(20_000, 8), exploration_noise=True)
    plan = OffPolicyTrainerParams(training_collector=collector, max_epochs=1, epoch_num_steps=2048)
    dqn.run_training(plan)

`Collector.collect(random=True)` ignores masks, and `DQN(is_double=False)` ignores them in its
targets: for random play set `eps_training=1.0`, and keep `is_double`, the default.

## PPO of Tianshou

An actor that respects masks, which those of Tianshou do not, and a critic, for
`DiscreteActorPolicy` and `PPO`.

    import torch
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic


    class BoardNet(Net):
        def forward(self, obs, state=None, info=None):
            return super().forward(obs.obs, state)


    class MaskedActor(DiscreteActor):
        def forward(self, obs, state=None, info=None):
            logits, state = super().forward(obs, state)
            return logits.masked_fill(torch.as_tensor(obs.mask) == 0, -torch.inf), state


    net = BoardNet(state_shape=(4, 4), hidden_sizes=(64,))
    actor = MaskedActor(preprocess_net=net, action_shape=4, softmax_output=False)
    critic = DiscreteCritic(preprocess_net=net)
"""
