"""The table of every agent against every other."""

import subprocess
import sys

import pytest

from baselines.crosstable import crosstable, text
from baselines.tables import read_rows

COMMAND = (sys.executable, "-m", "baselines", "crosstable")


def test_deterministic_pairs_are_as_published(tmp_path):
    rows = crosstable(tmp_path, 0, ["random", "minimax", "minimax_first"])
    assert len(rows) == 9
    for row in rows:
        theirs = [row[f"published_{key}"] for key in ("x_wins", "draws", "o_wins")]
        ours = [row[key] for key in ("x_wins", "draws", "o_wins")]
        assert abs(sum(ours) - 1) < 1e-9
        if "random" in (row["x"], row["o"]):
            if None not in theirs:  # theirs are of 1,000 games
                assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 0.04
        else:
            assert ours == pytest.approx([0, 1, 0])
            assert theirs == [0, 1, 0]


def test_trained_agents_are_trained_once_and_kept(tmp_path):
    first = crosstable(tmp_path, 0, ["value_table published", "minimax"])
    (folder,) = tmp_path.iterdir()
    checkpoint = (folder / "checkpoint.npz").stat().st_mtime_ns
    assert crosstable(tmp_path, 0, ["value_table published", "minimax"]) == first
    assert (folder / "checkpoint.npz").stat().st_mtime_ns == checkpoint
    assert "published" in text(first)


def test_the_command_writes_the_table(tmp_path):
    out = tmp_path / "table.csv"
    done = subprocess.run(
        [*COMMAND, "--out", str(out), "--agents", "random", "minimax", "--runs", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = read_rows(out)
    assert [(row["x"], row["o"]) for row in rows][:2] == [
        ("random", "random"),
        ("random", "minimax"),
    ]
    assert "58.49" in done.stdout
    wrong = subprocess.run(
        [*COMMAND, "--agents", "nobody"],
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == 2
    assert "there is no 'nobody'" in wrong.stderr
