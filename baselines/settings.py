"""Settings are dataclasses whose types say which values are allowed.

The command line (tyro) and files (pydantic) read the same types; below are short names for some.
Rules between fields are checked in a dataclass's `__post_init__`.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import psutil
from annotated_types import Ge, Interval, Len
from pydantic import AllowInfNan, TypeAdapter, ValidationError

from tile_envs.base.checks import brief, plain
from tile_envs.errors import UsageError

MOST = (1 << 63) - 1
CGROUP = Path("/sys/fs/cgroup")  # where Linux tells what a container may use
QUOTAS = ("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")
"""Files with its time on cores, and the period of that, of versions 2 and 1."""
SHARE = "BASELINES_MEMORY"
"""The environment variable that limits the bytes of one of several processes."""
Count = Annotated[int, Interval(ge=1, le=MOST)]
NonNegative = Annotated[int, Interval(ge=0, le=MOST)]
Seed = Annotated[int, Ge(0)]
Threads = Annotated[int, Interval(ge=1, le=256)]
Units = Annotated[int, Interval(ge=1, le=4096)]  # of a layer of a network
Widths = Annotated[tuple[Units, ...], Len(0, 16)]
Finite = Annotated[float, AllowInfNan(False)]
Positive = Annotated[Finite, Interval(gt=0)]
Fraction = Annotated[float, Interval(ge=0, le=1)]
Rate = Annotated[float, Interval(gt=0, le=1)]
Weight = Annotated[Finite, Ge(0)]
Opponent = Literal["random", "minimax", "minimax_first"]
OpponentOrSelf = Literal[Opponent, "self"]
S = TypeVar("S")


def read_settings(kind: type[S], values: Mapping[str, Any]) -> S:
    """Return settings, a dataclass or `TypedDict`, from values as JSON has them: without tuples."""
    names = get_type_hints(kind)
    for name in sorted(values.keys() - names.keys()):
        raise UsageError(f"there is no setting {name!r}, only {', '.join(names) or 'none'}.")
    try:
        # As JSON, since pydantic's strict mode takes lists for tuples only there.
        text = json.dumps(plain(dict(values)), default=repr)
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise UsageError(_in_words(error)) from error


def check_settings(settings: Any) -> None:
    """Check settings that were made in Python or on the command line; see `read_settings`."""
    read_settings(type(settings), {f.name: getattr(settings, f.name) for f in fields(settings)})


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "value_error":  # of `__post_init__`
        return str(first["ctx"]["error"])
    name = ".".join(map(str, first["loc"]))
    _, should, expected = first["msg"].replace("an object", "a dictionary").rpartition(" should ")
    if not should:  # such as "Field required"
        return f"{name}: {first['msg']}."
    return f"{name} must {expected}, got {brief(first['input'])}."


def check_batch(games: int, name: str, bytes_per_game: int) -> None:
    """Check that games that are played side by side, or listed, fit into memory."""
    what, advice = f"a batch of {games:,} games", f"give {name} of at most {{}}"
    check_memory(games * bytes_per_game, what, advice, bytes_per_game)


def usable_cores() -> int:
    """Return how many cores this process may use, by its affinity and a container's quota."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    for names in QUOTAS:
        with suppress(OSError, ValueError):  # no such file, or a quota that is "max"
            quota, period = map(int, " ".join((CGROUP / n).read_text() for n in names).split())
            cores = min(cores, quota // period) if quota > 0 else cores
    return max(1, cores)


def free_memory() -> int:
    """Return the free bytes of the machine, of a container, or of this process's share of them."""
    free: int = psutil.virtual_memory().available
    free = min(free, int(os.environ.get(SHARE, free)))
    with suppress(OSError, ValueError):  # no such file, or a limit that is "max"
        most, taken = (int((CGROUP / f"memory.{n}").read_text()) for n in ("max", "current"))
        stat = dict(map(str.split, (CGROUP / "memory.stat").read_text().splitlines()))
        free = min(free, most - taken + int(stat["inactive_file"]))  # copies of files are let go
    return free


def check_memory(needed: int, what: str, advice: str, unit: int = 1) -> None:
    """Check that something of so many bytes fits into memory before it is made.

    `advice` tells what to do if not, with {} for how many units of so many bytes would fit.
    """
    if needed > (free := free_memory()):
        text = f"{what} takes {needed / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free"
        raise UsageError(f"{text}: {advice.format(f'{free // unit:,}')}.")


def check_file(path: Path, suffixes: Sequence[str], what: str) -> None:
    """Check that a file can be written, before its content is made; `what` begins the error."""
    if path.suffix not in suffixes:
        raise UsageError(f"{what} written to {' or '.join(suffixes)} files, got {path}.")
    check_writable(path.resolve().parent)


def check_writable(folder: Path) -> None:
    """Raise an `OSError` if no file can be written to a folder."""
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        reason = f"nothing can be written to {folder} ({error.strerror})"
        raise OSError(f"{reason}: give another folder.") from None
