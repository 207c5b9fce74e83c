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
        remote = ray.remote(_make).options(max_retries=3)
        pending = {remote.remote(each, runs.resolve()): each for each in groups.values()}
        try:
            while pending:
                (done,), _ = ray.wait(list(pending), num_returns=1)
                yield from zip(pending.pop(done), ray.get(done), strict=True)
        finally:
            ray.shutdown()

    return make_all


def _make(wanted: Sequence[Wanted], runs: Path) -> list[list[Row]]:
    return [each.made(runs) for each in wanted]
