"""The command line, `python -m baselines`: trains, evaluates and plays with agents.

It imports next to nothing, so that a command answers from its first moments on.
"""

import io
import os
import signal
import sys
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import FrameType
from typing import NoReturn

from baselines.errors import Interrupted

TRACEBACK = "--traceback"  # the option of every command that shows where a mistake was found


def main() -> None:
    """Run the command that was typed."""
    with handle_errors():
        # Late: a signal may come while modules are imported.
        from tile_envs.errors import extra

        with extra("baselines"):
            from baselines.commands import run_typed

        run_typed()


@contextmanager
def handle_errors(advice: str = "") -> Iterator[None]:
    """Turn signals and mistakes into a line on standard error and an exit status.

    These are 130 after Ctrl-C, 143 after SIGTERM, and 2 after a mistake.  Any other error keeps its
    traceback, and with `--traceback` mistakes do, too.  After a signal, `advice` says what the user
    can do; if it is not given, the line is what the command says of the signal.
    """
    shown = TRACEBACK in sys.argv
    sys.argv[:] = [word for word in sys.argv if word != TRACEBACK]
    # One that is closed is None.
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where it has no character for λ or a frame
    before = signal.signal(signal.SIGTERM, _terminated)
    hook, sys.unraisablehook = sys.unraisablehook, _lost
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # of `| head`: there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + 13)  # the number of SIGPIPE, which Windows lacks
    except KeyboardInterrupt as interrupt:
        known = "" if advice else str(interrupt)
        print(known or f"stopped{advice}.", file=sys.stderr)
        sys.exit(128 + getattr(interrupt, "number", signal.SIGINT))
    except Exception as error:
        from tile_envs.errors import MISTAKE, is_mistake, message_of  # late: it takes 0.3 s

        if shown or not is_mistake(error):
            raise
        print(message_of(error), file=sys.stderr)
        sys.exit(MISTAKE)
    finally:  # processes that are forked later would inherit them
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
        sys.unraisablehook = hook


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def _lost(lost: "sys.UnraisableHookArgs") -> None:
    """Send a signal again that came in a callback, of a compiler for one, from which none rises."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        number = getattr(lost.exc_value, "number", signal.SIGINT)
        Timer(0.01, interrupt_main, [number]).start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
