"""Draw the company: the brewery and its neighbours; write each table where it belongs."""

from pathlib import Path

from dovetail.sample import render
from dovetail.sample.brewery import BOUGHT, EXPORTS, OWN, draw_brewery, readings
from dovetail.sample.draw import generator
from dovetail.sample.schools import school_tables
from dovetail.sample.shop import shop_tables
from dovetail.sample.table import Tables
from dovetail.sample.warehouse import warehouse_tables

# The months whose readings of the tanks were exported.
_READINGS = ((2023, range(7, 13)), (2024, range(1, 7)))


def draw_neighbours(*, seed: int = 7) -> dict[str, Tables]:
    """The tables of the schools, the warehouse that delivers to them, and the web shop."""
    schools = school_tables(generator(seed, "schools"))
    warehouse = warehouse_tables(
        generator(seed, "warehouse"), schools["schools"].column("school_id")
    )
    items, shipments = warehouse["items"], warehouse["shipments"]
    shop = shop_tables(generator(seed, "shop"), items, shipments)
    return {"schools": schools, "shop": shop, "warehouse": warehouse}


def write_company(into: Path, *, seed: int = 7) -> tuple[Path, ...]:
    """Write the pile below `into` and return the sources (files and a folder) to index."""
    write_brewery(into, seed=seed)
    neighbours = draw_neighbours(seed=seed)
    shop = neighbours["shop"]
    customers, events = shop.pop("shop_customers"), shop.pop("events")
    render.write_sqlite(into / "civic.sqlite", neighbours["schools"].values())
    render.write_sqlite(into / "shop.sqlite", shop.values())
    render.write_duckdb(into / "warehouse.duckdb", neighbours["warehouse"].values())
    render.write_csv(into / EXPORTS / "shop_customers.csv", customers)
    render.write_json_lines(into / "events.jsonl", events)
    return tuple(sorted(into.iterdir()))


def write_brewery(into: Path, *, seed: int = 7) -> tuple[Path, ...]:
    """Write the pile below `into` and return the sources (files and a folder) to index."""
    drawn = draw_brewery(seed=seed)
    into.mkdir(parents=True, exist_ok=True)
    render.write_sqlite(into / OWN, drawn[OWN].values())
    render.write_duckdb(into / BOUGHT, drawn[BOUGHT].values())
    exports = into / EXPORTS
    exports.mkdir(exist_ok=True)
    for name, each in drawn[EXPORTS].items():
        render.write_csv(exports / f"{name}.csv", each)
    rng, tanks = generator(seed, "brewery/readings"), drawn[OWN]["tanks"].column("tank_no")
    for year, months in _READINGS:
        for month in months:
            folder = exports / "tank_readings" / f"year={year}" / f"month={month:02}"
            folder.mkdir(parents=True, exist_ok=True)
            render.write_parquet(folder / "part-0.parquet", readings(rng, tanks, year, month))
    return tuple(into / source for source in (OWN, BOUGHT, EXPORTS))
