"""What happens at the brewery: orders, deliveries and invoices by year, brewing and its checks."""

from datetime import date, timedelta
from random import Random

from dovetail.sample.draw import day, money, near, skewed
from dovetail.sample.table import Row, SampleTable, Tables, by_name, table

_ORDER = "order_no int | customer_no int | ordered_on date | status text | order_total money"
_LINE = "order_no int | line_no int | beer_code text | kegs int | price money"
_DELIVERY = "delivery_no int | order_no int | driver_no int | delivered_on date | kilometres int"
_ORDERS_A_YEAR = 220
YEARS = (2021, 2022, 2023, 2024)


def movement_tables(rng: Random, masters: Tables) -> Tables:
    """Draw orders and what follows from them, and the brewing."""
    customers = masters["customers"].column("customer_no")
    beers = masters["beers"].column("beer_code")
    years = {
        year: orders(f"orders_{year}", rng, customers, year, first=year * 10_000) for year in YEARS
    }
    batches = _batches(rng, beers, masters["tanks"].column("tank_no"))
    # The current year stands in `orders`, as most systems have it; past years were moved away.
    current = SampleTable("orders", years[2024].columns, years[2024].rows)
    placed = [number for table_ in years.values() for number in table_.column("order_no")]
    invoices = _invoices(rng, current)
    drivers = masters["employees"].column("employee_no")
    return by_name(
        current,
        *(years[year] for year in YEARS[:-1]),
        order_lines("order_lines", rng, placed, beers),
        *(_deliveries(rng, years[year], year, drivers) for year in YEARS[1:]),
        invoices,
        _payments(rng, invoices),
        batches,
        _checks(rng, batches),
    )


def orders(name: str, rng: Random, customers: list[int], year: int, *, first: int) -> SampleTable:
    """The orders of one year, numbered from `first`."""
    rows = []
    for number, customer in enumerate(skewed(rng, customers, _ORDERS_A_YEAR), 1):
        placed = day(rng, date(year, 1, 2), date(year, 12, 20))
        status = rng.choices(("delivered", "open", "cancelled"), (8, 1, 1))[0]
        rows.append((first + number, customer, placed, status, money(rng, 80, 4_000)))
    return table(name, _ORDER, rows)


def order_lines(name: str, rng: Random, placed: list[int], beers: list[str]) -> SampleTable:
    """One to three lines for each order."""
    rows: list[Row] = []
    for number in placed:
        for line, beer in enumerate(rng.sample(beers, rng.randint(1, 3)), 1):
            rows.append((number, line, beer, rng.randint(1, 40), money(rng, 60, 140)))
    return table(name, _LINE, rows)


def _deliveries(rng: Random, placed: SampleTable, year: int, drivers: list[int]) -> SampleTable:
    rows = []
    for number, (order, _, ordered, status, _) in enumerate(placed.rows, 1):
        if status == "delivered":
            arrived = min(ordered + timedelta(days=rng.randint(1, 9)), date(year, 12, 31))
            driver = rng.choice(drivers)
            rows.append((year * 10_000 + number, order, driver, arrived, rng.randint(3, 180)))
    return table(f"deliveries_{year}", _DELIVERY, rows)


def _invoices(rng: Random, placed: SampleTable) -> SampleTable:
    rows = []
    for number, (order, customer, ordered, _, total) in enumerate(placed.rows, 1):
        issued = ordered + timedelta(days=rng.randint(0, 5))
        rows.append((90_000 + number, order, customer, issued, issued + timedelta(30), total))
    return table(
        "invoices",
        "invoice_no int | order_no int | customer_no int | issued_on date | due_on date"
        " | amount money",
        rows,
    )


def _payments(rng: Random, invoices: SampleTable) -> SampleTable:
    rows = []
    for number, (invoice, _, _, issued, _, amount) in enumerate(invoices.rows, 1):
        if rng.random() < 0.85:
            rows.append((number, invoice, issued + timedelta(days=rng.randint(3, 70)), amount))
    return table("payments", "payment_no int | invoice_no int | paid_on date | paid money", rows)


def _batches(rng: Random, beers: list[str], tanks: list[str]) -> SampleTable:
    rows = []
    for number in range(1, 181):
        brewed = day(rng, date(2023, 1, 5), date(2024, 6, 15))
        litres = rng.randrange(1_800, 9_000, 50)
        rows.append((f"G{number:04}", rng.choice(beers), rng.choice(tanks), brewed, litres))
    return table(
        "batches",
        "batch_no text | beer_code text | tank_no text | brewed_on date | litres int",
        rows,
    )


def _checks(rng: Random, batches: SampleTable) -> SampleTable:
    rows = []
    for batch, _, _, brewed, _ in batches.rows:
        for round_ in range(rng.randint(1, 3)):
            ph = near(rng, 4.3, 0.2, low=3.6, high=5.2)
            passed = rng.random() < 0.93
            rows.append((batch, brewed + timedelta(days=7 * (round_ + 1)), ph, passed))
    return table(
        "quality_checks", "batch_no text | checked_on date | acidity_ph real | passed bool", rows
    )
