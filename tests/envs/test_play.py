"""A person plays: the loops with a script for a person, the command in a pseudo-terminal."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest
from players import Script

from tile_envs.games import make
from tile_envs.play.player import play_games, watch_game
from tile_envs.rendering.window import Click, Window
from tile_envs.replay import Replay, begin, play_through, read

termios = pytest.importorskip("termios", reason="pseudo-terminals are for POSIX systems")
fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")

LEFT = "\x1b[D"


class Person:
    """Someone at a pseudo-terminal who starts the command."""

    def __init__(self, *arguments):
        self.terminal, self.side = pty.openpty()
        self.settings = termios.tcgetattr(self.side)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tile_envs.play", *map(str, arguments)],
            **dict.fromkeys(("stdin", "stdout", "stderr"), self.side),
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
            # Ctrl-C reaches whom the terminal controls.
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.seen = ""

    def sees(self, text):
        """Wait until something has been shown since this was asked last."""
        deadline = time.monotonic() + 30
        while text not in self.seen:
            rest = deadline - time.monotonic()
            assert rest > 0, f"{text!r} not in {self.seen!r}"
            if select.select([self.terminal], [], [], rest)[0]:
                self.seen += os.read(self.terminal, 65536).decode()
        self.seen = self.seen.partition(text)[2]

    def types(self, keys):
        """Press keys, given as what they send."""
        os.write(self.terminal, keys.encode())

    def has_left(self):
        """Wait for the end; return the exit status."""
        deadline = time.monotonic() + 60
        # A terminal shows what comes to the end: a program waits until that has been read.
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.05)[0]:
                os.read(self.terminal, 65536)
        status = self.process.poll()
        self.process.kill()
        assert termios.tcgetattr(self.side) == self.settings, "the terminal is as it was"
        os.close(self.terminal)
        os.close(self.side)
        return status


def two_players():
    return make("TicTacToe-v0", {"side": "both"})


STRAYS = ["9", "x", "\x1b", "\x1b[5~", "é", "", "enter", "\x00", Click(0, 0), Click(-5, 10**6)]
AROUND = ["up", "enter", "left", "space", "up", "enter", "right", "enter"]


@pytest.mark.parametrize(("keys", "actions"), [(["4", "4", *STRAYS], [4]), (AROUND, [1, 0, 6, 7])])
def test_stray_keys_play_nothing_and_the_cursor_goes_round_the_board(keys, actions):
    script = Script(*keys, "q")
    assert play_games(two_players(), script, 0).actions == actions
    assert (">1<" in script.texts[1]) == (keys is AROUND)


def test_a_finished_game_says_so_and_can_be_taken_back_in_its_replay_too(tmp_path):
    script = Script(*"031428uq")
    game = play_games(two_players(), script, 0, record=tmp_path / "game.json")
    assert script.views[5].lines[0] == script.views[6].lines[0] == "X wins"
    assert (*game.actions,) == read(tmp_path / "game.json").actions == (0, 3, 1, 4)
    assert not game.position.over


def test_a_new_game_takes_the_next_seed_and_replaces_none_before_its_first_move(tmp_path):
    path, env = tmp_path / "game.json", two_players()
    for keys in (["n", "4", "0", "r", "closed"], ["q"]):
        play_games(env, Script(*keys), 7, record=path)
        assert (read(path).seed, read(path).actions) == (8, (4, 0))
    play_games(env, Script("q"), 7, record=tmp_path / "other.json")
    assert read(tmp_path / "other.json").actions == ()


def test_a_replay_is_watched_paused_and_stepped():
    replay = Replay("TicTacToe-v0", 0, (4, 0, 8, 2), {"side": "both"})
    keys = [None, None, "space", "right", "left", "left", "x", "space", None, None, None, "right"]
    script = Script(*keys, "left", "q")
    watch_game(begin(replay), replay.action, script, 1000, end=len(replay.actions))
    moves = [int(view.lines[0].split()[1]) for view in script.views]
    assert moves == [0, 1, 2, 2, 3, 2, 1, 1, 1, 2, 3, 4, 4, 3]
    assert "paused" in script.views[3].lines[0]
    assert script.views[11].lines[0] == "move 4 of 4 · X to play"


@pytest.mark.linux
def test_the_terminal_plays_records_and_is_put_back(tmp_path):
    path = tmp_path / "game.json"
    person = Person("Tiles2048-v0", "--seed", 3, "--record", path)
    person.sees("2048  score 0")
    person.types(LEFT + "\x1b" + "\x1bOA" + "?" + "s")
    person.sees("q quit")
    person.types("dDuq")
    assert person.has_left() == 0
    replay = read(path)
    assert (replay.env, replay.seed, replay.options) == ("Tiles2048-v0", 3, {})
    assert 1 <= len(replay.actions) <= 4
    assert play_through(replay).total == play_through(replay).info["score"]


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["\x03", "\x04", "q", signal.SIGTERM])
def test_however_it_is_left_the_game_is_kept_and_the_terminal_put_back(ending, tmp_path):
    path = tmp_path / "game.json"
    person = Person("TicTacToe-v0", "-o", "side=both", "--record", path)
    person.sees("X to play")
    person.types("4")
    person.sees("O to play")
    act = person.process.send_signal if ending is signal.SIGTERM else person.types
    act(ending)
    assert person.has_left() == 0
    assert read(path).actions == (4,)


def test_a_window_takes_keys_clicks_and_being_closed():
    import pygame

    with Window(fps=60) as window:
        keys = [(pygame.K_UP, ""), (pygame.K_RETURN, "\r"), (pygame.K_4, "4"), (pygame.K_x, "X")]
        events = [(pygame.KEYDOWN, {"key": key, "unicode": character}) for key, character in keys]
        events += [(pygame.MOUSEBUTTONDOWN, {"button": 1, "pos": (300, 300)}), (pygame.QUIT, {})]
        for kind, entries in events:
            pygame.event.post(pygame.event.Event(kind, entries))
        game = play_games(two_players(), window, 0)
    assert game.actions == [1, 4, 8]
    assert window.closed
