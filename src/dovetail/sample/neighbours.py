"""The brewery's neighbours: the city's schools, the warehouse that delivers to them, a web shop."""

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from random import Random

from dovetail.sample.draw import (
    CITIES,
    COUNTIES,
    day,
    full_names,
    generator,
    moment,
    money,
    near,
    pairs,
    skewed,
    spoil,
)
from dovetail.sample.render import Row, SampleTable, Tables, by_name, rows_of, table

_PUPILS = {"Elementary": 380, "Middle": 540, "High": 920}
_NAMESAKES = (
    "Maple Grove", "Brookside", "Lantern Hill", "Willow Creek", "Granite Peak", "Bluebell",
    "Meadow", "Sandpiper", "Foxglove", "Old Mill", "Hawthorn", "Clearwater", "Juniper",
    "Kingfisher", "Summit", "Harbour View", "Larch", "Orchard", "Beacon", "Silver Birch", "Heather",
    "Ferry Lane", "Stargazer", "Windmill", "Copper Beech", "Swallowtail", "Rowan", "Moonrise",
    "Bramble", "Cobble",
)  # fmt: skip
_SCHOOL_EVENTS = {
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
# By category: the least and the greatest cost, and what there is.
_ITEMS = {
    "Furniture": (35, 240, "Folding Desk, Stacking Chair, Bookcase, Coat Rack, Filing Cabinet"),
    "Lighting": (9, 120, "Desk Lamp, Ceiling Panel, Floor Lamp, Emergency Light, String Lights"),
    "Kitchen": (6, 90, "Kettle, Lunch Tray, Chopping Board, Stock Pot, Water Dispenser"),
    "Stationery": (1, 30, "Notebook, Marker Set, Whiteboard, Paper Ream, Stapler"),
    "Cleaning": (2, 25, "Floor Polish, Mop Bucket, Glass Cleaner, Bin Liners, Hand Soap"),
    "Garden": (8, 110, "Rake, Watering Can, Planter, Compost Bin, Wheelbarrow"),
    "Electronics": (25, 480, "Label Printer, Webcam, Projector, Power Bank, Headset"),
    "Sports": (5, 140, "Football, Yoga Mat, Skipping Rope, Hurdle, Table Tennis Set"),
}
_VARIANTS = ("small", "large", "oak", "blue")
_SUPPLIERS = (
    "Acorn", "Bellwether", "Cobalt", "Driftwood", "Evergreen", "Fairwind", "Graphite",
    "Hearthstone", "Indigo", "Keystone", "Longship", "Moonbeam", "Nimbus", "Osprey", "Pinnacle",
    "Quicksilver", "Redwood", "Sundial", "Tidewater",
)  # fmt: skip
_CARRIERS = ("Parcel Pony", "Swiftfreight", "Bluebird Cargo", "Heron Haulage")
_GROUPS = {
    "Home": ("Furniture", "Lighting", "Kitchen", "Cleaning"),
    "Work": ("Stationery", "Electronics"),
    "Outdoors": ("Garden", "Sports"),
}
_STATUS = (
    ("NEW", "received", False),
    ("PAID", "paid", False),
    ("SENT", "on its way", False),
    ("DONE", "delivered", True),
    ("BACK", "returned", True),
    ("VOID", "cancelled", True),
)
_COMPANIES = ("Bakery", "Dental Practice", "Studio", "Nursery", "Inn", "Cycle Works", "Law Office")


def draw_neighbours(*, seed: int = 7) -> dict[str, Tables]:
    """The tables of the schools, the warehouse that delivers to them, and the web shop."""
    schools = school_tables(generator(seed, "schools"))
    warehouse = warehouse_tables(
        generator(seed, "warehouse"), schools["schools"].column("school_id")
    )
    items, shipments = warehouse["items"], warehouse["shipments"]
    shop = shop_tables(generator(seed, "shop"), items, shipments)
    return {"schools": schools, "shop": shop, "warehouse": warehouse}


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
        _school_events(rng, ids),
        _school_profile(rng, schools),
        table("closure_orders", "school_id int | ordered_on date | reason text"),
    )


