"""Play a game, or watch a replay, in the terminal or in a window.

Examples:
  python -m tile_envs.play Tiles2048-v0
  python -m tile_envs.play Tiles2584-v0 -o shape=[3,3] -o 'spawn={"1": 0.75, "3": 0.25}'
  python -m tile_envs.play TicTacToe-v0 -o opponent=minimax -o side=O --window
  python -m tile_envs.play Tiles2048-v0 --seed 7 --record game.json
  python -m tile_envs.play --replay game.json --speed 10

Keys:
  Tiles2048-v0, Tiles2584-v0   arrows or WASD
  TicTacToe-v0                 0 to 8, row by row; or arrows and Enter; or a click
  all                          u undo, n or r new game, q quit
  replay                       space pause, left and right step, q quit
"""

import argparse
import io
import json
import math
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from tile_envs.errors import MISTAKE, UsageError, is_mistake, message_of
from tile_envs.games import ids, import_named, resolve_id
from tile_envs.play.controls import Controls
from tile_envs.play.player import leaving_by_ctrl_c, open_screen, play_games, watch_game
from tile_envs.replay import Replay, begin, read
from tile_envs.words import counted


def main() -> int:
    try:
        _run(_parser().parse_args())
    except Exception as error:
        if "--traceback" in sys.argv or not is_mistake(error):
            raise
        print(message_of(error), file=sys.stderr)
        return MISTAKE
    return 0


def _run(args: argparse.Namespace) -> None:
    if not 0 < args.speed < math.inf:
        raise UsageError(f"--speed must be above 0 and finite, got {args.speed:g}.")
    for module in args.imports:
        import_named(module)
    replay = _replay_of(args)
    game = begin(replay)
    with open_screen(args.window, replay.env) as screen:
        if args.replay:
            with leaving_by_ctrl_c():
                watch_game(game, replay.action, screen, args.speed, end=len(replay.actions))
            return
        game = play_games(game.env, screen, replay.seed, record=args.record)
    controls, moves = Controls(game.env.game), counted(len(game.actions), "move")
    print(controls.drawing(game.position).text())
    print(f"{controls.words(game.position)} · {moves} · seed {game.seed}")
    if args.record and game.actions:
        print(f"wrote {args.record}")


def _replay_of(args: argparse.Namespace) -> Replay:
    """Return the replay to watch, or the game to play as a replay without actions."""
    if args.replay:
        if args.env is not None or args.option or args.seed is not None or args.record:
            raise UsageError("give --replay without an environment, -o, --seed or --record.")
        return read(args.replay)
    if args.env is None:
        raise UsageError(f"which game? Expected one of {', '.join(ids())}.")
    record = args.record
    if record and (record.is_dir() or not os.access(record.parent, os.W_OK)):
        raise UsageError(f"{record}: no file can be written there.")
    seed = secrets.randbelow(2**32) if args.seed is None else args.seed
    return Replay(resolve_id(args.env), seed, options=dict(args.option))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser("python -m tile_envs.play", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("env", nargs="?", metavar="ENV", help=f"what to play: {', '.join(ids())}")
    repeated: dict[str, Any] = {"action": "append", "default": []}
    words = "an option of the environment, its value in JSON or a word; can be repeated"
    add("-o", "--option", **repeated, type=_option, metavar="NAME=VALUE", help=words)
    words = "import a module that registers games; can be repeated"
    add("--import", **repeated, dest="imports", metavar="MODULE", help=words)
    add("--seed", type=int, metavar="N", help="the seed of the first game")
    add("--window", action="store_true", help="use a window (needs the extra render)")
    add("--record", type=Path, metavar="FILE", help="write the game to a file at the end")
    add("--replay", type=Path, metavar="FILE", help="watch the game in a file")
    words = "moves per second of a replay (default: %(default)g)"
    add("--speed", type=float, default=4.0, metavar="S", help=words)
    add("--traceback", action="store_true", help="show where a mistake was found")
    return parser


def _option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:  # a word, of which Python has some
        return name, {"True": True, "False": False, "None": None}.get(value, value)


if __name__ == "__main__":
    for ending in {"SIGTERM", "SIGHUP"} & set(dir(signal)):
        # Leave as after Ctrl-C: the terminal is put back and the game is kept.
        signal.signal(getattr(signal, ending), signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # frames and tiles, where they have no character
    sys.exit(main())
