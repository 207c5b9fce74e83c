"""A game as a film: GIF or MP4."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from baselines.viewing.moves import Watched, check_kind, in_words
from tile_envs.errors import UsageError, extra
from tile_envs.files import replacing
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
        write(_pictures(games, frames), beside, speed, _comment(games, speed, frames))


def is_current(path: Path, games: Sequence[Watched], speed: float, frames: int = FRAMES) -> bool:
    """Tell whether a GIF is of these games, by the comment that `write_film` has left in it."""
    with Image.open(path) as film:
        return bool(film.info.get("comment") == _comment(games, speed, frames).encode())


def _comment(games: Sequence[Watched], speed: float, frames: int) -> str:
    data = [[each.title, each.about, each.seed, *each.play_on().actions] for each in games]
    return f"data {hashlib.sha256(json.dumps([data, speed, frames]).encode()).hexdigest()}"


def _write_gif(pictures: Iterable[Picture], path: Path, speed: float, comment: str) -> None:
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
        comment=comment,
    )


def _write_mp4(pictures: Iterable[Picture], path: Path, speed: float, comment: str) -> None:
    with extra("render"):
        from moviepy import ImageSequenceClip
    shown = list(pictures)
    height, width = (side // 2 * 2 for side in shown[0].shape[:2])  # the format takes even ones
    shown = [picture[:height, :width] for picture in shown + shown[-1:] * round(LAST * speed)]
    clip = ImageSequenceClip(shown, fps=speed)
    how = ["-f", "mp4", "-metadata", f"comment={comment}"]
    clip.write_videofile(str(path), codec="libx264", ffmpeg_params=how, logger=None)


def _pictures(games: Sequence[Watched], frames: int) -> Iterator[Picture]:
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
            board = game.draw(position.state["board"], "rgb_array", score)
            ground = "#" + board[0, 0].tobytes().hex()
            strips = [caption(line, board.shape[1], ground) for line in words]
            space = np.full(((room - len(words)) * CAPTION_HEIGHT, *board.shape[1:]), board[0, 0])
            yield np.concatenate([board, *strips, space.astype(np.uint8)])
