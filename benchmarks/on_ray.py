"""Makes rows on Ray, on this machine or on a cluster whose machines share this folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.kinds import Executor, Wanted
from benchmarks.results import Row
from tile_envs.errors import UsageError, extra


def on_ray(address: str = "local") -> Executor:
    """Return what makes rows on the cluster at an address, or without one on this machine."""
    with extra("ray"):
        import ray
    try:
        ray.init(address, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"no Ray cluster answers at {address!r}: {error}") from error

    def make_all(wanted: Sequence[Wanted], runs: Path) -> Iterator[tuple[Wanted, list[Row]]]:
        groups: dict[str, list[Wanted]] = {}
        for n, each in enumerate(wanted):  # what shares a training run is made in one process
            groups.setdefault(each.run or str(n), []).append(each)
        how = ray.remote(max_retries=3)
        remote = how(lambda group: [each.made(runs.resolve()) for each in group])
        pending = {remote.remote(group): group for group in groups.values()}
        try:
            while pending:
                (done,), _ = ray.wait(list(pending), num_returns=1)
                group = pending.pop(done)
                try:
                    rows = ray.get(done)
                except ray.exceptions.RayError as error:  # its process has died too often
                    rows = [each.failed(error) for each in group]
                yield from zip(group, rows, strict=True)
        finally:
            ray.shutdown()

    return make_all
