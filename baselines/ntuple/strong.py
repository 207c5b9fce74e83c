"""The agent `strong`: trained n-tuple networks that come with the package, one for each game.

Each is the `export` of a run, in the folder of its game; the preset `strong` makes one like it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from baselines.arrays import size_of
from baselines.ntuple.ntuple import NTuple
from baselines.training.run_folder import read_checkpoint, read_config, settings_of
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame

FOLDER = Path(__file__).parents[1] / "strong"


class Strong(NTuple):
    """The trained network of a game, for playing.

    Args:
        game: The game.
        seed: Not used, since it draws nothing.

    Raises:
        ValueError: If there is no network for the game, or its files are damaged.
    """

    def __init__(self, game: SlidingGame, seed: int = 0) -> None:
        folder = FOLDER / game.name
        if getattr(game, "shape", None) != (4, 4) or not folder.exists():
            names = ", ".join(sorted(path.name for path in FOLDER.iterdir()))
            raise UsageError(f"strong does not play {game}: it has networks for {names} on 4×4.")
        try:
            config = read_config(folder)
            settings = replace(settings_of(folder, config, NTuple), **self.playing)
            super().__init__(game, seed, settings)
            self.restore(read_checkpoint(folder, size_of(self.state_dict())))
        except UsageError as error:
            raise UsageError(f"{folder} comes with tile-envs: {error} Install it again.") from error
        self.run_config = config
