"""What a query may have, be it read of a question or given by a program."""

from __future__ import annotations

# What a query may have of each part, be they read of a question or given by a program: one bound
# for both, as what is read is given back. Values of a condition, rows, and digits of a number.
MOST = {
    "select": 100, "where": 100, "group": 100, "having": 10, "order": 20, "absent": 20,
    "counted": 20, "open": 200,
}  # fmt: skip
MOST_VALUES, MOST_ROWS, NUMBER = 100, 1_000_000, r"[0-9]{1,30}(\.[0-9]{1,30})?"
