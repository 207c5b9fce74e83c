"""Does jobs on Ray, which decides what runs where: on this machine, or on a cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.jobs import Executor, Job, JobResult
from benchmarks.kinds import AgentExperiment
from tile_envs.errors import UsageError, extra

LOCAL = "local"
"""The address of a cluster that is started on this machine, and ends with the command."""
RETRIES = 3


def on_ray(address: str = LOCAL) -> Executor:
    """Return what does jobs on the cluster at an address, such as `10.0.0.1:6379`, or `LOCAL`."""
    with extra("ray"):
        import ray

    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
    if address == LOCAL:
        small = 100 * 2**20  # as jobs and rows are
        ray.init(**options, object_store_memory=small, include_dashboard=False)
        return _do
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
    return _do


def _do(jobs: Sequence[Job], runs: Path, begin: Callable[[Job], object]) -> Iterator[JobResult]:
    import ray

    last: dict[Path, Any] = {}  # for each training run, the task that goes on with it last
    pending = {}
    try:
        # No job may ask for more than the machine has that has most: it would wait for ever.
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores, memory = (max(each.get(k, 0) for each in machines) for k in ("CPU", "memory"))
        for job in jobs:
            experiment = job.experiment
            trainings = experiment.trainings(job) if isinstance(experiment, AgentExperiment) else ()
            folders = {folder for each in trainings for folder in each.folders(job.seed, runs)}
            task = ray.remote(_make).options(
                name=str(job),
                num_cpus=cores_of(job, int(cores)),
                memory=int(min(experiment.memory * 2**30, memory)),
                max_retries=RETRIES,
            )
            before = (last[folder] for folder in folders if folder in last)
            reference = task.remote(job, runs.resolve(), *before)
            last |= dict.fromkeys(folders, reference)
            pending[reference] = job
        while pending:
            for reference in ray.wait(list(pending), num_returns=1)[0]:
                job = pending.pop(reference)
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield job.fail(error)
    finally:
        ray.shutdown()


def _make(job: Job, runs: Path, *before: JobResult) -> JobResult:
    """Make the rows of a job, after those of the same training run that came before."""
    return job.make(runs)


def cores_of(job: Job, most: int) -> int:
    """Return how many cores a job needs, at most those of the largest machine.

    A measure of speed has its machine to itself.
    """
    experiment = job.experiment
    if not isinstance(experiment, AgentExperiment):
        return most
    threads = getattr(experiment.options().settings, "threads", 1) if experiment.learns else 1
    return min(most, int(threads))
