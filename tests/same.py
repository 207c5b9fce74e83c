"""What is the same to the last bit."""

import csv
import json
import zipfile

import numpy as np


def equal(one, other):
    one, other = one.state_dict(), other.state_dict()
    return all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one.keys() | other.keys()
    )


TIMES = {"seconds", "moves_per_second", "environment_share", "date"}
"""What no two runs have in common."""


def contents(folder):
    """Return what the files of a folder say, but for times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "tfevents" not in path.name]
    return {str(path.relative_to(folder)): content_of(path) for path in paths}


def content_of(path):
    if path.suffix == ".csv":
        rows = csv.DictReader(path.read_text().splitlines())
        return [{name: cell for name, cell in row.items() if name not in TIMES} for row in rows]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist() if ".pth" in name}
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: array.tobytes() for name, array in arrays.items()}
    if path.suffix == ".json":
        return {k: v for k, v in json.loads(path.read_text()).items() if k not in TIMES}
    return path.read_bytes()