@rows_of(
    "districts",
    "district_code text | district_name text | county text | superintendent text"
    " | founded date | annual_budget money",
)
def _districts(rng: Random) -> Iterable[Row]:
    heads = iter(full_names(rng, 3 * len(COUNTIES)))
    for county in COUNTIES:
        for number, part in enumerate(("Unified", "North", "Rural")[: rng.randint(2, 3)], start=1):
            code = f"{county[:3].upper()}-{number:02}"
            founded = day(rng, date(1921, 1, 1), date(1978, 12, 31))
            budget = money(rng, 4_000_000, 60_000_000)
            yield code, f"{county} {part}", county, next(heads), founded, budget


@rows_of(
    "schools",
    "school_id int | district_code text | school_name text | city text | level text"
    " | charter bool | opened date | enrolment int",
)
def _schools(rng: Random, districts: SampleTable) -> Iterable[Row]:
    county_of = districts.mapping("district_code", "county")
    names = [(name, level) for name in _NAMESAKES for level in _PUPILS]
    for school_id, (name, level) in enumerate(rng.sample(names, len(names)), start=101):
        district = rng.choice(list(county_of))
        city = rng.choice(COUNTIES[county_of[district]])
        opened = day(rng, date(1948, 8, 1), date(2016, 9, 1))
        pupils = int(near(rng, _PUPILS[level], 140, low=90, high=1900))
        charter = rng.random() < 0.2
        yield school_id, district, f"{name} {level}", city, level, charter, opened, pupils


@rows_of(
    "buildings",
    "building_no int | school_id int | built_year int | floors int | area_sqm real"
    " | condition text | last_inspection date",
)
def _buildings(rng: Random, ids: list[int]) -> Iterable[Row]:
    for building_no, school_id in enumerate(sorted(ids + rng.sample(ids, 45)), start=1):
        condition = rng.choices(("good", "fair", "poor"), (5, 3, 1))[0]
        area = near(rng, 3200, 1400, low=300, high=9000)
        inspected = day(rng, date(2021, 1, 1), date(2024, 6, 30))
        year, floors = rng.randint(1935, 2018), rng.randint(1, 4)
        yield building_no, school_id, year, floors, area, condition, inspected


@rows_of(
    "test_scores",
    "school_id int | school_year int | subject text | takers int | avg_score real | pass_rate real",
)
def _test_scores(rng: Random, ids: list[int]) -> Iterable[Row]:
    for school_id in ids:
        strength = rng.gauss(505, 38)
        for year in (2022, 2023):
            for subject in ("Mathematics", "Reading", "Science"):
                score = near(rng, strength, 14, low=320, high=700)
                takers, passed = rng.randint(28, 240), round(min(0.99, score / 640), 3)
                yield school_id, year, subject, takers, score, passed


@rows_of(
    "meal_programs",
    "school_code text | school_year int | meals_served int | free_share real | provider text",
)
def _meal_programs(rng: Random, ids: list[int]) -> Iterable[Row]:
    for school_id in ids:
        for year in (2022, 2023):
            served, free = rng.randint(9_000, 90_000), round(rng.betavariate(2, 3), 3)
            # The kitchens' system keeps school numbers as text.
            yield str(school_id), year, served, free, rng.choice(_PROVIDERS)


@rows_of(
    "staff",
    "staff_id int | full_name text | school_id int | role text | hired_on date"
    " | salary money | manager_id int",
)
def _staff(rng: Random, ids: list[int]) -> Iterable[Row]:
    names = enumerate(full_names(rng, 4 * len(ids)), start=2001)
    for school_id in ids:
        principal = None
        roles = rng.choices(("teacher", "counsellor", "nurse", "caretaker"), (7, 1, 1, 1), k=3)
        for role in ["principal", *roles][: rng.randint(3, 4)]:
            staff_id, name = next(names)
            salary = money(rng, 31_000, 68_000) if principal else money(rng, 74_000, 98_000)
            hired = day(rng, date(1996, 8, 1), date(2023, 9, 1))
            yield staff_id, name, school_id, role, hired, salary, principal
            principal = principal or staff_id


@rows_of(
    "events",
    "event_id int | school_id int | title text | kind text | held_on date | attendance int",
)
def _school_events(rng: Random, ids: list[int]) -> Iterable[Row]:
    for event_id in range(1, 231):
        title = rng.choice(list(_SCHOOL_EVENTS))
        held_on = day(rng, date(2022, 9, 1), date(2024, 6, 20))
        guests = rng.randint(20, 700)
        yield event_id, rng.choice(ids), title, _SCHOOL_EVENTS[title], held_on, guests


