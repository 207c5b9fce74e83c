"""Files of a run that are damaged, edited or foreign: one line, or a right answer.

A file is never run, and never makes more memory be taken than it is allowed.  The slow tests spoil
each kind of file a thousand times: `pytest -m slow tests/agents/test_hostile_files.py`.
"""

import io
import json
import os
import pickle
import random
import shutil
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import small
from commands import typed

from baselines import load, train
from baselines.arrays import pack, write_arrays
from baselines.solver.solve import FILE, Solution, solution_of
from baselines.training import run_folder as runs
from baselines.training.run_folder import CONFIG, Run
from baselines.viewing.moves import recorded_games
from tile_envs import replay
from tile_envs.errors import UsageError, message_of
from tile_envs.games import make
from tile_envs.replay import Playthrough
from tile_envs.sliding import RULES_2584, SlidingGame

BOARD, SOLVED = {"shape": [2, 2]}, SlidingGame(RULES_2584, (2, 2))


class Evil:
    """What a pickle may hold: a call of anything."""

    def __reduce__(self):
        return os.mkdir, (os.environ["EVIL"],)


@pytest.fixture(autouse=True)
def _nothing_is_run(tmp_path, monkeypatch):
    monkeypatch.setenv("EVIL", str(tmp_path / "evil"))
    (tmp_path / "evilmod.py").write_text("import os; os.mkdir(os.environ['EVIL'])")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    assert not (tmp_path / "evil").exists()
    assert "evilmod" not in sys.modules


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    train("qtable", "TicTacToe-v0", games=300, out=folder, n_envs=100)
    return folder


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    train("dqn", "Tiles2048-v0", BOARD, games=20, out=folder, **small.DQN)
    return folder


@pytest.fixture
def copied(tmp_path):
    return lambda folder: shutil.copytree(folder, tmp_path / "run")


def config_changed(folder, **entries):
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | entries))


def refusal(read, *arguments):
    """Return the line with which reading is refused; it may also succeed."""
    message = ""
    tracemalloc.start()
    try:
        read(*arguments)
    except ValueError as error:
        message = str(error)
    assert tracemalloc.get_traced_memory()[1] < 150 << 20
    tracemalloc.stop()
    assert "\n" not in message
    return message


def test_no_text_of_a_file_commands_the_terminal(table, copied, tmp_path):
    evil, folder = "\x1b[2J\x9bm", copied(table)
    (folder / runs.PROGRESS).write_text(f"games,seconds,{evil}\n1,1,1\n")
    (row,) = runs.read_progress(folder)
    config_changed(folder, agent=f"{evil}:A", modules=[evil], settings={evil: evil})
    with pytest.raises(UsageError) as caught:
        load(folder)
    path = tmp_path / f"{evil}.json"
    replay.write(replay.replay_of(Playthrough(make("TicTacToe-v0", {}), 0), evil), path)
    (watched,) = recorded_games(path)
    with pytest.raises(UsageError, match="one line of text"):
        replace(RULES_2584, name=evil)
    shown = [*row, message_of(caught.value), watched.title, watched.about]
    assert "\ufffd[2J" in watched.title
    assert not any(character in text for text in shown for character in evil if character < " ")
    assert "\x9b" not in "".join(shown)


def npy(shape, content=b""):
    """Return an entry with an array of a shape that its content may not have."""
    file, about = io.BytesIO(), {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)
    return {"q.npy": file.getvalue() + content}


def zipped(path, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def of_objects():
    file = io.BytesIO()
    np.savez(file, q=np.array([Evil()], object))
    return file.getvalue()


def of_start_boards(folder):
    path = folder / "games.npz"
    np.savez(path, observations=np.tile([[0, 1], [2, 3]], (500, 1, 1)))
    return path, lambda: make("Tiles2048-v0", BOARD | {"starts": path})


def of_a_table(folder):
    return folder / runs.CHECKPOINT, lambda: [*load(folder).state_dict().values()]


def of_a_solution(folder):
    solution_of(SOLVED).save(folder)
    return folder / FILE, lambda: [Solution.load(folder, SOLVED).states.values]


def of_a_model(folder):
    path, player = folder / runs.BEST, load(folder)
    boards = np.ones((1, 2, 2), np.uint8)
    return path, lambda: (player.load_model(path), [player.action_values(boards)])[1]


KINDS = {of_start_boards: "starts", of_a_table: "checkpoint", of_a_solution: "solution"}
KINDS |= {of_a_model: "best.zip is no model"}


@pytest.mark.parametrize(("kind", "named"), KINDS.items())
@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: zipped(path, npy((10**15,))),
        lambda path: zipped(path, npy((200 << 20,), bytes(200 << 20)), zipfile.ZIP_DEFLATED),
        lambda path: path.write_bytes(of_objects()),
        lambda path: zipped(path, {"q.txt": b"hello"}),
        lambda path: path.write_bytes(pickle.dumps(Evil())),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1000]),
    ],
)
def test_hostile_arrays_are_refused_in_one_line(spoil, kind, named, table, deep, copied):
    path, read = kind(copied(deep if kind == of_a_model else table))
    spoil(path)
    assert named in refusal(read)


def test_hostile_weights_are_refused_in_one_line(deep, copied):
    path = copied(deep) / runs.BEST
    with zipfile.ZipFile(path) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    for policy in (pickle.dumps(Evil()), bytes(200 << 20)):
        zipped(path, kept | {"policy.pth": policy}, zipfile.ZIP_DEFLATED)
        assert "best.zip is no model" in refusal(load, path)
    path.unlink()
    assert "best.zip is no model" in refusal(load, path)


