"""A game as a film: GIF or MP4."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from baselines.viewing.moves import Watched, check_kind, in_words
from tile_envs.errors import UsageError, extra
from tile_envs.files import replacing
from tile_envs.game import Game
from tile_envs.rendering.canvas import CAPTION_HEIGHT, Picture, caption, shrunk

FRAMES = 300
"""The most positions that a film shows if nothing else is said, spread over the game."""
GIF_WIDTH, FOUR_COLUMNS = 280, 492
"""The width of GIFs of boards of four columns, and of their pictures; wider ones shrink alike."""
FASTEST = 50
"""Positions a second: what shows GIFs takes shorter times for mistakes."""
LAST = 2.0
"""Seconds for which the last position stays."""


def write_film(games: Sequence[Watched], path: Path, speed: float, frames: int = FRAMES) -> None:
    """Write games as a film, `.gif` or `.mp4`, at so many positions a second, and at most `frames`.

    Each is played to its end; a GIF repeats itself.
    """
    if speed > FASTEST:
        raise UsageError(f"a film shows at most {FASTEST} positions a second, got {speed:g}.")
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    with replacing(path) as beside:
        write(list(_shots(games, frames)), beside, speed)


def is_current(path: Path, games: Sequence[Watched], speed: float, frames: int = FRAMES) -> bool:
    """Tell whether a GIF is what `write_film` would write, by the data that it has a digest of."""
    with Image.open(path) as film:
        return bool(film.info.get("comment") == _digest(list(_shots(games, frames)), speed))


class _Shot(NamedTuple):
    """What a picture of a film shows: a position with words, and room for so many lines."""

    game: Game
    board: NDArray[Any]
    score: int
    words: Sequence[str]
    room: int


def _digest(shots: Sequence[_Shot], speed: float) -> bytes:
    data = [[str(shot.game), shot.board.tolist(), *shot[2:]] for shot in shots]
    return f"data {hashlib.sha256(json.dumps([speed, data]).encode()).hexdigest()}".encode()


def _write_gif(shots: Sequence[_Shot], path: Path, speed: float) -> None:
    pictures = map(_picture, shots)
    small = [shrunk(each, GIF_WIDTH / min(each.shape[1], FOUR_COLUMNS)) for each in pictures]
    sample = Image.fromarray(np.concatenate(small[:: max(1, len(small) // 12)]))
    palette = sample.quantize(128, dither=Image.Dither.NONE)  # one for all: nothing flickers
    images = [
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in small
    ]
    times = [round(1000 / speed)] * (len(images) - 1) + [round(1000 * LAST)]
    images[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=times,
        loop=0,
        optimize=True,
        comment=_digest(shots, speed),
    )


def _write_mp4(shots: Sequence[_Shot], path: Path, speed: float) -> None:
    with extra("render"):
        from moviepy import ImageSequenceClip
    shown = list(map(_picture, shots))
    height, width = (side // 2 * 2 for side in shown[0].shape[:2])  # the format takes even ones
    shown = [picture[:height, :width] for picture in shown + shown[-1:] * round(LAST * speed)]
    clip = ImageSequenceClip(shown, fps=speed)
    clip.write_videofile(str(path), codec="libx264", ffmpeg_params=["-f", "mp4"], logger=None)


def _shots(games: Sequence[Watched], frames: int) -> Iterator[_Shot]:
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
            score = int(position.info.get("score", 0))
            yield _Shot(game, position.state["board"], score, words, room)


def _picture(shot: _Shot) -> Picture:
    board = shot.game.draw(shot.board, "rgb_array", shot.score)
    ground = "#" + board[0, 0].tobytes().hex()
    strips = [caption(line, board.shape[1], ground) for line in shot.words]
    space = (shot.room - len(strips)) * CAPTION_HEIGHT
    empty = np.full((space, *board.shape[1:]), board[0, 0], np.uint8)
    return np.concatenate([board, *strips, empty])