@rows_of(
    "school_profile",
    "school_id int | website text | motto text | has_library bool | facts json",
)
def _school_profile(rng: Random, schools: SampleTable) -> Iterable[Row]:
    for school_id, name in schools.mapping("school_id", "school_name").items():
        site = f"https://{name.lower().replace(' ', '-')}.example"
        facts = {"mascot": rng.choice(("otter", "heron", "owl")), "clubs": rng.randint(2, 19)}
        yield school_id, site, rng.choice(_MOTTOS), rng.random() < 0.7, facts


def warehouse_tables(rng: Random, school_ids: list[int]) -> Tables:
    """Draw the domain's tables; `orders` are placed by the city's schools."""
    items, suppliers, warehouses = _items(rng), _suppliers(rng), _warehouses(rng)
    skus: list[str] = items.column("sku")
    shipments = _shipments(rng, warehouses.column("wh_code"))
    return by_name(
        items,
        suppliers,
        _offers(rng, suppliers, items),
        warehouses,
        _stock(rng, warehouses.column("wh_code"), skus),
        shipments,
        _shipment_lines(rng, shipments.column("shipment_no"), skus),
        _school_orders(rng, suppliers.column("supplier_id"), school_ids, items),
        table("recalls", "recall_no int | sku text | announced_on date | reason text"),
    )


@rows_of(
    "items",
    "item_id int | sku text | item_name text | category text | 型号 text | weight_kg real"
    " | hazardous bool | unit_cost money",
)
def _items(rng: Random) -> Iterable[Row]:
    kinds = [
        (category, f"{name}, {variant}")
        for category, (_, _, names) in _ITEMS.items()
        for name in names.split(", ")
        for variant in _VARIANTS
    ]
    for item_id, (category, name) in enumerate(kinds, start=1):
        sku, model = f"{category[:3].upper()}-{item_id:04}", f"型{rng.randint(100, 999)}"
        weight = near(rng, 6, 5, low=0.1, high=40)
        hazardous = category == "Cleaning" and rng.random() < 0.6
        cost = money(rng, *_ITEMS[category][:2])
        yield item_id, sku, name, category, model, weight, hazardous, cost


@rows_of(
    "suppliers",
    "supplier_id int | supplier_name text | city text | rating real | contact text",
)
def _suppliers(rng: Random) -> Iterable[Row]:
    names = [f"{name} {kind}" for name in _SUPPLIERS for kind in ("Supply", "Trading")]
    contacts = full_names(rng, len(names))
    return [
        (number, name, rng.choice(CITIES), near(rng, 3.7, 0.7, low=1, high=5), contact)
        for number, (name, contact) in enumerate(zip(names, contacts, strict=True), start=11)
    ]


@rows_of("map_07", "a_id int | b_id int | lead_days int | price money")
def _offers(rng: Random, suppliers: SampleTable, items: SampleTable) -> Iterable[Row]:
    cost_of = items.mapping("item_id", "unit_cost")
    for supplier, item in pairs(rng, suppliers.column("supplier_id"), list(cost_of), 300):
        price = (cost_of[item] * rng.randint(88, 125) / 100).quantize(Decimal("0.01"))
        yield supplier, item, rng.randint(1, 30), price


@rows_of(
    "warehouses",
    "wh_code text | wh_name text | city text | capacity_pallets int | manager text",
)
def _warehouses(rng: Random) -> Iterable[Row]:
    cities = ("Riverside", "Port Alder", "Stonefield", "Northmoor", "Cedar Cross", "Oakhurst")
    return [
        (f"WH-{city[:3].upper()}", f"{city} Depot", city, rng.randint(800, 6000), manager)
        for city, manager in zip(cities, full_names(rng, len(cities)), strict=True)
    ]


@rows_of("stock", "wh_code text | sku text | on_hand int | reorder_at int | counted_at time")
def _stock(rng: Random, warehouses: list[str], skus: list[str]) -> Iterable[Row]:
    for warehouse in warehouses:
        for sku in sorted(rng.sample(skus, rng.randint(70, 110))):
            counted = moment(rng, date(2024, 5, 1), date(2024, 6, 28))
            yield warehouse, sku, rng.randint(0, 900), rng.choice((20, 50, 100)), counted


