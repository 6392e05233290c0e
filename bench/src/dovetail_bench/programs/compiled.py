"""What would a compiled kernel save? Inclusions of a lake with NumPy alone, and with Numba's merge.

    dovetail bench run compiled [--lake s3]

Needs Numba beside the project's own packages, and a lake that programs/joins.py has made. Both
ways find the same pairs (their number and checksum are compared); CPU seconds, compiling left out.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from dovetail.joins.inclusion import exact
from dovetail_bench.programs.join_lakes import LAKES, opened, summed


def compiled_containment() -> Any:
    """Whether every value of one sorted array is in another, by a loop that ends at the first that
    is not, and skips by doubling steps in the longer one."""
    from numba import njit

    def contained(inner: Any, outer: Any) -> bool:
        size, at = len(outer), 0
        if len(inner) >= size:
            return False
        for value in inner:
            step = 1
            while at + step < size and outer[at + step] <= value:
                at += step
                step *= 2
            while step:
                if at + step < size and outer[at + step] <= value:
                    at += step
                step //= 2
            if outer[at] != value:
                return False
        return True

    return njit(nogil=True)(contained)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lake", default="s3", choices=LAKES)
    columns = opened(LAKES[parser.parse_args().lake])
    list(columns.value_hashes)  # read before the clock starts
    kernel = compiled_containment()
    one = np.arange(3, dtype=np.uint64)
    kernel(one, one)
    found = {}
    for name, contained in (("numpy", exact._is_contained), ("numba", kernel)):  # noqa: SLF001
        exact._is_contained = contained  # noqa: SLF001
        for _ in range(2):  # the first reads the pages of the catalog
            started = time.process_time()
            found[name] = summed(exact.pairs(columns))
            print(f"{name}: {time.process_time() - started:.2f} CPU s, {found[name]}", flush=True)
    if found["numpy"] != found["numba"]:
        raise SystemExit("they do not agree")


if __name__ == "__main__":
    main()
