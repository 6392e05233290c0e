"""What the brewery keeps one row of each for: customers, beers, tanks, people, places."""

from datetime import date
from random import Random

from dovetail.sample.draw import day, full_names, money
from dovetail.sample.table import SampleTable, Tables, by_name, table
from dovetail.sample.vocabulary import CITIES

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


def _beers(rng: Random) -> SampleTable:
    rows = []
    for number, name in enumerate(_BEERS * 3):
        strength = ("", " Strong", " Light")[number // len(_BEERS)]
        style = _STYLES[number % len(_STYLES)]
        abv = round(rng.uniform(2.5, 8.5), 1)
        rows.append((f"B{number + 1:02}", name + strength, style, abv, rng.randint(10, 70)))
    return table(
        "beers", "beer_code text | beer_name text | style text | abv real | bitterness int", rows
    )


def _depots(rng: Random) -> SampleTable:
    rows = [
        (f"D-{city[:3].upper()}", f"{city} depot", city, rng.randint(40, 400))
        for city in CITIES[:6]
    ]
    return table("depots", "depot_code text | depot_name text | city text | pallets int", rows)


def _employees(rng: Random, depots: list[str]) -> SampleTable:
    rows = []
    for place, name in enumerate(full_names(rng, 90)):
        hired = day(rng, date(2005, 1, 1), date(2024, 4, 30))
        rows.append((701 + place, name, rng.choice(_JOBS), rng.choice(depots), hired))
    return table(
        "employees",
        "employee_no int | employee_name text | job text | depot_code text | hired_on date",
        rows,
    )


def _tanks(rng: Random) -> SampleTable:
    rows = [
        (f"T{number:02}", rng.choice(("north hall", "south hall")), rng.choice((2000, 5000, 9000)))
        for number in range(1, 15)
    ]
    return table("tanks", "tank_no text | hall text | capacity_litres int", rows)


def _suppliers(rng: Random) -> SampleTable:
    rows = [
        (number, f"{name} Maltings" if number % 2 else f"{name} Hop Gardens", rng.choice(CITIES))
        for number, name in enumerate(("Alder", "Birch", "Cedar", "Elm", "Hazel", "Rowan"), 1)
    ]
    return table("suppliers", "supplier_no int | supplier_name text | city text", rows)


def _ingredients(rng: Random) -> SampleTable:
    rows = [
        (f"I-{number:03}", name, rng.randint(1, 6), money(rng, 1, 30))
        for number, name in enumerate(_INGREDIENTS, 1)
    ]
    return table(
        "ingredients",
        "ingredient_no text | ingredient text | supplier_no int | price_per_kg money",
        rows,
    )


def _recipes(rng: Random, beers: list[str], ingredients: list[str]) -> SampleTable:
    rows = [
        (beer, ingredient, rng.randint(2, 240))
        for beer in beers
        for ingredient in rng.sample(ingredients, 5)
    ]
    return table("recipe_items", "beer_code text | ingredient_no text | grams_per_litre int", rows)
