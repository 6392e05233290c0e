"""What a question loads: nothing that only other commands need."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import dovetail

# Modules of ours that a question may load.
_MOST = 110

_ASK = """
import json, sys
from dovetail import cli
sys.argv = ["dovetail", "ask", "Which products are in the orders of 2023?", "--json"]
try:
    cli.main()
except SystemExit as done:
    assert not done.code, done.code
finally:
    print(json.dumps([*sys.modules]), file=sys.stderr)
"""


def test_a_question_loads_little(sample: dovetail.Catalog) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "DOVETAIL_CATALOG": str(sample.folder)},
    )
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert [table["name"] for table in json.loads(done.stdout)["tables"]]
    assert not {"pandas", "sqlglot", "duckdb", "rich"} & set(loaded)
    own = [name for name in loaded if name.split(".")[0] == "dovetail"]
    assert len(own) <= _MOST, sorted(own)