@rows_of(
    "shipments",
    "shipment_no text | wh_code text | carrier text | ship_to_city text | left_at time"
    " | arrived_at time",
)
def _shipments(rng: Random, warehouses: list[str]) -> Iterable[Row]:
    for number in range(1, 381):
        left = moment(rng, date(2023, 7, 1), date(2024, 6, 20))
        arrived = left + timedelta(hours=rng.randint(8, 140)) if rng.random() < 0.97 else None
        origin, city = rng.choice(warehouses), rng.choice(CITIES)
        yield f"SH-{number:05}", origin, rng.choice(_CARRIERS), city, left, arrived


@rows_of("shipment_lines", "shipment_no text | line_no int | sku text | qty int")
def _shipment_lines(rng: Random, shipments: list[str], skus: list[str]) -> Iterable[Row]:
    keys = [(no, line) for no in shipments for line in range(1, 1 + rng.randint(1, 4))]
    sold = skewed(rng, skus, len(keys))
    # Handheld scanners pad some codes with blanks and send others in lower case.
    drifted = spoil(rng, sold, 0.06, lambda sku: rng.choice((f"{sku}  ", sku.lower())))
    return [
        (no, line, sku, rng.randint(1, 60)) for (no, line), sku in zip(keys, drifted, strict=True)
    ]


@rows_of(
    "orders",
    "order_no int | supplier_id int | school_id int | sku text | qty int | amount money"
    " | ordered_on date | due_on date | delivered_on date",
)
def _school_orders(
    rng: Random, suppliers: list[int], schools: list[int], items: SampleTable
) -> Iterable[Row]:
    cost_of = items.mapping("sku", "unit_cost")
    for order_no, supplier in enumerate(skewed(rng, suppliers, 320), start=4001):
        sku, qty = rng.choice(list(cost_of)), rng.randint(1, 40)
        ordered = day(rng, date(2023, 8, 1), date(2024, 5, 15))
        due = ordered + timedelta(days=rng.choice((7, 14, 21)))
        came = due + timedelta(days=rng.randint(-6, 5)) if rng.random() < 0.95 else None
        school, amount = rng.choice(schools), qty * cost_of[sku]
        yield order_no, supplier, school, sku, qty, amount, ordered, due, came


def shop_tables(rng: Random, items: SampleTable, shipments: SampleTable) -> Tables:
    """Draw the domain's tables; products carry the warehouse's SKUs."""
    accounts, groups = _accounts(rng), _groups()
    products = _products(rng, items, groups)
    customers = _shop_customers(rng, accounts.column("account_code"))
    refs: list[str] = customers.column("customer_ref")
    order_items = _order_items(rng, products)
    return by_name(
        accounts,
        groups,
        products,
        _shop_orders(rng, refs, shipments, order_items),
        order_items,
        table("status", "status text | label text | is_final bool", _STATUS),
        customers,
        _shop_events(rng, refs, products.column("sku")),
    )


@rows_of(
    "accounts",
    "account_code text | company text | segment text | city text | account_manager text"
    " | credit_limit money | fax text",
)
def _accounts(rng: Random) -> Iterable[Row]:
    companies = [f"{city} {company}" for city in CITIES for company in _COMPANIES]
    managers = full_names(rng, 9)
    for number, company in enumerate(sorted(companies), start=1):
        city = next(city for city in CITIES if company.startswith(city))
        segment = rng.choices(("small", "medium", "key"), (6, 3, 1))[0]
        limit = money(rng, 500, 20_000)
        yield f"AC-{number:04}", company, segment, city, rng.choice(managers), limit, None


@rows_of("group", "group_id int | parent_id int | group_name text")
def _groups() -> Iterable[Row]:
    for parent, (root, leaves) in enumerate(_GROUPS.items(), start=1):
        yield 10 * parent, None, root
        for number, leaf in enumerate(leaves, start=1):
            yield 10 * parent + number, 10 * parent, leaf


@rows_of(
    "products",
    "product_id int | sku text | product_name text | group int | list_price money"
    " | select bool | thumb blob | launched_on date",
)
def _products(rng: Random, items: SampleTable, groups: SampleTable) -> Iterable[Row]:
    group_of = groups.mapping("group_name", "group_id")
    for product_id, item in enumerate(sorted(rng.sample(items.rows, 120)), start=1):
        _, sku, name, category, _, _, _, cost = item
        price = (cost * rng.randint(125, 190) / 100).quantize(Decimal("0.01"))
        thumb = b"\x89PNG" + rng.randbytes(12) if rng.random() < 0.8 else None
        launched, picked = day(rng, date(2018, 1, 1), date(2024, 1, 31)), rng.random() < 0.2
        yield product_id, sku, name, group_of[category], price, picked, thumb, launched


