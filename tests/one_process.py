"""Runs jobs one after the other, which imports libraries once: `python one_process.py JOBS`.

A job is a library that is missing, or None, and the words that Python takes: `-m`, a module and its
arguments, or `-c` and code.  Code, and what lacks a library, imports the package anew.  Printed, in
JSON, is the fault of each job: a command's status, and what was said; of a job that succeeds, "".
"""

import contextlib
import io
import json
import runpy
import sys
import traceback

import gymnasium as gym

missing, known = None, dict(gym.registry)


class Missing:
    """Finds no library that is missing."""

    def find_spec(self, name, path, target=None):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def forget(library):
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("tile_envs", "baselines", "benchmarks", library):
            del sys.modules[name]
    gym.registry.clear()
    gym.registry.update(known)


def fault_of(job):
    global missing
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            missing, option, *sys.argv = job
            if missing or option == "-c":
                forget(missing)
            if option == "-c":
                exec(sys.argv[0], {"__name__": "__main__"})
            else:
                runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        except SystemExit as end:
            return f"{end.code}: {said.getvalue()}" if end.code else ""
        except Exception:
            return said.getvalue() + traceback.format_exc()
    return ""


if __name__ == "__main__":
    sys.meta_path.insert(0, Missing())
    print(json.dumps([*map(fault_of, json.loads(sys.argv[1]))]))
