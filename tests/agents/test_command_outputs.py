"""What the commands print and write, with fixed seeds, as one text.

A change of behavior is read in the diff of `tests/command_outputs.txt`, which
`python tests/test_command_outputs.py` writes again.
"""

import csv
import difflib
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from commands import command

FILE = Path(__file__).parent / "command_outputs.txt"
SMALL = """--env-kwargs '{"shape": [2, 2]}'"""
LATE = "--seed 1 --initial 0 --half-games 1000 --stages 8 --stage-games 2000 --late-stages 16"
LATE += " --late-games 3000 --direction backward --restart 0.2 --averaging 0.5"
COMMANDS = rf"""
train ntuple {SMALL} --games 2000 --test-every 1000 --out n
train ntuple {SMALL} --games 3000 --resume --out n
train ntuple {SMALL} --games 4000 {LATE} --out late
train ntuple {SMALL} --games 200 --seeds 2 --test-games 0 --out s
train qtable --games 3000 --test-games 20 --out q
train qtable --env Tiles2048-v0 {SMALL} --games 200 --preset small --out sequential
train value_table --games 300 --env TicTacToe-v0 --side X --out vt
train neural --games 60 --out net
train dqn {SMALL} --games 40 --width 8 --test-games 5 --device cpu --out d
train ppo {SMALL} --games 40 --width 8 --test-games 5 --device cpu --out p
evaluate n d/best.zip p --episodes 20 --out n.csv
evaluate n --exact
evaluate n d --search 2 --episodes 20
evaluate late --search 2 --deeper 2:3 --threads 2 --episodes 20
evaluate q vt net --episodes 20
evaluate q --exact
evaluate n --placer-agent n --placer-depth 2 --episodes 10
evaluate mcts --agent-kwargs '{{"playouts": 50}}' --episodes 5
evaluate strategy.py --episodes 3 {SMALL}
compare s-0 s-1 sequential greedy --episodes 40 --out c.csv
solve --shape 2 2 --goal 16
solve --shape 2 2 --questions 2
best --board "2 4 8 / 0 2 2"
best --board "2 4 8 16 / 0 0 2 4 / 0 0 0 2 / 0 0 0 0" --json
best --board "X . . / . O . / . . ." --agent q
grade submissions --shape 2 2 --exact --agent-seed 3 --out grades.csv
grade submissions --env TicTacToe-v0 --episodes 10 --agent-seed 3
record n --out games --episodes 3
record n --format npz --out games.npz --episodes 3
train dqn {SMALL} --replays games --n-envs 16 --games 30 --width 8 --device cpu --out e
export n --out small
watch n --html game.html
evaluate nobody
train ntuple --minutes -1
"""
FILES = {
    "strategy.py": "def strategy(board):\n    return 'left' if board[0][1] else 'up'\n",
    "submissions/one.py": "def strategy(board):\n    return 'right'\n",
    "submissions/two.py": (
        "class Mine:\n    def __init__(self, game, seed): pass\n"
        "    def predict(self, boards, action_masks): return action_masks.argmax(axis=1)\n"
    ),
    "submissions/three.py": "raise ValueError('no')\n",
}
CHANGING = {
    r"\d+:\d\d(:\d\d)?": "TIME",
    r"[\d,.]+( kB| MB| GB)": r"SIZE\1",
    r"(moves\s+)[\d,]+( a second)": r"\1N\2",
    r"[\d.]+ (s|ms|seconds?)\b": r"T \1",
    r"(moves_per_second|seconds|milliseconds)\b(\": )[\d.e-]+": r"\1\2N",
    r"process \d+": "process N",
    r"(?<=environment_share )[\d.e-]+": "N",
    r"compiling TIME, ": "",
    r"(?m)^(tile_envs: compiling|\w+: \d+%|training: ).*\n": "",
    r"(seconds +)[\d.]+": r"\1N",
    r"(?m)(%  .*  )[\d.]+$": r"\1N",
    r"(?m)( to .*\d) +[\d,]+$": r"\1 N",
    r"s-1 is finished\ns-0 is finished": "s-0 is finished\ns-1 is finished",
    r"[\d,]+( boards a second)": r"N\1",
    r"\S+\.py:\d+: UserWarning": "UserWarning",
    r"20\d\d-\d\d-\d\d": "DATE",
}
CHANGING_COLUMNS = ("seconds", "moves_per_second", "share", "versions", "date")


