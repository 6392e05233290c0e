"""Draw every domain of the sample corpus and write each table into the file it belongs in."""

from pathlib import Path

from dovetail.sample import render
from dovetail.sample.draw import generator
from dovetail.sample.neighbours import draw_neighbours
from dovetail.sample.render import SampleTable, Tables
from dovetail_bench.corpora.estate import estate_tables
from dovetail_bench.corpora.hospital import hospital_tables
from dovetail_bench.corpora.library import library_tables
from dovetail_bench.corpora.railway import railway_tables
from dovetail_bench.corpora.university import university_tables
from dovetail_bench.corpora.utilities import utility_tables

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
    estate = estate_tables(generator(seed, "estate"))
    university = university_tables(generator(seed, "university"))
    codes = estate["buildings"].column("building_code")
    students = university["students"].column("student_no")
    neighbours = draw_neighbours(seed=seed)
    return {
        "schools": neighbours["schools"],
        "railway": railway_tables(generator(seed, "railway")),
        "hospital": hospital_tables(generator(seed, "hospital")),
        "shop": neighbours["shop"],
        "warehouse": neighbours["warehouse"],
        "estate": estate,
        "utilities": utility_tables(generator(seed, "utilities"), codes),
        "library": library_tables(generator(seed, "library"), students),
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
        _write(into / source, drawn)
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
