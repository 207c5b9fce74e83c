"""Rows made on Ray, on this machine."""

import pytest

from benchmarks.experiments import select
from benchmarks.results import read

ray = pytest.importorskip("ray", reason="needs tile-envs[ray]")

from benchmarks.on_ray import on_ray  # noqa: E402
from benchmarks.run import make_missing  # noqa: E402
from tile_envs.errors import UsageError  # noqa: E402


@pytest.mark.slow
def test_rows_are_those_that_are_made_without_it_and_failures_are_rows(tmp_path):
    chosen = select(["seeds/value_table published", "exact/greedy"])
    for name, how in (("here", {}), ("ray", {"executor": on_ray()})):
        assert not make_missing(chosen, tmp_path / name, tmp_path / "runs" / name, **how)
    for table in chosen:
        here, there = (read(tmp_path / name, table) for name in ("here", "ray"))
        assert {n: row["key"] for n, row in here.items()} == {n: r["key"] for n, r in there.items()}
        column = "win" if table == "seeds" else "mean"
        assert [row[column] for row in here.values()] == [row[column] for row in there.values()]


@pytest.mark.slow
def test_an_address_without_a_cluster_is_a_clear_error():
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:1"):
        on_ray("127.0.0.1:1")