def plain(text):
    for pattern, word in CHANGING.items():
        text = re.sub(pattern, word, text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def table(path):
    with path.open(newline="") as file:
        head, *lines = csv.reader(file)
    kept = [i for i, name in enumerate(head) if not any(t in name for t in CHANGING_COLUMNS)]
    return "\n".join(",".join(line[i] for i in kept if i < len(line)) for line in (head, *lines))


def arrays(path):
    with np.load(path, allow_pickle=False) as held:
        # Sums tell as much as digests do, and differ little between processors.
        return {
            n: [str(held[n].dtype), list(held[n].shape), f"{_sums(held[n]):.6g}"]
            for n in sorted(held.files)
        }


def _sums(array):
    if array.dtype.kind not in "fiub":
        array = np.frombuffer(array.tobytes(), np.uint8)
    numbers = array.ravel()[: 1 << 20].astype(np.float64)
    return np.nansum(numbers * (1 + np.arange(numbers.size) % 7))


def learned(folder):
    """Return the state of a run, whatever way it is packed."""
    from baselines.training.run_folder import read_checkpoint

    state = read_checkpoint(folder)
    return {n: [str(a.dtype), list(a.shape), f"{_sums(a):.6g}"] for n, a in sorted(state.items())}


def written(path):
    if path.name == "config.json":
        config = json.loads(path.read_text())
        for name in ("versions", "seconds"):
            config.pop(name, None)
        return json.dumps(config).replace(str(path.resolve().parents[1]), "HERE")
    if path.name == "checkpoint.npz":
        return json.dumps(learned(path.parent))
    if path.suffix == ".csv":
        return table(path)
    if path.suffix == ".npz":
        return json.dumps(arrays(path))
    if path.suffix == ".md" or (path.suffix == ".json" and path.parent.name == "games"):
        return plain(path.read_text())
    return ""


def outputs():
    """Yield a text for each command: itself, its status, what it printed, and its new files."""
    seen = set()
    for words in COMMANDS.strip().splitlines():
        done = command(*shlex.split(words))
        text = [f"$ {words}", f"status {done.returncode}"]
        text += [plain(said) for said in (done.stdout, done.stderr)]
        files = {p: p.stat().st_mtime_ns for p in sorted(Path().rglob("*")) if p.is_file()}
        for path, time in files.items():
            ignored = "tfevents" in path.name or path.name == "lock" or "__pycache__" in path.parts
            if (path, time) not in seen and not ignored:
                text += [f"> {path}", written(path)]
        seen |= set(files.items())
        yield "\n".join(filter(None, text)).replace(os.getcwd(), "HERE") + "\n\n"


def all_outputs(folder):
    before = Path.cwd()
    os.chdir(folder)
    os.environ["COLUMNS"] = "100"
    try:
        for name, text in FILES.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text)
        return "".join(outputs())
    finally:
        os.chdir(before)


@pytest.mark.slow  # and on other processors torch rounds in another way
def test_commands_print_and_write_what_the_file_shows(tmp_path):
    made, wanted = all_outputs(tmp_path), FILE.read_text(encoding="utf-8")
    differing = "\n".join(difflib.unified_diff(wanted.splitlines(), made.splitlines(), n=1))
    assert not differing, differing


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = all_outputs(folder)
    if "--diff" in sys.argv:
        wanted = FILE.read_text(encoding="utf-8")
        print("\n".join(difflib.unified_diff(wanted.splitlines(), made.splitlines(), n=1)))
    else:
        FILE.write_text(made, encoding="utf-8")
