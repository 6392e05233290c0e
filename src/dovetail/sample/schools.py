"""City schools: districts down to buildings, staff, scores, meals and events."""

from datetime import date
from random import Random

from dovetail.sample.draw import COUNTIES, day, full_names, money, near
from dovetail.sample.table import SampleTable, Tables, by_name, table

_PUPILS = {"Elementary": 380, "Middle": 540, "High": 920}
_NAMESAKES = (
    "Maple Grove", "Brookside", "Lantern Hill", "Willow Creek", "Granite Peak", "Bluebell",
    "Meadow", "Sandpiper", "Foxglove", "Old Mill", "Hawthorn", "Clearwater", "Juniper",
    "Kingfisher", "Summit", "Harbour View", "Larch", "Orchard", "Beacon", "Silver Birch", "Heather",
    "Ferry Lane", "Stargazer", "Windmill", "Copper Beech", "Swallowtail", "Rowan", "Moonrise",
    "Bramble", "Cobble",
)  # fmt: skip
_EVENTS = {
    "Science Fair": "academic",
    "Spelling Bee": "academic",
    "Spring Concert": "music",
    "Harvest Fair": "community",
    "Track Meet": "sports",
    "Chess Open": "sports",
    "Career Day": "community",
    "Winter Play": "theatre",
}
_PROVIDERS = ("Greenplate", "Sunny Spoon", "Ladle & Co", "in-house")
_MOTTOS = ("Learn by doing", "Curious together", "Reach further", "Kind and brave", "Steady hands")


def school_tables(rng: Random) -> Tables:
    """Draw the domain's tables."""
    districts = _districts(rng)
    schools = _schools(rng, districts)
    ids: list[int] = schools.column("school_id")
    return by_name(
        districts,
        schools,
        _buildings(rng, ids),
        _test_scores(rng, ids),
        _meal_programs(rng, ids),
        _staff(rng, ids),
        _events(rng, ids),
        _school_profile(rng, schools),
        table("closure_orders", "school_id int | ordered_on date | reason text"),
    )


def _districts(rng: Random) -> SampleTable:
    rows = []
    heads = iter(full_names(rng, 3 * len(COUNTIES)))
    for county in COUNTIES:
        for number, part in enumerate(("Unified", "North", "Rural")[: rng.randint(2, 3)], start=1):
            code = f"{county[:3].upper()}-{number:02}"
            founded = day(rng, date(1921, 1, 1), date(1978, 12, 31))
            budget = money(rng, 4_000_000, 60_000_000)
            rows.append((code, f"{county} {part}", county, next(heads), founded, budget))
    return table(
        "districts",
        "district_code text | district_name text | county text | superintendent text"
        " | founded date | annual_budget money",
        rows,
    )


def _schools(rng: Random, districts: SampleTable) -> SampleTable:
    county_of = districts.mapping("district_code", "county")
    names = [(name, level) for name in _NAMESAKES for level in _PUPILS]
    rows = []
    for school_id, (name, level) in enumerate(rng.sample(names, len(names)), start=101):
        district = rng.choice(list(county_of))
        city = rng.choice(COUNTIES[county_of[district]])
        opened = day(rng, date(1948, 8, 1), date(2016, 9, 1))
        pupils = int(near(rng, _PUPILS[level], 140, low=90, high=1900))
        charter = rng.random() < 0.2
        rows.append((school_id, district, f"{name} {level}", city, level, charter, opened, pupils))
    return table(
        "schools",
        "school_id int | district_code text | school_name text | city text | level text"
        " | charter bool | opened date | enrolment int",
        rows,
    )


def _buildings(rng: Random, ids: list[int]) -> SampleTable:
    rows = []
    for building_no, school_id in enumerate(sorted(ids + rng.sample(ids, 45)), start=1):
        condition = rng.choices(("good", "fair", "poor"), (5, 3, 1))[0]
        area = near(rng, 3200, 1400, low=300, high=9000)
        inspected = day(rng, date(2021, 1, 1), date(2024, 6, 30))
        year, floors = rng.randint(1935, 2018), rng.randint(1, 4)
        rows.append((building_no, school_id, year, floors, area, condition, inspected))
    return table(
        "buildings",
        "building_no int | school_id int | built_year int | floors int | area_sqm real"
        " | condition text | last_inspection date",
        rows,
    )


def _test_scores(rng: Random, ids: list[int]) -> SampleTable:
    rows = []
    for school_id in ids:
        strength = rng.gauss(505, 38)
        for year in (2022, 2023):
            for subject in ("Mathematics", "Reading", "Science"):
                score = near(rng, strength, 14, low=320, high=700)
                takers, passed = rng.randint(28, 240), round(min(0.99, score / 640), 3)
                rows.append((school_id, year, subject, takers, score, passed))
    return table(
        "test_scores",
        "school_id int | school_year int | subject text | takers int | avg_score real"
        " | pass_rate real",
        rows,
    )


def _meal_programs(rng: Random, ids: list[int]) -> SampleTable:
    rows = []
    for school_id in ids:
        for year in (2022, 2023):
            served, free = rng.randint(9_000, 90_000), round(rng.betavariate(2, 3), 3)
            # The kitchens' system keeps school numbers as text.
            rows.append((str(school_id), year, served, free, rng.choice(_PROVIDERS)))
    return table(
        "meal_programs",
        "school_code text | school_year int | meals_served int | free_share real | provider text",
        rows,
    )


def _staff(rng: Random, ids: list[int]) -> SampleTable:
    rows: list[tuple[object, ...]] = []
    names = iter(full_names(rng, 4 * len(ids)))
    for school_id in ids:
        principal = 2001 + len(rows)
        roles = rng.choices(("teacher", "counsellor", "nurse", "caretaker"), (7, 1, 1, 1), k=3)
        for staff_id, role in enumerate(["principal", *roles][: rng.randint(3, 4)], principal):
            manager = None if staff_id == principal else principal
            salary = money(rng, 74_000, 98_000) if manager is None else money(rng, 31_000, 68_000)
            hired = day(rng, date(1996, 8, 1), date(2023, 9, 1))
            rows.append((staff_id, next(names), school_id, role, hired, salary, manager))
    return table(
        "staff",
        "staff_id int | full_name text | school_id int | role text | hired_on date"
        " | salary money | manager_id int",
        rows,
    )


def _events(rng: Random, ids: list[int]) -> SampleTable:
    rows = []
    for event_id in range(1, 231):
        title = rng.choice(list(_EVENTS))
        held_on = day(rng, date(2022, 9, 1), date(2024, 6, 20))
        guests = rng.randint(20, 700)
        rows.append((event_id, rng.choice(ids), title, _EVENTS[title], held_on, guests))
    return table(
        "events",
        "event_id int | school_id int | title text | kind text | held_on date | attendance int",
        rows,
    )


def _school_profile(rng: Random, schools: SampleTable) -> SampleTable:
    rows = []
    for school_id, name in schools.mapping("school_id", "school_name").items():
        site = f"https://{name.lower().replace(' ', '-')}.example"
        facts = {"mascot": rng.choice(("otter", "heron", "owl")), "clubs": rng.randint(2, 19)}
        rows.append((school_id, site, rng.choice(_MOTTOS), rng.random() < 0.7, facts))
    return table(
        "school_profile",
        "school_id int | website text | motto text | has_library bool | facts json",
        rows,
    )
