"""Models of Stable-Baselines3 and sb3-contrib as agents, by the files that these libraries write.

What is in a file decides which algorithm it is of.  To load one runs code that it holds.
"""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.utils import check_for_correct_spaces

from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.torch_setup import torch_threads
from tile_envs import wrappers as known
from tile_envs.agents import ask
from tile_envs.base.checks import checked_choice
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Observations
from tile_envs.wrappers.transforms import legalized

ENCODINGS = ("OneHotPlanes", "FlatObservation", "MaskInObservation", "AfterstatesInObservation")
"""With `ReplaceIllegal`, the wrappers that a model plays with; others are for learning."""
KINDS: tuple[Any, ...] = (MaskedDQN, DQN, QRDQN, MaskablePPO, RecurrentPPO, ARS, PPO, TRPO, A2C)
UNUSED = {"buffer_size": 1}  # a buffer is for learning, and may not fit into memory
OWN = {PPO: "clip_range", TRPO: "cg_max_steps"}  # not in A2C's files, whose policies they share


class SB3Model:
    """A model from a file; it gets the masks if its algorithm takes them.

    The environment is of the game that it plays; `wrappers` are the names of those that it has
    learned with, the innermost first.
    """

    def __init__(self, path: Path, env: Any, wrappers: Sequence[str] = ()) -> None:
        self._game, wrapped, self._transforms = env.game, env, []
        for name in wrappers:
            checked_choice(name, "wrappers", ("ReplaceIllegal", *ENCODINGS))
            wrapped = getattr(known, name)(wrapped)
            self._transforms += [wrapped._transform] if name in ENCODINGS else []
        self._rng = np.random.default_rng(0) if "ReplaceIllegal" in wrappers else None
        try:
            path.stat()  # SB3 would look for another name
            entries: Any = load_from_zip_file(path, device="cpu")[0]
            policy = entries["policy_class"]
            suitable = (kind for kind in KINDS if OWN.get(kind, "policy_class") in entries)
            kind = next(k for k in suitable if issubclass(policy, (*k.policy_aliases.values(),)))
            self._model, self.name = kind.load(path, custom_objects=UNUSED), kind.__name__
            usual = inspect.signature(kind).parameters
            numbers = {n: v for n, v in entries.items() if isinstance(v, int | float)}
            numbers = {n: v for n, v in numbers.items() if n in usual and v != usual[n].default}
            seed, budget = numbers.pop("seed", None), {"moves": entries["num_timesteps"]}
            self.noted = {"train_seed": seed, "budget": budget, "settings": numbers}
            spaces = self._model.observation_space, self._model.action_space
            check_for_correct_spaces(wrapped, *spaces)
        except Exception as error:  # zipfile, torch and pickle raise a dozen kinds
            reason = " ".join(str(error).split()) or "its algorithm is not known"
            raise UsageError(f"{path} is no model of SB3 for these games: {reason}.") from error

    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: Bools | None = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Return the actions of boards `(n, R, C)`, and the next state of a recurrent model."""
        boards = observation.reshape(-1, *self._game.shape)
        seen, masks = boards, self._game.legal_actions(boards) > 0
        for transform in self._transforms:
            seen = transform(seen, {"action_mask": masks})
        with torch_threads(1):
            actions, state = ask(self._model, seen, masks, state, episode_start, deterministic)
        if self._rng is not None:
            actions = legalized(self._rng, actions, masks)
        return actions if boards.shape == observation.shape else actions[0], state
