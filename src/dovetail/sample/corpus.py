"""Draw every domain of the sample corpus and write each table into the file it belongs in."""

from pathlib import Path
from random import Random

from dovetail.sample import render
from dovetail.sample.estate import estate_tables
from dovetail.sample.hospital import hospital_tables
from dovetail.sample.library import library_tables
from dovetail.sample.railway import railway_tables
from dovetail.sample.schools import school_tables
from dovetail.sample.shop import shop_tables
from dovetail.sample.table import SampleTable, Tables
from dovetail.sample.university import university_tables
from dovetail.sample.utilities import utility_tables
from dovetail.sample.warehouse import warehouse_tables

_SOURCES = {
    "schools": "civic.sqlite",
    "railway": "civic.sqlite",
    "hospital": "hospital.db",
    "shop": "shop.sqlite",
    "warehouse": "warehouse.duckdb",
    "estate": "city.duckdb",
    "utilities": "city.duckdb",
    "library": "exports",
    "university": "lake",
}
# Tables that left their system as an export or a feed.
_ELSEWHERE = {
    ("shop", "shop_customers"): "exports",
    ("shop", "events"): "events.jsonl",
    ("utilities", "meter_readings"): "lake",
}
_TABBED = {"loans"}


def draw_corpus(*, seed: int = 7) -> dict[str, Tables]:
    """The tables of every domain; each domain has its own generator, so none disturbs another."""

    def rng(domain: str) -> Random:
        return Random(f"{seed}/{domain}")  # noqa: S311  a seeded corpus, no secret

    schools = school_tables(rng("schools"))
    warehouse = warehouse_tables(rng("warehouse"), schools["schools"].column("school_id"))
    estate = estate_tables(rng("estate"))
    university = university_tables(rng("university"))
    return {
        "schools": schools,
        "railway": railway_tables(rng("railway")),
        "hospital": hospital_tables(rng("hospital")),
        "shop": shop_tables(rng("shop"), warehouse["items"], warehouse["shipments"]),
        "warehouse": warehouse,
        "estate": estate,
        "utilities": utility_tables(rng("utilities"), estate["buildings"].column("building_code")),
        "library": library_tables(rng("library"), university["students"].column("student_no")),
        "university": university,
    }


def write_corpus(into: Path, *, seed: int = 7) -> tuple[Path, ...]:
    """Write the sample corpus below `into` and return the sources (files and folders) to index."""
    contents: dict[str, list[SampleTable]] = {}
    for domain, tables in draw_corpus(seed=seed).items():
        for name, table in tables.items():
            source = _ELSEWHERE.get((domain, name), _SOURCES[domain])
            contents.setdefault(source, []).append(table)
    into.mkdir(parents=True, exist_ok=True)
    for source, drawn in contents.items():
        try:
            _write(into / source, drawn)
        except Exception as error:
            # A full disk, above all. DuckDB's error is known by its module: nothing here loads it.
            if type(error).__module__.partition(".")[0] not in ("sqlite3", "duckdb", "_duckdb"):
                raise
            raise OSError(0, str(error).splitlines()[0], str(into / source)) from None
    return tuple(into / source for source in sorted(contents))


def _write(source: Path, tables: list[SampleTable]) -> None:
    if source.suffix in (".sqlite", ".db"):
        render.write_sqlite(source, tables)
    elif source.suffix == ".duckdb":
        render.write_duckdb(source, tables)
    elif source.suffix == ".jsonl":
        for table in tables:
            render.write_json_lines(source, table)
    else:
        _write_folder(source, tables)


def _write_folder(source: Path, tables: list[SampleTable]) -> None:
    source.mkdir(exist_ok=True)
    for table in tables:
        if source.name == "lake":
            render.write_parquet(source / f"{table.name}.parquet", table)
        else:
            suffix = "tsv" if table.name in _TABBED else "csv"
            render.write_csv(source / f"{table.name}.{suffix}", table)
