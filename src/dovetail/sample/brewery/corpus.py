"""Draw the brewery's pile and write each table into the place it belongs in."""

from pathlib import Path
from random import Random

from dovetail.sample import render
from dovetail.sample.brewery.leftovers import exported_tables, leftover_tables, readings
from dovetail.sample.brewery.masters import customers, master_tables
from dovetail.sample.brewery.movements import movement_tables, order_lines, orders
from dovetail.sample.draw import full_names
from dovetail.sample.table import Tables, by_name, table
from dovetail.sample.vocabulary import CITIES

OWN, BOUGHT, EXPORTS = "brewery.sqlite", "taprooms.duckdb", "exports"
_READ = ((2023, range(7, 13)), (2024, range(1, 7)))


def draw_brewery(*, seed: int = 7) -> dict[str, Tables]:
    """The tables of each source, but for the readings in their folders."""
    masters = master_tables(_rng(seed, "masters"))
    own = masters | movement_tables(_rng(seed, "movements"), masters)
    own |= leftover_tables(_rng(seed, "leftovers"), own)
    return {
        OWN: own,
        BOUGHT: _taprooms(_rng(seed, "taprooms")),
        EXPORTS: exported_tables(_rng(seed, "exports"), own["customers"]),
    }


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
    rng, tanks = _rng(seed, "readings"), drawn[OWN]["tanks"].column("tank_no")
    for year, months in _READ:
        for month in months:
            folder = exports / "tank_readings" / f"year={year}" / f"month={month:02}"
            folder.mkdir(parents=True, exist_ok=True)
            render.write_parquet(folder / "part-0.parquet", readings(rng, tanks, year, month))
    return tuple(into / source for source in (OWN, BOUGHT, EXPORTS))


def _taprooms(rng: Random) -> Tables:
    """The chain that was bought: its own guests, drinks, venues and orders."""
    guests = customers("customers", rng, 9_000_001, 250)
    drinks = [f"TAP-{number:03}" for number in range(1, 31)]
    placed = orders("orders", rng, guests.column("customer_no"), 2024, first=7_000_000)
    venues = [(f"V{place:02}", f"{city} Taproom", city) for place, city in enumerate(CITIES[:8], 1)]
    shifts = [
        (place, name, rng.choice(venues)[0], rng.choice(("early", "late")))
        for place, name in enumerate(full_names(rng, 40), 1)
    ]
    return by_name(
        guests,
        placed,
        order_lines("order_lines", rng, placed.column("order_no"), drinks),
        table("drinks", "beer_code text | drink text", ((code, f"tap {code}") for code in drinks)),
        table("venues", "venue_code text | venue_name text | city text", venues),
        table("shifts", "shift_no int | bartender text | venue_code text | shift text", shifts),
    )


def _rng(seed: int, part: str) -> Random:
    return Random(f"{seed}/brewery/{part}")  # noqa: S311  a seeded corpus, no secret
