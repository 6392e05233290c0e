"""Words that SQL does not take for the name of a table or column unless they are quoted.

Those that DuckDB 1.5 and SQLite 3 refuse, and those that sqlglot reads as something else. A test
tries every keyword of both engines, so a new version that reserves another word is noticed.
"""

from __future__ import annotations

_WORDS = """
add all alter analyse analyze and anti any array as asc asof asymmetric at authorization
autoincrement between binary both by case cast check collate collation column commit concurrently
constraint create cross current_date current_time current_timestamp default deferrable delete desc
describe distinct do drop else end escape except exists false fetch for force foreign freeze from
full glob grant group having if ilike in index initially inner insert install intersect into is
isnull join lambda lateral leading left like limit map natural not nothing notnull null offset on
only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify
raise references regexp returning revoke right rollback select semi set show similar some
summarize symmetric table tablesample then to trailing transaction true union unique unpack
unpivot update using values variadic verbose when where window with
"""
RESERVED_WORDS = frozenset(_WORDS.split())
