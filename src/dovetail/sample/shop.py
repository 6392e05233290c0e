"""A web shop: CRM accounts, products in groups, orders, and the exports other systems read."""

from datetime import date, timedelta
from decimal import Decimal
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, moment, money, skewed, spoil
from dovetail.sample.table import Row, SampleTable, Tables, by_name, table

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


def shop_tables(rng: Random, items: SampleTable, shipments: SampleTable) -> Tables:
    """Draw the domain's tables; products carry the warehouse's SKUs."""
    accounts, groups = _accounts(rng), _groups()
    products = _products(rng, items, groups)
    customers = _customers(rng, accounts.column("account_code"))
    refs: list[str] = customers.column("customer_ref")
    order_items = _order_items(rng, products)
    return by_name(
        accounts,
        groups,
        products,
        _orders(rng, refs, shipments, order_items),
        order_items,
        table("status", "status text | label text | is_final bool", _STATUS),
        customers,
        _events(rng, refs, products.column("sku")),
    )


def _accounts(rng: Random) -> SampleTable:
    companies = [f"{city} {company}" for city in CITIES for company in _COMPANIES]
    managers = full_names(rng, 9)
    rows = []
    for number, company in enumerate(sorted(companies), start=1):
        city = next(city for city in CITIES if company.startswith(city))
        segment = rng.choices(("small", "medium", "key"), (6, 3, 1))[0]
        limit = money(rng, 500, 20_000)
        rows.append((f"AC-{number:04}", company, segment, city, rng.choice(managers), limit, None))
    return table(
        "accounts",
        "account_code text | company text | segment text | city text | account_manager text"
        " | credit_limit money | fax text",
        rows,
    )


def _groups() -> SampleTable:
    rows: list[Row] = []
    for root, leaves in _GROUPS.items():
        parent = 10 * (1 + list(_GROUPS).index(root))
        rows.append((parent, None, root))
        rows.extend((parent + place, parent, leaf) for place, leaf in enumerate(leaves, start=1))
    return table("group", "group_id int | parent_id int | group_name text", rows)


def _products(rng: Random, items: SampleTable, groups: SampleTable) -> SampleTable:
    group_of = groups.mapping("group_name", "group_id")
    rows = []
    for product_id, item in enumerate(sorted(rng.sample(items.rows, 120)), start=1):
        _, sku, name, category, _, _, _, cost = item
        price = (cost * rng.randint(125, 190) / 100).quantize(Decimal("0.01"))
        thumb = b"\x89PNG" + rng.randbytes(12) if rng.random() < 0.8 else None
        launched, picked = day(rng, date(2018, 1, 1), date(2024, 1, 31)), rng.random() < 0.2
        rows.append((product_id, sku, name, group_of[category], price, picked, thumb, launched))
    return table(
        "products",
        "product_id int | sku text | product_name text | group int | list_price money"
        " | select bool | thumb blob | launched_on date",
        rows,
    )


def _customers(rng: Random, accounts: list[str]) -> SampleTable:
    rows = []
    for number, name in enumerate(full_names(rng, 380), start=1):
        email = f"{name.lower().replace(' ', '.')}@mail.example"
        account, city = rng.choice(accounts), rng.choice(CITIES)
        joined = day(rng, date(2019, 1, 1), date(2023, 6, 25))
        rows.append((f"CU-{number:05}", name, email, account, city, joined, rng.random() < 0.4))
    return table(
        "shop_customers",
        "customer_ref text | full_name text | email text | crm_code text | city text"
        " | joined_on date | newsletter bool",
        rows,
    )


def _order_items(rng: Random, products: SampleTable) -> SampleTable:
    price_of = products.mapping("product_id", "list_price")
    sizes = {order_no: rng.choice((1, 1, 2, 2, 3, 4)) for order_no in range(70_001, 70_601)}
    keys = [(order_no, line) for order_no, size in sizes.items() for line in range(1, 1 + size)]
    rows = []
    for key, product in zip(keys, skewed(rng, list(price_of), len(keys)), strict=True):
        discount = rng.choice((0, 0, 0, 0, 5, 10, 20))
        rows.append((*key, product, rng.randint(1, 6), price_of[product], discount))
    return table(
        "order_items",
        "order_no int | line_no int | product_id int | qty int | unit_price money | discount % int",
        rows,
    )


def _totals(order_items: SampleTable) -> dict[int, Decimal]:
    totals: dict[int, Decimal] = {}
    for order_no, _, _, qty, price, discount in order_items.rows:
        paid = (qty * price * (100 - discount) / 100).quantize(Decimal("0.01"))
        totals[order_no] = totals.get(order_no, Decimal()) + paid
    return totals


def _orders(
    rng: Random, refs: list[str], shipments: SampleTable, order_items: SampleTable
) -> SampleTable:
    left_at = shipments.mapping("shipment_no", "left_at")
    totals = _totals(order_items)
    customers = iter(skewed(rng, refs, len(totals)))
    # Orders not sent yet, or never, have no shipment.
    sent = iter(spoil(rng, skewed(rng, list(left_at), len(totals)), 0.1, lambda _: None))
    rows = []
    for order_no, total in totals.items():
        shipment = next(sent)
        if shipment is None:
            status = rng.choice(("NEW", "PAID", "VOID"))
            placed = moment(rng, date(2023, 7, 1), date(2024, 6, 30))
        else:
            status = rng.choices(("SENT", "DONE", "BACK"), (2, 7, 1))[0]
            placed = left_at[shipment] - timedelta(minutes=rng.randint(60, 5000))
        extras = {"gift": rng.random() < 0.1, "channel": rng.choice(("web", "app", "phone"))}
        rows.append((order_no, next(customers), placed, status, shipment, total, extras))
    return table(
        "orders",
        "order_no int | customer_ref text | placed_at time | status text | shipment_no text"
        " | total money | extras json",
        rows,
    )


def _events(rng: Random, refs: list[str], skus: list[str]) -> SampleTable:
    rows = []
    visitors = spoil(rng, skewed(rng, refs, 700), 0.3, lambda _: None)
    for number, (visitor, sku) in enumerate(zip(visitors, skewed(rng, skus, 700), strict=True)):
        kind = rng.choices(("view", "cart", "wish", "rating"), (6, 2, 1, 1))[0]
        stars = rng.choices(range(1, 6), (1, 1, 2, 4, 4))[0] if kind == "rating" else None
        page = {"path": f"/p/{sku.lower()}", "referrer": rng.choice(("search", "mail", "direct"))}
        tags = rng.sample(("sale", "mobile", "first-visit", "bot?"), rng.randint(0, 2))
        at = moment(rng, date(2024, 4, 1), date(2024, 6, 30))
        rows.append((f"e{number:06}", at, kind, visitor, sku, stars, page, tags))
    return table(
        "events",
        "event_id text | at time | kind text | customer_ref text | sku text | stars int"
        " | page json | tags json",
        rows,
    )
