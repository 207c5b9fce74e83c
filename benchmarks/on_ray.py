"""Makes rows on Ray, which decides what runs where: on this machine, or on a cluster."""

import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.kinds import Executor, Wanted
from benchmarks.results import Row
from tile_envs.errors import UsageError, extra

LOCAL = "local"
"""The address of a cluster that is started on this machine, and ends with the command."""
RETRIES = 3


def on_ray(address: str = LOCAL) -> Executor:
    """Return what makes rows on the cluster at an address, `10.0.0.1:6379` or so, or `LOCAL`."""
    with extra("ray"):
        import ray

    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
    if address == LOCAL:
        small = 100 * 2**20  # as rows are
        ray.init(**options, object_store_memory=small, include_dashboard=False)
        return _make_all
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if port.isdecimal():  # where nothing answers, Ray would try for minutes
            socket.create_connection((host, int(port)), timeout=5).close()
        ray.init(**options)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address!r}: expected the address that `ray start --head` "
            "has printed (with RAY_AUTH_MODE=token in the environment, if the cluster asks for a "
            f"token), or --ray alone for a cluster on this machine ({error})."
        ) from error
    return _make_all


def _make_all(
    wanted: Sequence[Wanted], runs: Path, begin: Callable[[Wanted], object]
) -> Iterator[tuple[Wanted, list[Row]]]:
    import ray

    last: dict[str, Any] = {}  # for each training run, the task that goes on with it last
    pending = {}
    try:
        # No task may ask for more than the machine has that has most: it would wait for ever.
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        most, memory = (max(each.get(k, 0) for each in machines) for k in ("CPU", "memory"))
        for each in wanted:
            task = ray.remote(_make).options(
                name=str(each.experiment),
                num_cpus=min(int(most), each.experiment.cores or int(most)),
                memory=int(min(each.experiment.memory * 2**30, memory)),
                max_retries=RETRIES,
            )
            before = (last[run] for run in each.runs if run in last)
            reference = task.remote(each, runs.resolve(), *before)
            last |= dict.fromkeys(each.runs, reference)
            pending[reference] = each
        while pending:
            for reference in ray.wait(list(pending), num_returns=1)[0]:
                each = pending.pop(reference)
                try:
                    yield each, ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield each, each.failed(error)
    finally:
        ray.shutdown()


def _make(wanted: Wanted, runs: Path, *before: list[Row]) -> list[Row]:
    """Make rows, after those of the same training run that came before."""
    return wanted.made(runs)
