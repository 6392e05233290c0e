"""The energy utility: customers, tariffs, meters on feeders, invoices, outages, smart readings."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, moment, near, skewed
from dovetail.sample.render import Row, SampleTable, Tables, by_name, table
from dovetail_bench.corpora.estate import address

LOSS_STATEMENT = (
    "regulatory_compliance_annual_statement_of_network_losses_by_feeder_and_voltage_level_revised"
)
_TARIFFS = (
    ("T-ECO", "Eco Saver", "electricity", Decimal("7.90"), 0.2410),
    ("T-NIGHT", "Night Owl", "electricity", Decimal("9.50"), 0.1985),
    ("T-FLEX", "Flex Hourly", "electricity", Decimal("5.00"), 0.2730),
    ("T-BIZ", "Business Base", "electricity", Decimal("24.00"), 0.2205),
    ("T-GAS", "Warm Home", "gas", Decimal("11.20"), 0.0940),
    ("T-GASPRO", "Warm Works", "gas", Decimal("29.00"), 0.0815),
)
_SUBSTATIONS = ("Weirside", "Old Foundry", "Heath Gate", "Docklands")
_CAUSES = ("storm", "cable fault", "excavator", "planned work", "animal", "overload")


def utility_tables(rng: Random, building_codes: list[str]) -> Tables:
    """Draw the domain's tables; meters hang in the estate's buildings."""
    customers, feeders = _customers(rng), _feeders(rng)
    meters = _meters(rng, customers, building_codes, feeders.column("feeder_no"))
    return by_name(
        customers,
        table(
            "tariffs",
            "tariff_code text | tariff_name text | energy text | base_fee money"
            " | price_per_kwh real",
            _TARIFFS,
        ),
        feeders,
        meters,
        _invoices(rng, meters.column("meter_id")),
        _outages(rng, feeders.column("feeder_no")),
        _losses(rng, feeders.column("feeder_no")),
        _readings(rng, meters),
        table(
            "system_settings",
            "settings_version int | utility_name text | billing_day int | changed_at time",
            [(3, "Meridian Energy", 5, datetime(2023, 12, 18, 9, 30))],
        ),
    )


def _customers(rng: Random) -> SampleTable:
    codes = [code for code, *_ in _TARIFFS]
    rows = []
    for customer_no, name in enumerate(full_names(rng, 280), start=6001):
        tariff = rng.choices(codes, (30, 20, 10, 8, 25, 7))[0]
        since, city = day(rng, date(2004, 1, 1), date(2022, 12, 1)), rng.choice(CITIES)
        rows.append((customer_no, name, address(rng), city, tariff, since))
    return table(
        "customers",
        "customer_no int | customer_name text | street text | city text | tariff_code text"
        " | since date",
        rows,
    )


def _feeders(rng: Random) -> SampleTable:
    rows = []
    for feeder_no in range(1, 17):
        substation = _SUBSTATIONS[feeder_no % len(_SUBSTATIONS)]
        voltage, capacity = rng.choice((10, 20)), rng.choice((400, 630, 1000))
        rows.append((feeder_no, f"{substation} {feeder_no}", substation, voltage, capacity))
    return table(
        "feeders",
        "feeder_no int | feeder_name text | substation text | voltage_kv int | capacity_kw int",
        rows,
    )


def _meters(
    rng: Random, customers: SampleTable, buildings: list[str], feeders: list[int]
) -> SampleTable:
    energy_of = {code: energy for code, _, energy, *_ in _TARIFFS}
    tariff_of = customers.mapping("customer_no", "tariff_code")
    owners = list(tariff_of) + rng.sample(list(tariff_of), 70)
    rows = []
    for number, customer in enumerate(owners, start=1):
        medium = energy_of[tariff_of[customer]]
        installed, smart = day(rng, date(2003, 1, 1), date(2022, 12, 1)), rng.random() < 0.45
        building = rng.choice(buildings)
        feeder = rng.choice(feeders) if medium == "electricity" else None
        rows.append((f"MTR-{number:05}", customer, building, feeder, medium, installed, smart))
    return table(
        "meters",
        "meter_id text | customer_no int | building_code text | feeder_no int | medium text"
        " | installed_on date | smart bool",
        rows,
    )


def _invoices(rng: Random, meters: list[str]) -> SampleTable:
    rows: list[Row] = []
    for meter in meters:
        usage = rng.lognormvariate(5.6, 0.5)
        for quarter in rng.sample((1, 4, 7, 10), rng.randint(2, 4)):
            kwh = near(rng, usage, usage / 6, low=5, high=9000)
            amount = Decimal(round(kwh * 23)).scaleb(-2) + Decimal("8.50")
            number, paid = f"IN-{100_001 + len(rows)}", rng.random() < 0.9
            rows.append((number, meter, date(2023, quarter, 1), kwh, amount, paid))
    return table(
        "invoices",
        "invoice_no text | meter_id text | period_start date | kwh real | amount money | paid bool",
        rows,
    )


def _outages(rng: Random, feeders: list[int]) -> SampleTable:
    rows = []
    for outage_no, feeder in enumerate(skewed(rng, feeders, 110), start=1):
        began = moment(rng, date(2024, 1, 1), date(2024, 6, 30))
        ended = began + timedelta(minutes=rng.randint(4, 900))
        rows.append((outage_no, feeder, began, ended, rng.choice(_CAUSES), rng.randint(3, 900)))
    return table(
        "2024_outages",
        "outage_no int | feeder_no int | began_at time | ended_at time | cause text"
        " | customers_hit int",
        rows,
    )


def _losses(rng: Random, feeders: list[int]) -> SampleTable:
    rows = []
    for year in (2021, 2022, 2023):
        for feeder in feeders:
            filed = day(rng, date(year + 1, 2, 1), date(year + 1, 3, 31))
            fed = near(rng, 2400, 500, low=600, high=4200)
            rows.append((feeder, year, fed, near(rng, 4.2, 1.1, low=1, high=9), filed))
    return table(
        LOSS_STATEMENT,
        "feeder_no int | statement_year int | energy_fed_mwh real | loss % real | filed_on date",
        rows,
    )


def _readings(rng: Random, meters: SampleTable) -> SampleTable:
    smart = [row[0] for row in meters.rows if row[-1]]
    rows = []
    for meter in sorted(rng.sample(smart, 100)):
        kwh = rng.uniform(900, 30_000)
        for offset in range(20):
            kwh += rng.uniform(1, 22)
            quality = rng.choices(("measured", "estimated"), (19, 1))[0]
            read_at = datetime(2024, 6, 1) + timedelta(days=offset)
            rows.append((meter, read_at, round(kwh, 2), quality))
    return table("meter_readings", "meter_id text | read_at time | kwh real | quality text", rows)
