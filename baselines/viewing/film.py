"""A game as a film: GIF or MP4."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from baselines.viewing.moves import Viewing, check_kind
from tile_envs.errors import UsageError, extra
from tile_envs.files import replacing
from tile_envs.play.controls import Controls
from tile_envs.rendering.canvas import Drawing, Picture, shrink

FRAMES = 300  # the usual most, spread over the game
GIF_WIDTH, FOUR_COLUMNS = 280, 492
"""The width of GIFs of boards of four columns, and of their pictures; wider ones shrink alike."""
FASTEST = 50  # positions a second: what shows GIFs takes shorter times for mistakes
LAST = 2.0  # seconds for which the last position stays


def write_film(
    games: Sequence[Viewing], path: Path, speed: float, frames: int = FRAMES, comment: str = ""
) -> None:
    """Write whole games as a film, `.gif` or `.mp4`, of `speed` positions a second."""
    if speed > FASTEST:
        raise UsageError(f"a film shows at most {FASTEST} positions a second, got {speed:g}.")
    check_kind(games)
    most = max(2, frames // len(games))
    with replacing(path) as beside:
        pictures = _pictures(games, most)
        if path.suffix == ".gif":
            _write_gif(pictures, beside, speed, comment)
        else:
            _write_mp4(pictures, beside, speed)


def _write_gif(pictures: list[Picture], path: Path, speed: float, comment: str) -> None:
    small = [shrink(each, GIF_WIDTH / min(each.shape[1], FOUR_COLUMNS)) for each in pictures]
    sample = Image.fromarray(np.concatenate(small[:: max(1, len(small) // 12)]))
    palette = sample.quantize(128, dither=Image.Dither.NONE)  # one for all: nothing flickers
    images = [Image.fromarray(p).quantize(palette=palette, dither=Image.Dither.NONE) for p in small]
    times = [round(1000 / speed)] * (len(images) - 1) + [round(1000 * LAST)]
    how: Any = {"save_all": True, "append_images": images[1:], "loop": 0, "optimize": True}
    images[0].save(path, format="GIF", duration=times, comment=comment, **how)


def _write_mp4(pictures: list[Picture], path: Path, speed: float) -> None:
    with extra("render"):
        from moviepy import ImageSequenceClip
    height, width = (side // 2 * 2 for side in pictures[0].shape[:2])  # the format takes even ones
    shown = [*pictures, *pictures[-1:] * round(LAST * speed)]
    clip = ImageSequenceClip([picture[:height, :width] for picture in shown], fps=speed)
    clip.write_videofile(str(path), codec="libx264", ffmpeg_params=["-f", "mp4"], logger=None)


def _pictures(games: Sequence[Viewing], most: int) -> list[Picture]:
    """Return pictures of at most so many positions a game, with the values of moves below."""
    drawings, words = list[Drawing](), list[list[str]]()
    for viewing in games:
        played, controls = viewing.play_on(), Controls(viewing.playthrough.env.game, person=False)
        n, actions = len(played.positions), [*played.actions, None]
        for place in np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist():
            position = played.positions[place]
            drawings.append(controls.drawing(position))
            words.append(viewing.values.lines(position, actions[place]))
    room = max(map(len, words))  # all pictures of a film have one height
    return [
        drawing._replace(lines=lines + [""] * (room - len(lines))).picture()
        for drawing, lines in zip(drawings, words, strict=True)
    ]
