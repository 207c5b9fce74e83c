#!/usr/bin/env python3
"""Measures how many small faults the tests find: a mutation score.

    .ci/mutants.py [--n 320] [--seed 0] [--workers 2] [--out mutants.csv]

A mutant is the code with one operator, comparison, number or condition changed.  Mutants are drawn
from the modules below, each as often as it has places to change, and run against the tests of its
room and those of mistakes, the likeliest files first.  A mutant is killed by a test that fails; one
that makes the tests run for too long is left out of the score.  Equivalent mutants count as
survivors.  Finished mutants are kept in the file of `--out`, so that an interrupted run continues.
"""

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
SLIDING = "rules game state vector engines placer chance"
TARGETS = {
    "tile_envs/sliding/rules.py": f"envs {SLIDING} mistakes",
    "tile_envs/sliding/chance.py": f"envs chance {SLIDING}",
    "tile_envs/sliding/pairs.py": f"envs {SLIDING}",
    "tile_envs/sliding/packed/tables.py": f"envs {SLIDING}",
    "tile_envs/sliding/packed/batch.py": f"envs {SLIDING}",
    "tile_envs/sliding/packed/kernels.py": f"envs engines {SLIDING} ntuple expectimax",
    "tile_envs/sliding/packed/compiled.py": f"envs engines {SLIDING}",
    "tile_envs/sliding/cells/batch.py": f"envs {SLIDING}",
    "tile_envs/sliding/cells/compiled.py": f"envs engines {SLIDING}",
    "tile_envs/sliding/compiled.py": f"envs engines {SLIDING}",
    "tile_envs/tictactoe/compiled.py": "envs tictactoe engines vector",
    "tile_envs/tictactoe/positions.py": "envs tictactoe engines",
    "tile_envs/base/random_stream.py": f"envs playthroughs {SLIDING}",
    "tile_envs/base/sets.py": "envs engines tictactoe vector",
    "tile_envs/text.py": "envs text",
    "benchmarks/results.py": "benchmarks rows pages",
    "baselines/training/config.py": "agents runs",
    "baselines/evaluation/intervals.py": "agents intervals compare evaluation",
}
"""By module, the room of its tests and the files that are run first."""
SIGNS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%"},
    **{ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
    **{ast.And: "and", ast.Or: "or"},
}
SWAPS = {
    **{"+": "-", "-": "+", "*": "//", "//": "*", "/": "*", "%": "*"},
    **{"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"},
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"is": "is not", "is not": "is", "in": "not in", "not in": "in", "and": "or", "or": "and"},
}
"""By the sign of an operator, what takes its place."""


Mutant = tuple[str, int, int, str]
"""A module, from and to which of its bytes text is replaced, and by what."""


def mutants_of(source: str) -> Iterator[tuple[int, int, str]]:
    """Yield where text is replaced in a program, from and to which character, and by what."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))

    def at(node: ast.AST, end: bool = False) -> int:
        line, column = (
            (node.end_lineno, node.end_col_offset) if end else (node.lineno, node.col_offset)
        )
        return starts[line - 1] + column

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SIGNS:
            is_binary = isinstance(node, ast.BinOp)
            left, right = (node.left, node.right) if is_binary else (node.target, node.value)
            yield from between(source, at(left, end=True), at(right), node.op)
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SIGNS:
            right = node.comparators[0]
            yield from between(source, at(node.left, end=True), at(right), node.ops[0])
        elif isinstance(node, ast.BoolOp):
            yield from between(source, at(node.values[0], end=True), at(node.values[1]), node.op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield at(node), at(node.operand), ""
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield at(node.test), at(node.test), "not "
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            text = str(not node.value) if type(node.value) is bool else str(node.value + 1)
            yield at(node), at(node, end=True), text


def between(source: str, begin: int, end: int, operator: ast.AST) -> Iterator[tuple[int, int, str]]:
    """Yield the place of an operator between two operands."""
    sign = SIGNS[type(operator)]
    place = source.encode()[begin:end].find(sign.encode())
    if place >= 0:
        yield begin + place, begin + place + len(sign), SWAPS[sign]


def drawn(n: int, seed: int) -> list[Mutant]:
    """Return n mutants, drawn from all by a seed."""
    every = []
    for module in TARGETS:
        source = (ROOT / module).read_text(encoding="utf-8")
        every += [(module, *each) for each in mutants_of(source)]
    return sorted(random.Random(seed).sample(every, n))


def outcome(mutant: Mutant, folder: Path, timeout: float) -> str:
    """Run the tests on a mutant in a copy of the repository; return "killed", or what else."""
    module, begin, end, text = mutant
    path, (room, *first) = folder / module, TARGETS[module].split()
    whole = path.read_bytes()
    path.write_bytes(whole[:begin] + text.encode() + whole[end:])
    tests = folder / "tests"
    files = [file for name in first for file in tests.rglob(f"test_{name}.py")]
    files += [*sorted((tests / room).glob("test_*.py")), tests / "test_mistakes.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    env = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    try:
        how = {"cwd": folder, "env": env, "capture_output": True, "timeout": timeout}
        status = subprocess.run([*command, *dict.fromkeys(map(str, files))], **how).returncode
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        path.write_bytes(whole)
    is_killed = status in (1, 2) or status < 0  # a test, an import, or the process has failed
    return "killed" if is_killed else {0: "survived"}.get(status, f"status {status}")


def main() -> None:
    """Print the score, and the mutants that survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=320, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a mutant")
    parser.add_argument("--out", type=Path, default=Path("mutants.csv"))
    options = parser.parse_args()
    mutants = drawn(options.n, options.seed)
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    known = {}
    if options.out.exists():
        with options.out.open(newline="") as file:
            known = {tuple(row[:4]): row[4] for row in csv.reader(file) if row[5:] == [head]}
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(options.workers):
            copy = Path(folder, str(k))
            ignored = shutil.ignore_patterns(".git", "__pycache__", "runs")
            copies.put(Path(shutil.copytree(ROOT, copy, ignore=ignored)))

        def judge(mutant: Mutant) -> tuple[tuple[str, ...], str]:
            name = tuple(map(str, mutant))
            if name in known:
                return name, known[name]
            copy = copies.get()
            try:
                return name, outcome(mutant, copy, options.timeout)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.workers) as pool:
            for name, result in pool.map(judge, mutants):
                if name not in known:
                    with options.out.open("a", newline="") as file:
                        csv.writer(file).writerow([*name, result, head])
                known[name] = result
                if result != "killed":
                    module, begin, end, text = name
                    source = (ROOT / module).read_bytes()
                    line = source[: int(begin)].count(b"\n")
                    was = source[int(begin) : int(end)].decode()
                    shown = source.decode().splitlines()[line].strip()
                    place = f"{module}:{line + 1}"
                    print(f"{result}: {place}: {was!r} -> {text!r} in {shown}", flush=True)
    results = [known[tuple(map(str, mutant))] for mutant in mutants]
    judged = [result for result in results if result != "timeout"]
    killed = judged.count("killed")
    late = len(results) - len(judged)
    print(f"{killed} of {len(judged)} killed: {killed / len(judged):.1%}; {late} timeouts")


if __name__ == "__main__":
    main()
