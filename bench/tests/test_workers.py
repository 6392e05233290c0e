"""Schedules worked out by hand: jobs to whoever is free first, calls one after another."""

from __future__ import annotations

import pytest

from dovetail_bench.programs.workers import Stage, Task, scaled, scheduled


def stage(*calls: list[float], serial: float = 0.0, opening: float = 0.0, sent: int = 0) -> Stage:
    tasks = tuple(tuple(Task(seconds, sent, sent) for seconds in call) for call in calls)
    return Stage("joins", serial, tasks, opening)


@pytest.mark.parametrize(
    ("workers", "seconds", "limit"),
    [
        (1, 2 + 8 + 3, "the jobs"),
        (2, 2 + 4 + 2, "the jobs"),  # 3 and 1 beside 2, 1 and 1; then 1 and 1 beside 1
        (16, 2 + 3 + 1, "too few jobs"),
    ],
)
def test_jobs_go_to_the_worker_that_is_free_first(workers: int, seconds: float, limit: str) -> None:
    made = stage([3, 2, 1, 1, 1], [1, 1, 1], serial=2)
    found = scheduled(made, workers, overhead=0, network=1)
    assert (found.seconds, found.limit) == (seconds, limit)


def test_overhead_opening_and_bytes_cost_time() -> None:
    made = stage([1, 1], [1, 1], opening=10, sent=50)
    # A worker writes for half a second a job, and the driver reads all of it.
    assert scheduled(made, 2, overhead=0.5, network=100).seconds == 2 + 12 + 2
    assert scheduled(made, 1, overhead=0.5, network=100).seconds == 2 + 10 + 4 * 2


def test_a_larger_lake_has_more_jobs_and_a_longer_serial_part() -> None:
    made = scaled(stage([1, 2], [], serial=3), 2.5)
    assert [task.seconds for task in made.calls[0]] == [1, 2, 1, 2, 1]
    assert (made.serial, made.calls[1]) == (7.5, ())
    assert scheduled(made, 64, overhead=0, network=1).limit == "the driver"
