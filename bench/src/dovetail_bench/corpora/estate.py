"""Real estate: buildings and units, their owners, tenants and agents, leases and appraisals."""

from collections import Counter
from datetime import date, timedelta
from random import Random

from dovetail.sample.draw import COUNTIES, day, full_names, money, near, pairs, skewed
from dovetail.sample.render import Row, SampleTable, Tables, by_name, table

STREETS: tuple[str, ...] = (
    "Mill Lane", "Harbour Road", "Station Street", "Orchard Way", "Bridge Street", "Kiln Row",
    "Chapel Hill", "Willow Avenue", "Market Square", "Lantern Court", "Foundry Road", "Heath Drive",
    "Saddler's Walk", "Beacon Street", "Weir Lane", "Juniper Close", "Tannery Yard", "Long Acre",
)  # fmt: skip
_HOUSES = ("Court", "House", "Lofts", "Terrace", "Gardens", "Yard")
_NAMES = (
    "Alder", "Bellflower", "Cornerstone", "Dovecote", "Elder", "Falcon", "Gable", "Hopfield",
    "Ivory", "Jetty", "Kiln", "Linden", "Mulberry", "Nightingale", "Orchid", "Peacock", "Quince",
    "Rosewood", "Spindle", "Tulip",
)  # fmt: skip
_TOPICS = ("roof repair", "heating", "budget", "house rules", "bicycle room", "façade")


def address(rng: Random) -> str:
    """A street with a house number."""
    return f"{rng.randint(1, 180)} {rng.choice(STREETS)}"


def estate_tables(rng: Random) -> Tables:
    """Draw the domain's tables."""
    buildings = _buildings(rng)
    codes: list[str] = buildings.column("building_code")
    units, people = _units(rng, codes), _people(rng)
    refs_of = {
        role: [row[0] for row in people.rows if row[2] == role]
        for role in ("owner", "tenant", "agent")
    }
    owned = pairs(rng, units.column("unit_id"), sorted(set(refs_of["owner"])), 460)
    owners = Counter(unit for unit, _ in owned)
    return by_name(
        buildings,
        units,
        people,
        table(
            "r_17",
            "a_id int | b_id text | pct int",
            ((unit, owner, 100 // owners[unit]) for unit, owner in owned),
        ),
        _leases(rng, owned, sorted(set(refs_of["tenant"]))),
        _listings(rng, units.column("unit_id"), sorted(set(refs_of["agent"]))),
        _values(rng, codes),
        _meetings(rng, codes),
    )


def _buildings(rng: Random) -> SampleTable:
    names = iter(rng.sample([f"{name} {house}" for name in _NAMES for house in _HOUSES], 110))
    rows = []
    for county, cities in COUNTIES.items():
        for number in range(1, 23):
            code = f"{county[:3].upper()}-{number:03}"
            lat, lon = round(rng.uniform(51, 53), 5), round(rng.uniform(7, 9), 5)
            built, floors = rng.randint(1890, 2022), rng.randint(1, 14)
            use = rng.choices(("residential", "mixed", "office"), (6, 3, 1))[0]
            place = (address(rng), rng.choice(cities))
            rows.append((code, next(names), *place, lat, lon, built, floors, use, None))
    return table(
        "buildings",
        "building_code text | building_name text | street text | city text | geo.lat real"
        " | geo.lon real | year_built int | floors int | use text | demolished_on date",
        rows,
    )


def _units(rng: Random, codes: list[str]) -> SampleTable:
    rows: list[Row] = []
    for code in codes:
        for unit_no in range(1, rng.randint(3, 7)):
            rooms, filled = rng.randint(1, 6), rng.choice((0, 50, 100, 100, 100))
            size = near(rng, 24 * rooms, 8, low=16, high=210)
            rows.append((1001 + len(rows), code, unit_no, rng.randint(0, 9), rooms, size, filled))
    return table(
        "units",
        "unit_id int | building_code text | unit_no int | floor int | rooms int"
        ' | size "net" real | occupancy % int',
        rows,
    )


def _people(rng: Random) -> SampleTable:
    rows = []
    for number, name in enumerate(full_names(rng, 240), start=1):
        role = rng.choices(("owner", "tenant", "agent"), (10, 10, 1))[0]
        since = day(rng, date(2008, 1, 1), date(2024, 1, 1))
        rows.append((f"P-{number:04}", name, role, f"555-{rng.randint(1000, 9999)}", since))
    # The register took six people in twice, the second time with a new telephone number.
    twice = [(*row[:3], f"555-{rng.randint(1000, 9999)}", row[4]) for row in rng.sample(rows, 6)]
    return table(
        "people",
        "person_ref text | full_name text | role text | phone text | known_since date",
        sorted(rows + twice),
    )


def _leases(rng: Random, owned: list[tuple[int, str]], tenants: list[str]) -> SampleTable:
    rows = []
    for number, tenant in enumerate(skewed(rng, tenants, 360), start=1):
        unit, owner = rng.choice(owned)
        starts = day(rng, date(2019, 1, 1), date(2024, 5, 1))
        ends = starts + timedelta(days=365 * rng.randint(1, 4)) if rng.random() < 0.6 else None
        rows.append((f"L{number:04}", unit, tenant, owner, starts, ends, money(rng, 380, 2600)))
    return table(
        "leases",
        "lease_no text | unit_id int | tenant_ref text | owner's ref text | starts_on date"
        " | ends_on date | monthly_rent money",
        rows,
    )


def _listings(rng: Random, units: list[int], agents: list[str]) -> SampleTable:
    rows = []
    for number, unit in enumerate(rng.sample(units, 140), start=1):
        features = {"balcony": rng.random() < 0.5, "parking": rng.randint(0, 2)}
        photo = b"\xff\xd8\xff" + rng.randbytes(16) if rng.random() < 0.7 else None
        listed, asked = day(rng, date(2023, 1, 1), date(2024, 6, 1)), money(rng, 60_000, 900_000)
        sold = rng.random() < 0.4
        rows.append((number, unit, rng.choice(agents), asked, listed, sold, features, photo))
    return table(
        "listings",
        "listing_no int | unit_id int | agent_ref text | asking_price money | listed_on date"
        " | sold bool | features json | photo blob",
        rows,
    )


def _values(rng: Random, codes: list[str]) -> SampleTable:
    dates = (date(2020, 1, 1), date(2022, 1, 1), date(2024, 1, 1))
    rows = [(code, valued, money(rng, 200_000, 9_000_000)) for code in codes for valued in dates]
    return table('value "as is"', "building_code text | valued_on date | appraised money", rows)


def _meetings(rng: Random, codes: list[str]) -> SampleTable:
    rows = []
    for number in range(1, 151):
        held = day(rng, date(2022, 1, 10), date(2024, 6, 10))
        code, topic = rng.choice(codes), rng.choice(_TOPICS)
        rows.append((number, code, held, topic, rng.randint(2, 30), rng.random() < 0.65))
    return table(
        "owners' meetings",
        "meeting_no int | building_code text | held_on date | topic text | present int"
        " | agreed bool",
        rows,
    )
