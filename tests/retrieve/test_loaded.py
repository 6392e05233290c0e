"""What a question loads: nothing that only other commands need."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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


def test_a_worker_and_a_query_load_no_pandas(tmp_path: Path) -> None:
    """Arrow and DuckDB look for it at their first conversion."""
    (tmp_path / "lake").mkdir()
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", None], "day": days, "share": [0.5, 1, 2]})
    pq.write_table(rows, tmp_path / "lake" / "t.parquet")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('pandas', 'duckdb'):\n"
        f"            print(sys.argv[0], name, file=open({str(tmp_path / 'loaded')!r}, 'a'))\n"
        "sys.meta_path.insert(0, Watch())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for arguments in (["index", "lake"], ["sql", "SELECT count(*) FROM t"]):
        command = [sys.executable, "-m", "dovetail", *arguments, "-C", "catalog"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    loaded = (line.split() for line in (tmp_path / "loaded").read_text().splitlines())
    workers = {(Path(program).parent.name, name) for program, name in loaded}
    own = {(program, name) for program, name in workers if program != "dovetail"}
    assert own == {("engines", "duckdb"), ("answer", "duckdb")}
