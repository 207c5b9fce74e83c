"""Settings with which learners on torch take a second to learn."""

DQN = {
    **{"width": 8, "hidden": (8,), "n_envs": 16, "gradient_steps": 2, "batch_size": 16},
    **{"learning_starts": 64, "buffer_size": 320, "reward_scale": 1 / 1024, "gamma": 0.999},
}
PPO = {"width": 8, "hidden": (8,), "batch_size": 16, "n_steps": 4, "n_envs": 8, "n_epochs": 4}
