"""What a pile collects beside its tables: backups, loading tables, histories, saved versions."""

from datetime import date, timedelta
from decimal import Decimal
from random import Random

from dovetail.sample.draw import money
from dovetail.sample.table import Row, SampleTable, Tables, by_name, table


def leftover_tables(rng: Random, tables: Tables) -> Tables:
    """Copies, parts and versions of the brewery's own tables."""
    customers, beers, orders = tables["customers"], tables["beers"], tables["orders"]
    prices, history = _prices(rng, beers.column("beer_code"))
    return by_name(
        _some("customers_bak_20230601", customers, slice(0, 340)),
        _some("stg_customers", customers, slice(300, 400)),
        _some("beers_old", beers, slice(0, 12)),
        _some("orders_tmp", orders, slice(0, 60)),
        _some("employees_test", tables["employees"], slice(0, 8)),
        _some("invoices_copy", tables["invoices"], slice(0, 200)),
        _some("batches_backup", tables["batches"], slice(0, 150)),
        prices,
        history,
    )


def exported_tables(rng: Random, customers: SampleTable) -> Tables:
    """What people saved as files, often more than once."""
    contacts = _contacts(rng, customers.column("customer_no"))
    survey = _survey(rng)
    return by_name(
        contacts,
        _some("crm_contacts (1)", contacts, slice(0, None)),
        _some("crm_contacts_2023-11-30", contacts, slice(0, 210)),
        _some("festival_survey_FINAL", survey, slice(0, 150)),
        _some("festival_survey_FINAL_v2", survey, slice(0, None)),
        *(_budget(rng, year) for year in (2022, 2023, 2024)),
    )


def readings(rng: Random, tanks: list[str], year: int, month: int) -> SampleTable:
    """The tanks' readings of one month."""
    first = date(year, month, 1)
    rows = [
        (tank, first + timedelta(days=place), round(rng.uniform(2, 22), 1), rng.randint(80, 240))
        for tank in tanks
        for place in range(0, 28, 3)
    ]
    return table(
        "tank_readings", "tank_no text | read_on date | temperature real | pressure_kpa int", rows
    )


def _some(name: str, of: SampleTable, rows: slice) -> SampleTable:
    return SampleTable(name, of.columns, of.rows[rows])


def _prices(rng: Random, beers: list[str]) -> tuple[SampleTable, SampleTable]:
    current: list[Row] = []
    history: list[Row] = []
    for beer in beers:
        price, since = money(rng, 60, 120), date(2021, 1, 1)
        for _ in range(rng.randint(2, 4)):
            until = since + timedelta(days=rng.randint(120, 400))
            history.append((beer, price, since, until))
            price, since = price + Decimal("2.50"), until
        history.append((beer, price, since, None))
        current.append((beer, price))
    return (
        table("price_list", "beer_code text | keg_price money", current),
        table(
            "price_list_hist",
            "beer_code text | keg_price money | valid_from date | valid_to date",
            history,
        ),
    )


def _contacts(rng: Random, customers: list[int]) -> SampleTable:
    rows = []
    for number, customer in enumerate(rng.sample(customers, 240), 1):
        consent = rng.choice(("yes", "no"))
        rows.append((f"contact{number}@example.org", customer, consent, rng.randint(0, 40)))
    return table(
        "crm_contacts", "email text | customer_no int | newsletter text | mails_opened int", rows
    )


def _survey(rng: Random) -> SampleTable:
    rows = [
        (number, f"contact{rng.randint(1, 240)}@example.org", rng.randint(1, 10))
        for number in range(1, 181)
    ]
    return table(
        "festival_survey_FINAL", "response_no int | email text | satisfaction_score int", rows
    )


def _budget(rng: Random, year: int) -> SampleTable:
    places = ("marketing", "brewing", "logistics", "administration")
    rows = [
        (place, date(year, month, 1), money(rng, 2_000, 60_000))
        for place in places
        for month in range(1, 13)
    ]
    return table(f"budget_{year}", "cost_center text | month date | planned_cost money", rows)