@rows_of(
    "shop_customers",
    "customer_ref text | full_name text | email text | crm_code text | city text"
    " | joined_on date | newsletter bool",
)
def _shop_customers(rng: Random, accounts: list[str]) -> Iterable[Row]:
    for number, name in enumerate(full_names(rng, 380), start=1):
        email = f"{name.lower().replace(' ', '.')}@mail.example"
        account, city = rng.choice(accounts), rng.choice(CITIES)
        joined = day(rng, date(2019, 1, 1), date(2023, 6, 25))
        yield f"CU-{number:05}", name, email, account, city, joined, rng.random() < 0.4


@rows_of(
    "order_items",
    "order_no int | line_no int | product_id int | qty int | unit_price money | discount % int",
)
def _order_items(rng: Random, products: SampleTable) -> Iterable[Row]:
    price_of = products.mapping("product_id", "list_price")
    sizes = {order_no: rng.choice((1, 1, 2, 2, 3, 4)) for order_no in range(70_001, 70_601)}
    keys = [(order_no, line) for order_no, size in sizes.items() for line in range(1, 1 + size)]
    for key, product in zip(keys, skewed(rng, list(price_of), len(keys)), strict=True):
        discount = rng.choice((0, 0, 0, 0, 5, 10, 20))
        yield *key, product, rng.randint(1, 6), price_of[product], discount


def _totals(order_items: SampleTable) -> dict[int, Decimal]:
    totals: dict[int, Decimal] = {}
    for order_no, _, _, qty, price, discount in order_items.rows:
        paid = (qty * price * (100 - discount) / 100).quantize(Decimal("0.01"))
        totals[order_no] = totals.get(order_no, Decimal()) + paid
    return totals


@rows_of(
    "orders",
    "order_no int | customer_ref text | placed_at time | status text | shipment_no text"
    " | total money | extras json",
)
def _shop_orders(
    rng: Random, refs: list[str], shipments: SampleTable, order_items: SampleTable
) -> Iterable[Row]:
    left_at = shipments.mapping("shipment_no", "left_at")
    totals = _totals(order_items)
    customers = iter(skewed(rng, refs, len(totals)))
    # Orders not sent yet, or never, have no shipment.
    sent = iter(spoil(rng, skewed(rng, list(left_at), len(totals)), 0.1, lambda _: None))
    for order_no, total in totals.items():
        shipment = next(sent)
        if shipment is None:
            status = rng.choice(("NEW", "PAID", "VOID"))
            placed = moment(rng, date(2023, 7, 1), date(2024, 6, 30))
        else:
            status = rng.choices(("SENT", "DONE", "BACK"), (2, 7, 1))[0]
            placed = left_at[shipment] - timedelta(minutes=rng.randint(60, 5000))
        extras = {"gift": rng.random() < 0.1, "channel": rng.choice(("web", "app", "phone"))}
        yield order_no, next(customers), placed, status, shipment, total, extras


@rows_of(
    "events",
    "event_id text | at time | kind text | customer_ref text | sku text | stars int"
    " | page json | tags json",
)
def _shop_events(rng: Random, refs: list[str], skus: list[str]) -> Iterable[Row]:
    visitors = spoil(rng, skewed(rng, refs, 700), 0.3, lambda _: None)
    for number, (visitor, sku) in enumerate(zip(visitors, skewed(rng, skus, 700), strict=True)):
        kind = rng.choices(("view", "cart", "wish", "rating"), (6, 2, 1, 1))[0]
        stars = rng.choices(range(1, 6), (1, 1, 2, 4, 4))[0] if kind == "rating" else None
        page = {"path": f"/p/{sku.lower()}", "referrer": rng.choice(("search", "mail", "direct"))}
        tags = rng.sample(("sale", "mobile", "first-visit", "bot?"), rng.randint(0, 2))
        at = moment(rng, date(2024, 4, 1), date(2024, 6, 30))
        yield f"e{number:06}", at, kind, visitor, sku, stars, page, tags