PACKED = dict(pack({"table": (np.arange(400_000) > 100_000) * 7}))


@pytest.mark.parametrize(
    "changes",
    [
        *({"table/400000": np.zeros(7)}, {"table/400000": np.array(7)}),
        *({"mask/400000/table": np.zeros(7)}, {"mask/x/table": np.zeros(7, np.uint8)}),
        {"mask/99999999/table": np.zeros(7), "table/99999999": np.zeros(7)},  # too large
    ],
)
def test_damaged_tables_are_refused_in_one_line(changes, tmp_path):
    write_arrays(tmp_path / runs.CHECKPOINT, (PACKED | changes).items())
    read = partial(runs.read_checkpoint, tmp_path, like={"table": np.zeros(400_000)})
    assert "checkpoint.npz is damaged" in refusal(read)


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ({"env": "Tiles2048-v0", "env_kwargs": BOARD, "sides": []}, "another game"),
        ({"agent": "value_table", "settings": {}}, "bytes of arrays"),
        *(({"format": 99}, "format 99"), ({"trice": 1}, "'trice'")),
        ({"settings": {"n_envs": 10**9}}, "1,000,000,000"),
        *(({"sides": ["X", "Z"]}, "'Z'"), ({"agent": "subprocess:Popen"}, "subprocess:Popen")),
        ({"modules": ["elsewhere"], "settings": {"epsilon": 7}}, "got 7"),
        ({"modules": ["elsewhere"], "agent": "elsewhere:Mine"}, "module elsewhere"),
        ({"modules": ["elsewhere"], "env": "Mine-v0"}, "module elsewhere"),
    ],
)
def test_a_foreign_configuration_is_refused_with_what_is_wrong(entries, named, table, copied):
    folder = copied(table)
    config_changed(folder, **entries)
    assert named in refusal(load, folder)
    assert str(folder) in refusal(load, folder)


def test_a_damaged_run_is_refused_with_the_file(table, copied):
    folder = copied(table)
    state = {**np.load(folder / runs.CHECKPOINT)}
    np.savez(folder / runs.CHECKPOINT, **state | {"iterations": np.array(-1)})
    assert "'iterations'" in refusal(load, folder)
    (folder / runs.CHECKPOINT).unlink()
    assert "no checkpoint.npz" in refusal(load, folder)
    (folder / CONFIG).write_text("{")
    assert "config.json is damaged" in refusal(load, folder)
    (folder / CONFIG).unlink()
    assert f"{folder} holds no run" in refusal(load, folder)


NO_GAMES = [b"[" * 100_000, b'{"shape": [1e999, 2]}', b"9" * 5000]
SPOILED = [{"game": np.frombuffer(game, np.uint8)} for game in NO_GAMES]


@pytest.mark.parametrize("spoiled", [*SPOILED, {"states_begins": np.zeros(2)}])
def test_a_solution_of_no_game_is_refused_in_one_line(spoiled, tmp_path):
    path, read = of_a_solution(tmp_path)
    np.savez(path, **{**np.load(path)} | spoiled)
    assert "solution.npz is damaged" in refusal(read)


def test_our_loading_never_unpickles(table, deep, copied, monkeypatch):
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.delattr(pickle, name)
    load(table)
    load(deep)
    load(deep / runs.BEST)


@pytest.mark.parametrize("entry", ["env", "agent"])
def test_a_file_makes_no_module_be_imported(entry, table, copied):
    folder = copied(table)
    config_changed(folder, **{entry: f"evilmod:{getattr(Run.read(folder).config, entry)}"})
    assert refusal(load, folder)
    assert refusal(lambda: train("qtable", out=folder, resume=True))


@pytest.mark.parametrize("lines", ["", "100,0.1,0.5,7\n", "-1,0.1,0.5\n"])
def test_a_damaged_progress_is_told_before_anything_is_learned(lines, table, copied):
    folder, lines = copied(table), f"games,seconds,return\n{lines}"
    (folder / runs.PROGRESS).write_text(lines)
    asked = partial(train, "qtable", games=400, out=folder, resume=True)
    assert "progress.csv is damaged" in refusal(asked)
    assert (folder / runs.PROGRESS).read_text() == lines
    assert Run.read(folder) == Run.read(table)


def spoiled(content, rng):
    """Return a file's content with a bit turned, a part cut, doubled, or replaced by noise."""
    content, first = bytearray(content), rng.randrange(len(content))
    last = min(len(content), first + rng.choice([1, 8, 200]))
    kind = rng.randrange(6)
    if kind < 3:
        content[first] ^= 1 << rng.randrange(8)
    elif kind == 3:
        del content[first:last]
    elif kind == 4:
        content[first:last] = rng.randbytes(last - first)
    else:
        content[first:first] = content[first:last]
    return bytes(content)


def of_a_configuration(folder):
    return folder / CONFIG, lambda: load(folder) and []


def of_progress(folder):
    return folder / runs.PROGRESS, lambda: runs.read_progress(folder) and []


def of_a_replay(folder):
    typed("record", "greedy", "--episodes", 1, "--out", folder / "games")
    path = folder / "games" / "0-0.json"
    return path, lambda: replay.read(path) and []


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [of_a_table, of_a_solution, of_a_model, of_a_configuration, of_progress, of_a_replay]
)
def test_a_file_spoiled_a_thousand_times_is_refused_or_read_right(kind, table, deep, copied):
    path, read = kind(copied(deep if kind == of_a_model else table))
    rng, content, expected = random.Random(path.name), path.read_bytes(), read()
    for _ in range(1000):
        path.write_bytes(spoiled(content, rng))
        if not refusal(read):
            assert all(map(np.array_equal, read(), expected))
