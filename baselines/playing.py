"""The line under which a list of games is played, and how long they will take."""

from __future__ import annotations

import math
import time

from baselines.line import Line, duration
from tile_envs.words import counted

RAYLEIGH_MEAN = math.gamma(1.5)
"""The mean of a Rayleigh distribution, in roots of its mean square."""
FEW_GAMES = 10
"""As long as fewer games have ended, their lengths say little."""
SPEED_SECONDS = 5.0
"""The present speed of play is that of at least so many seconds, and at most twice as many."""


class Playing(Line):
    """The line under which a list of games is played.

    The time that is left follows from the mean length of a game, which is estimated from those that
    have ended and those that are on, all of which are played side by side: the mean over those that
    have ended would be that of short games.  A game is taken to end at a rate that grows with its
    length (a Rayleigh distribution), of which this is the maximum-likelihood estimate under
    censoring.

    Args:
        name: What is played.
        episodes: The number of games.
    """

    def __init__(self, name: str, episodes: int) -> None:
        super().__init__()
        self._name, self._episodes = name, episodes
        self._ended, self._moves, self._squares = 0, 0, 0.0
        self._marks: list[tuple[float, int]] = []  # times, and the moves by then

    def played(self, ended: int, moves: int, squares: float) -> None:
        """Tell what has been played by now.

        Args:
            ended: The number of games that have ended.
            moves: The moves of all games.
            squares: The sum over all games of the square of their moves.
        """
        self._ended, self._moves, self._squares = ended, moves, squares
        now = time.monotonic()  # the first moves have waited for compilation
        if not self._marks or now - self._marks[-1][0] > SPEED_SECONDS:
            self._marks = [*self._marks[-1:], (now, moves)]

    def _parts(self) -> list[str]:
        parts = [f"{self._name}: {self._ended:,} of {counted(self._episodes, 'game')}"]
        if self._ended >= min(FEW_GAMES, self._episodes / 2) and self._moves > self._marks[0][1]:
            began, before = self._marks[0]
            speed = (self._moves - before) / (time.monotonic() - began)
            length = RAYLEIGH_MEAN * math.sqrt(self._squares / self._ended)
            left = max(0.0, self._episodes * length - self._moves)
            parts.append(f"about {duration(left / speed)} left")
        return [*parts, counted(self._moves, "move")]
