"""A game as a film: GIF or MP4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from baselines.viewing.moves import Watched, check_kind
from baselines.viewing.thoughts import in_words
from tile_envs.errors import UsageError
from tile_envs.extras import extra
from tile_envs.files import replacing
from tile_envs.rendering.canvas import CAPTION_HEIGHT, Picture, caption

FRAMES = 300
"""The most positions that a film shows if nothing else is said, spread over the game."""
GIF_WIDTH = 280
COLOURS = 128
FASTEST = 50
"""Positions a second: what shows GIFs takes shorter times for mistakes."""
LAST = 2.0
"""Seconds for which the last position stays."""


def write_gif(games: Sequence[Watched], path: Path, speed: float, frames: int = FRAMES) -> None:
    """Write games as a GIF that repeats itself; each is played to its end.

    Args:
        games: The games.
        path: The file.
        speed: Positions a second.
        frames: The most positions.

    Raises:
        ValueError: If the games are of several kinds, or the speed is too high.
    """
    _check_speed(speed)
    pictures = [_small(picture) for picture in _pictures(games, frames)]
    sample = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 12)]))
    palette = sample.quantize(COLOURS, dither=Image.Dither.NONE)  # one for all: nothing flickers
    images = [
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    ]
    times = [round(1000 / speed)] * (len(images) - 1) + [round(1000 * LAST)]
    with replacing(path) as beside:
        images[0].save(
            beside,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=times,
            loop=0,
            optimize=True,
        )


def write_mp4(games: Sequence[Watched], path: Path, speed: float, frames: int = FRAMES) -> None:
    """Write games as an MP4; see `write_gif`.

    Raises:
        ValueError: As `write_gif`.
        ExtraNotInstalled: If there is no encoder.
    """
    _check_speed(speed)
    with extra("render"):
        import imageio_ffmpeg
    pictures = list(_pictures(games, frames))
    pictures += pictures[-1:] * round(LAST * speed)
    height, width = (side // 2 * 2 for side in pictures[0].shape[:2])  # the format takes even ones
    with replacing(path) as beside:
        writer: Any = imageio_ffmpeg.write_frames(
            str(beside),
            (width, height),
            fps=speed,
            macro_block_size=2,
            quality=8,
            ffmpeg_log_level="error",
            output_params=["-f", "mp4"],
        )
        writer.send(None)
        for picture in pictures:
            writer.send(np.ascontiguousarray(picture[:height, :width]))
        writer.close()


def _check_speed(speed: float) -> None:
    if speed > FASTEST:
        raise UsageError(f"a film shows at most {FASTEST} positions a second, got {speed:g}.")


def _pictures(games: Sequence[Watched], frames: int) -> Iterator[Picture]:
    """Yield the pictures of games, with the thoughts below them."""
    check_kind(games)
    share = max(2, frames // len(games))
    for watched in games:
        played = watched.play_on()
        n = len(played.positions)
        chosen = np.unique(np.linspace(0, n - 1, min(n, share)).round().astype(int)).tolist()
        game = played.env.game
        actions = [*played.actions, None]
        lines = [
            in_words(watched.thinker.of(played.positions[place]), game, actions[place])
            for place in chosen
        ]
        room = max(map(len, lines))
        for place, words in zip(chosen, lines, strict=True):
            position = played.positions[place]
            board = game.draw(
                position.state["board"], "rgb_array", int(position.info.get("score", 0))
            )
            ground = "#" + board[0, 0].tobytes().hex()
            strips = [caption(line, board.shape[1], ground) for line in words]
            space = np.full(((room - len(words)) * CAPTION_HEIGHT, *board.shape[1:]), board[0, 0])
            yield np.concatenate([board, *strips, space.astype(np.uint8)])


def _small(picture: Picture) -> Picture:
    height, width = picture.shape[:2]
    if width <= GIF_WIDTH:
        return picture
    size = (GIF_WIDTH, round(height * GIF_WIDTH / width))
    return np.array(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
