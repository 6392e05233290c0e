"""The company's pile: a brewery's own tables, most of them copies, parts or versions of others, and
its neighbours', each table written where it belongs."""

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

from dovetail.sample import render
from dovetail.sample.draw import CITIES, day, full_names, generator, money, near, skewed
from dovetail.sample.neighbours import draw_neighbours
from dovetail.sample.render import Row, SampleTable, Tables, by_name, rows_of, table

OWN, BOUGHT, EXPORTS = "brewery.sqlite", "taprooms.duckdb", "exports"
_HOUSES = ("Anchor", "Badger", "Crown", "Dolphin", "Eagle", "Fleece", "Greyhound", "Heron")
_TRADES = ("Arms", "Inn", "Tavern", "Stores", "Hotel", "Club")
_SEGMENTS = ("pub", "restaurant", "wholesaler", "supermarket", "festival")
_STYLES = ("pale ale", "stout", "porter", "pilsner", "wheat beer", "saison")
_BEERS = ("Amber Kite", "Black Weir", "Copper Fox", "Dawn Hop", "Even Keel", "Fen Lantern")
_JOBS = ("brewer", "driver", "sales representative", "clerk", "laboratory technician", "cooper")
_INGREDIENTS = (
    "pale malt", "crystal malt", "roasted barley", "wheat malt", "Saaz hops", "Cascade hops",
    "Fuggle hops", "ale yeast", "lager yeast", "coriander", "orange peel", "oats",
)  # fmt: skip
_CUSTOMER = (
    "customer_no int | customer_name text | city text | segment text | credit_limit money"
    " | opened_on date"
)


def master_tables(rng: Random) -> Tables:
    """Draw the masters, each once."""
    depots = _depots(rng)
    beers = _beers(rng)
    ingredients = _ingredients(rng)
    return by_name(
        _customers(rng),
        beers,
        depots,
        _employees(rng, depots.column("depot_code")),
        _tanks(rng),
        _suppliers(rng),
        ingredients,
        _recipes(rng, beers.column("beer_code"), ingredients.column("ingredient_no")),
    )


def customers(name: str, rng: Random, first: int, count: int) -> SampleTable:
    """A table of customers whose numbers begin at `first`."""
    rows = []
    for number in range(first, first + count):
        house = f"The {rng.choice(_HOUSES)} {rng.choice(_TRADES)}"
        opened = day(rng, date(2012, 1, 1), date(2024, 5, 31))
        segment = rng.choice(_SEGMENTS)
        limit = money(rng, 500, 20_000)
        rows.append((number, house, rng.choice(CITIES), segment, limit, opened))
    return table(name, _CUSTOMER, rows)


def _customers(rng: Random) -> SampleTable:
    return customers("customers", rng, 40_001, 400)


