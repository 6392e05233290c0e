"""Invented words, and the seeded draws that the sample's tables are made of."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, TypeVar

COUNTIES: dict[str, tuple[str, ...]] = {
    "Riverside": ("Riverside", "Millbrook", "Fernhollow"),
    "Lakeshore": ("Port Alder", "Saltmere", "Heron Bay"),
    "Stonefield": ("Stonefield", "Quarry Hill", "Greywall"),
    "Northmoor": ("Northmoor", "Elkridge", "Windle"),
    "Cedar Valley": ("Cedar Cross", "Oakhurst", "Thornby"),
}

CITIES: tuple[str, ...] = tuple(city for cities in COUNTIES.values() for city in cities)

GIVEN_NAMES: tuple[str, ...] = (
    "Adela", "Anselm", "Beatrix", "Bram", "Calla", "Casimir", "Delphine", "Dorian", "Edda", "Emrys",
    "Fenna", "Florian", "Greta", "Gideon", "Hadley", "Henrik", "Imogen", "Ivo", "Jorun", "Jasper",
    "Kerstin", "Kaspar", "Linnea", "Lorcan", "Maren", "Milo", "Nerys", "Nils", "Odile", "Oswin",
    "Petra", "Piers", "Quilla", "Quentin", "Rosalind", "Rufus", "Saskia", "Silas", "Tamsin",
    "Tobias", "Ulla", "Ulric", "Verena", "Viggo", "Wilma", "Wendell", "Yara", "Yorick", "Zelda",
    "Zeno",
)  # fmt: skip

FAMILY_NAMES: tuple[str, ...] = (
    "Alderbrook", "Ambersley", "Barrowmead", "Birchell", "Bramblecote", "Carrowick", "Cindermoor",
    "Clayhanger", "Copperthwaite", "Dapplegrey", "Dunmarrow", "Eddowater", "Elmstrand", "Fallowell",
    "Farthingdale", "Fennimoor", "Gallowglen", "Gorsefield", "Greenhythe", "Harrowgate",
    "Hathersedge", "Hollinbeck", "Inglebright", "Ironwell", "Kestrelwood", "Kettlewick",
    "Lambswold", "Larkendale", "Lindenmere", "Maplethorn", "Marrowby", "Merriwold", "Nettlefold",
    "Netherwick", "Oakenholt", "Otterbourne", "Pebblestone", "Pennyfeather", "Pinderwick",
    "Quarrendon", "Quillfeather", "Ravensmoor", "Redfallow", "Rookhurst", "Rushmere", "Saltonby",
    "Sedgeworth", "Silverlock", "Starlingway", "Tanglewood", "Thistledown", "Thornquist",
    "Underhay", "Vellacombe", "Warblington", "Wetherell", "Whinfield", "Willowbank", "Wrenfield",
    "Yarrowdale",
)  # fmt: skip


T = TypeVar("T")


def full_names(rng: Random, count: int) -> list[str]:
    """Distinct invented names, given name first."""
    every = [f"{given} {family}" for given in GIVEN_NAMES for family in FAMILY_NAMES]
    return rng.sample(every, count)


def day(rng: Random, first: date, last: date) -> date:
    """A day between `first` and `last`, both included."""
    return first + timedelta(days=rng.randint(0, (last - first).days))


def moment(rng: Random, first: date, last: date) -> datetime:
    """A whole minute between six in the morning and ten at night."""
    midnight = datetime.combine(day(rng, first, last), datetime.min.time())
    return midnight + timedelta(minutes=rng.randint(6 * 60, 22 * 60))


def money(rng: Random, low: int, high: int) -> Decimal:
    """An amount with two decimals between `low` and `high`."""
    return Decimal(rng.randint(low * 100, high * 100)).scaleb(-2)


def near(rng: Random, mean: float, spread: float, *, low: float, high: float) -> float:
    """A bell-shaped number with one decimal, held between `low` and `high`."""
    return round(min(high, max(low, rng.gauss(mean, spread))), 1)


def skewed(rng: Random, values: Sequence[T], count: int) -> list[T]:
    """Draws in which a few values come up often and some may not at all, as references do."""
    ranked = rng.sample(values, len(values))
    weights = [1 / (rank + len(values) / 4) for rank in range(1, len(values) + 1)]
    return rng.choices(ranked, weights, k=count)


def pairs(rng: Random, left: Sequence[T], right: Sequence[Any], count: int) -> list[tuple[T, Any]]:
    """`count` distinct pairs, most of them around the values that come up often."""
    drawn: dict[tuple[T, Any], None] = {}
    while len(drawn) < count:
        missing = count - len(drawn)
        sides = zip(skewed(rng, left, missing), skewed(rng, right, missing), strict=True)
        drawn.update(dict.fromkeys(sides))
    return rng.sample(list(drawn), count)


def spoil(rng: Random, values: list[T], share: float, change: Callable[[T], Any]) -> list[Any]:
    """The values with exactly `share` of them, rounded to whole rows, put through `change`."""
    spoilt = set(rng.sample(range(len(values)), round(share * len(values))))
    return [change(value) if row in spoilt else value for row, value in enumerate(values)]


def generator(seed: int, part: str) -> Random:
    """The random numbers of one part of a corpus, so that no part disturbs another."""
    return Random(f"{seed}/{part}")  # noqa: S311  a seeded corpus, no secret
