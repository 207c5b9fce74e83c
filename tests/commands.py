"""Runs commands: in this process, which need not import anything again, or in one of their own."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from tile_envs import games

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def command(*arguments, module="baselines"):
    """Do as `python -m baselines`, or another module; return its status and what it printed."""
    main = import_module(f"{module}.__main__").main
    words = [*map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    named = games.IMPORTED[:]
    games.IMPORTED.clear()  # no module has been named when a process begins
    try:
        with (
            mock.patch.object(sys, "argv", [module, *words]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            status = main() or 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        games.IMPORTED[:] = named
    return CompletedProcess(words, status, out.getvalue(), err.getvalue())


def typed(*arguments, module="baselines"):
    """Return what a command prints that succeeds."""
    done = command(*arguments, module=module)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*arguments, module="baselines"):
    """Return the line with which a command answers a mistake."""
    done = command(*arguments, module=module)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def in_a_process(*arguments, **options):
    """Run Python in a process of its own; return its status and what it printed."""
    words = [sys.executable, *map(str, arguments)]
    stdin = subprocess.DEVNULL
    return subprocess.run(words, capture_output=True, text=True, stdin=stdin, **options)


def python(*arguments, **options):
    """Run Python in a process of its own, which must succeed; return what it printed."""
    done = in_a_process(*arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def faults_of(jobs, folder):
    """Run jobs of `one_process.py` in a folder; return their faults."""
    path = os.pathsep.join((str(ROOT), str(folder)))  # benchmarks are not installed
    words = ("-W", "ignore", TESTS / "one_process.py", json.dumps(jobs))
    return json.loads(python(*words, cwd=folder, env=os.environ | {"PYTHONPATH": path}).stdout)