@rows_of("beers", "beer_code text | beer_name text | style text | abv real | bitterness int")
def _beers(rng: Random) -> Iterable[Row]:
    for number, name in enumerate(_BEERS * 3):
        strength = ("", " Strong", " Light")[number // len(_BEERS)]
        style = _STYLES[number % len(_STYLES)]
        abv = round(rng.uniform(2.5, 8.5), 1)
        yield f"B{number + 1:02}", name + strength, style, abv, rng.randint(10, 70)


@rows_of("depots", "depot_code text | depot_name text | city text | pallets int")
def _depots(rng: Random) -> Iterable[Row]:
    return [
        (f"D-{city[:3].upper()}", f"{city} depot", city, rng.randint(40, 400))
        for city in CITIES[:6]
    ]


@rows_of(
    "employees",
    "employee_no int | employee_name text | job text | depot_code text | hired_on date",
)
def _employees(rng: Random, depots: list[str]) -> Iterable[Row]:
    for number, name in enumerate(full_names(rng, 90), start=701):
        hired = day(rng, date(2005, 1, 1), date(2024, 4, 30))
        yield number, name, rng.choice(_JOBS), rng.choice(depots), hired


@rows_of("tanks", "tank_no text | hall text | capacity_litres int")
def _tanks(rng: Random) -> Iterable[Row]:
    return [
        (f"T{number:02}", rng.choice(("north hall", "south hall")), rng.choice((2000, 5000, 9000)))
        for number in range(1, 15)
    ]


@rows_of("suppliers", "supplier_no int | supplier_name text | city text")
def _suppliers(rng: Random) -> Iterable[Row]:
    return [
        (number, f"{name} Maltings" if number % 2 else f"{name} Hop Gardens", rng.choice(CITIES))
        for number, name in enumerate(("Alder", "Birch", "Cedar", "Elm", "Hazel", "Rowan"), 1)
    ]


@rows_of(
    "ingredients",
    "ingredient_no text | ingredient text | supplier_no int | price_per_kg money",
)
def _ingredients(rng: Random) -> Iterable[Row]:
    return [
        (f"I-{number:03}", name, rng.randint(1, 6), money(rng, 1, 30))
        for number, name in enumerate(_INGREDIENTS, 1)
    ]


@rows_of("recipe_items", "beer_code text | ingredient_no text | grams_per_litre int")
def _recipes(rng: Random, beers: list[str], ingredients: list[str]) -> Iterable[Row]:
    return [
        (beer, ingredient, rng.randint(2, 240))
        for beer in beers
        for ingredient in rng.sample(ingredients, 5)
    ]


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


@rows_of(
    "invoices",
    "invoice_no int | order_no int | customer_no int | issued_on date | due_on date | amount money",
)
def _invoices(rng: Random, placed: SampleTable) -> Iterable[Row]:
    for number, (order, customer, ordered, _, total) in enumerate(placed.rows, 1):
        issued = ordered + timedelta(days=rng.randint(0, 5))
        yield 90_000 + number, order, customer, issued, issued + timedelta(30), total


@rows_of("payments", "payment_no int | invoice_no int | paid_on date | paid money")
def _payments(rng: Random, invoices: SampleTable) -> Iterable[Row]:
    for number, (invoice, _, _, issued, _, amount) in enumerate(invoices.rows, 1):
        if rng.random() < 0.85:
            yield number, invoice, issued + timedelta(days=rng.randint(3, 70)), amount


@rows_of("batches", "batch_no text | beer_code text | tank_no text | brewed_on date | litres int")
def _batches(rng: Random, beers: list[str], tanks: list[str]) -> Iterable[Row]:
    for number in range(1, 181):
        brewed = day(rng, date(2023, 1, 5), date(2024, 6, 15))
        litres = rng.randrange(1_800, 9_000, 50)
        yield f"G{number:04}", rng.choice(beers), rng.choice(tanks), brewed, litres


@rows_of("quality_checks", "batch_no text | checked_on date | acidity_ph real | passed bool")
def _checks(rng: Random, batches: SampleTable) -> Iterable[Row]:
    for batch, _, _, brewed, _ in batches.rows:
        for round_ in range(rng.randint(1, 3)):
            ph = near(rng, 4.3, 0.2, low=3.6, high=5.2)
            passed = rng.random() < 0.93
            yield batch, brewed + timedelta(days=7 * (round_ + 1)), ph, passed


def leftover_tables(rng: Random, tables: Tables) -> Tables:
    """Copies, parts and versions of the brewery's own tables."""
    customers, beers, orders = tables["customers"], tables["beers"], tables["orders"]
    prices, history = _prices(rng, beers.column("beer_code"))
    return by_name(
        _part("customers_bak_20230601", customers, slice(0, 340)),
        _part("stg_customers", customers, slice(300, 400)),
        _part("beers_old", beers, slice(0, 12)),
        _part("orders_tmp", orders, slice(0, 60)),
        _part("employees_test", tables["employees"], slice(0, 8)),
        _part("invoices_copy", tables["invoices"], slice(0, 200)),
        _part("batches_backup", tables["batches"], slice(0, 150)),
        prices,
        history,
    )


def exported_tables(rng: Random, customers: SampleTable) -> Tables:
    """What people saved as files, often more than once."""
    contacts = _contacts(rng, customers.column("customer_no"))
    survey = _survey(rng)
    return by_name(
        contacts,
        _part("crm_contacts (1)", contacts, slice(0, None)),
        _part("crm_contacts_2023-11-30", contacts, slice(0, 210)),
        _part("festival_survey_FINAL", survey, slice(0, 150)),
        _part("festival_survey_FINAL_v2", survey, slice(0, None)),
        *(_budget(rng, year) for year in (2022, 2023, 2024)),
    )


@rows_of("tank_readings", "tank_no text | read_on date | temperature real | pressure_kpa int")
def readings(rng: Random, tanks: list[str], year: int, month: int) -> Iterable[Row]:
    """The tanks' readings of one month."""
    first = date(year, month, 1)
    return [
        (tank, first + timedelta(days=days), round(rng.uniform(2, 22), 1), rng.randint(80, 240))
        for tank in tanks
        for days in range(0, 28, 3)
    ]


def _part(name: str, of: SampleTable, rows: slice) -> SampleTable:
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


@rows_of("crm_contacts", "email text | customer_no int | newsletter text | mails_opened int")
def _contacts(rng: Random, customers: list[int]) -> Iterable[Row]:
    for number, customer in enumerate(rng.sample(customers, 240), 1):
        consent = rng.choice(("yes", "no"))
        yield f"contact{number}@example.org", customer, consent, rng.randint(0, 40)


@rows_of("festival_survey_FINAL", "response_no int | email text | satisfaction_score int")
def _survey(rng: Random) -> Iterable[Row]:
    return [
        (number, f"contact{rng.randint(1, 240)}@example.org", rng.randint(1, 10))
        for number in range(1, 181)
    ]


def _budget(rng: Random, year: int) -> SampleTable:
    centers = ("marketing", "brewing", "logistics", "administration")
    rows = [
        (center, date(year, month, 1), money(rng, 2_000, 60_000))
        for center in centers
        for month in range(1, 13)
    ]
    return table(f"budget_{year}", "cost_center text | month date | planned_cost money", rows)


def draw_brewery(*, seed: int = 7) -> dict[str, Tables]:
    """The tables of each source, but for the readings in their folders."""
    masters = master_tables(generator(seed, "brewery/masters"))
    own = masters | movement_tables(generator(seed, "brewery/movements"), masters)
    own |= leftover_tables(generator(seed, "brewery/leftovers"), own)
    return {
        OWN: own,
        BOUGHT: _taprooms(generator(seed, "brewery/taprooms")),
        EXPORTS: exported_tables(generator(seed, "brewery/exports"), own["customers"]),
    }


def _taprooms(rng: Random) -> Tables:
    """The chain that was bought: its own guests, drinks, venues and orders."""
    guests = customers("customers", rng, 9_000_001, 250)
    drinks = [f"TAP-{number:03}" for number in range(1, 31)]
    placed = orders("orders", rng, guests.column("customer_no"), 2024, first=7_000_000)
    venues = [(f"V{at:02}", f"{city} Taproom", city) for at, city in enumerate(CITIES[:8], 1)]
    shifts = [
        (number, name, rng.choice(venues)[0], rng.choice(("early", "late")))
        for number, name in enumerate(full_names(rng, 40), 1)
    ]
    return by_name(
        guests,
        placed,
        order_lines("order_lines", rng, placed.column("order_no"), drinks),
        table("drinks", "beer_code text | drink text", ((code, f"tap {code}") for code in drinks)),
        table("venues", "venue_code text | venue_name text | city text", venues),
        table("shifts", "shift_no int | bartender text | venue_code text | shift text", shifts),
    )


# The months whose readings of the tanks were exported.
_READINGS = ((2023, range(7, 13)), (2024, range(1, 7)))


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
