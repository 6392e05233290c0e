"""Wholesale logistics: items, suppliers, stock, shipments, and the schools' purchase orders."""

from datetime import date, timedelta
from decimal import Decimal
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, moment, money, near, pairs, skewed, spoil
from dovetail.sample.table import Row, SampleTable, Tables, by_name, table

_ITEMS: dict[str, tuple[str, ...]] = {
    "Furniture": ("Folding Desk", "Stacking Chair", "Bookcase", "Coat Rack", "Filing Cabinet"),
    "Lighting": ("Desk Lamp", "Ceiling Panel", "Floor Lamp", "Emergency Light", "String Lights"),
    "Kitchen": ("Kettle", "Lunch Tray", "Chopping Board", "Stock Pot", "Water Dispenser"),
    "Stationery": ("Notebook", "Marker Set", "Whiteboard", "Paper Ream", "Stapler"),
    "Cleaning": ("Floor Polish", "Mop Bucket", "Glass Cleaner", "Bin Liners", "Hand Soap"),
    "Garden": ("Rake", "Watering Can", "Planter", "Compost Bin", "Wheelbarrow"),
    "Electronics": ("Label Printer", "Webcam", "Projector", "Power Bank", "Headset"),
    "Sports": ("Football", "Yoga Mat", "Skipping Rope", "Hurdle", "Table Tennis Set"),
}
_COSTS = {
    "Furniture": (35, 240),
    "Lighting": (9, 120),
    "Kitchen": (6, 90),
    "Stationery": (1, 30),
    "Cleaning": (2, 25),
    "Garden": (8, 110),
    "Electronics": (25, 480),
    "Sports": (5, 140),
}
_VARIANTS = ("small", "large", "oak", "blue")
_SUPPLIERS = (
    "Acorn", "Bellwether", "Cobalt", "Driftwood", "Evergreen", "Fairwind", "Graphite",
    "Hearthstone", "Indigo", "Keystone", "Longship", "Moonbeam", "Nimbus", "Osprey", "Pinnacle",
    "Quicksilver", "Redwood", "Sundial", "Tidewater",
)  # fmt: skip
_CARRIERS = ("Parcel Pony", "Swiftfreight", "Bluebird Cargo", "Heron Haulage")


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
        _orders(rng, suppliers.column("supplier_id"), school_ids, items),
        table("recalls", "recall_no int | sku text | announced_on date | reason text"),
    )


def _items(rng: Random) -> SampleTable:
    rows: list[Row] = []
    for category, names in _ITEMS.items():
        for name in (f"{name}, {variant}" for name in names for variant in _VARIANTS):
            item_id = 1 + len(rows)
            sku, model = f"{category[:3].upper()}-{item_id:04}", f"型{rng.randint(100, 999)}"
            weight = near(rng, 6, 5, low=0.1, high=40)
            hazardous = category == "Cleaning" and rng.random() < 0.6
            cost = money(rng, *_COSTS[category])
            rows.append((item_id, sku, name, category, model, weight, hazardous, cost))
    return table(
        "items",
        "item_id int | sku text | item_name text | category text | 型号 text | weight_kg real"
        " | hazardous bool | unit_cost money",
        rows,
    )


def _suppliers(rng: Random) -> SampleTable:
    names = [f"{name} {kind}" for name in _SUPPLIERS for kind in ("Supply", "Trading")]
    contacts = full_names(rng, len(names))
    rows = [
        (number, name, rng.choice(CITIES), near(rng, 3.7, 0.7, low=1, high=5), contact)
        for number, (name, contact) in enumerate(zip(names, contacts, strict=True), start=11)
    ]
    return table(
        "suppliers",
        "supplier_id int | supplier_name text | city text | rating real | contact text",
        rows,
    )


def _offers(rng: Random, suppliers: SampleTable, items: SampleTable) -> SampleTable:
    cost_of = items.mapping("item_id", "unit_cost")
    rows = []
    for supplier, item in pairs(rng, suppliers.column("supplier_id"), list(cost_of), 300):
        price = (cost_of[item] * rng.randint(88, 125) / 100).quantize(Decimal("0.01"))
        rows.append((supplier, item, rng.randint(1, 30), price))
    return table("map_07", "a_id int | b_id int | lead_days int | price money", rows)


def _warehouses(rng: Random) -> SampleTable:
    cities = ("Riverside", "Port Alder", "Stonefield", "Northmoor", "Cedar Cross", "Oakhurst")
    rows = [
        (f"WH-{city[:3].upper()}", f"{city} Depot", city, rng.randint(800, 6000), manager)
        for city, manager in zip(cities, full_names(rng, len(cities)), strict=True)
    ]
    return table(
        "warehouses",
        "wh_code text | wh_name text | city text | capacity_pallets int | manager text",
        rows,
    )


def _stock(rng: Random, warehouses: list[str], skus: list[str]) -> SampleTable:
    rows = []
    for warehouse in warehouses:
        for sku in sorted(rng.sample(skus, rng.randint(70, 110))):
            counted = moment(rng, date(2024, 5, 1), date(2024, 6, 28))
            rows.append((warehouse, sku, rng.randint(0, 900), rng.choice((20, 50, 100)), counted))
    return table(
        "stock",
        "wh_code text | sku text | on_hand int | reorder_at int | counted_at time",
        rows,
    )


def _shipments(rng: Random, warehouses: list[str]) -> SampleTable:
    rows = []
    for number in range(1, 381):
        left = moment(rng, date(2023, 7, 1), date(2024, 6, 20))
        arrived = left + timedelta(hours=rng.randint(8, 140)) if rng.random() < 0.97 else None
        origin, city = rng.choice(warehouses), rng.choice(CITIES)
        rows.append((f"SH-{number:05}", origin, rng.choice(_CARRIERS), city, left, arrived))
    return table(
        "shipments",
        "shipment_no text | wh_code text | carrier text | ship_to_city text | left_at time"
        " | arrived_at time",
        rows,
    )


def _shipment_lines(rng: Random, shipments: list[str], skus: list[str]) -> SampleTable:
    keys = [(no, line) for no in shipments for line in range(1, 1 + rng.randint(1, 4))]
    sold = skewed(rng, skus, len(keys))
    # Handheld scanners pad some codes with blanks and send others in lower case.
    drifted = spoil(rng, sold, 0.06, lambda sku: rng.choice((f"{sku}  ", sku.lower())))
    rows = [
        (no, line, sku, rng.randint(1, 60)) for (no, line), sku in zip(keys, drifted, strict=True)
    ]
    return table("shipment_lines", "shipment_no text | line_no int | sku text | qty int", rows)


def _orders(
    rng: Random, suppliers: list[int], schools: list[int], items: SampleTable
) -> SampleTable:
    cost_of = items.mapping("sku", "unit_cost")
    rows = []
    for order_no, supplier in enumerate(skewed(rng, suppliers, 320), start=4001):
        sku, qty = rng.choice(list(cost_of)), rng.randint(1, 40)
        ordered = day(rng, date(2023, 8, 1), date(2024, 5, 15))
        due = ordered + timedelta(days=rng.choice((7, 14, 21)))
        came = due + timedelta(days=rng.randint(-6, 5)) if rng.random() < 0.95 else None
        school, amount = rng.choice(schools), qty * cost_of[sku]
        rows.append((order_no, supplier, school, sku, qty, amount, ordered, due, came))
    return table(
        "orders",
        "order_no int | supplier_id int | school_id int | sku text | qty int | amount money"
        " | ordered_on date | due_on date | delivered_on date",
        rows,
    )
