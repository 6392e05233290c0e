"""The public library: titles and authors, copies in branches, members, loans and events."""

from datetime import date, timedelta
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, money, pairs, skewed
from dovetail.sample.render import SampleTable, Tables, by_name, table
from dovetail_bench.corpora.estate import STREETS

_ADJECTIVES = (
    "Amber", "Broken", "Crooked", "Distant", "Drowned", "Empty", "Gilded", "Hidden", "Hollow",
    "Last", "Lonely", "Paper", "Quiet", "Restless", "Salt", "Second", "Silver", "Stolen", "Velvet",
    "Winter",
)  # fmt: skip
_NOUNS = (
    "Archive", "Atlas", "Bridge", "Cartographer", "Clockmaker", "Ferry", "Garden", "Harbour",
    "Island", "Ledger", "Lighthouse", "Map", "Orchard", "Passage", "River", "Signal", "Summer",
    "Tower",
)  # fmt: skip
_PUBLISHERS = ("Fox & Finch", "Harbour Press", "Lantern House", "Inkwell", "Northmoor Books")
_LANGUAGES = ("English", "German", "French", "Polish")
_PRIZES = ("Golden Quill", "Heron Medal", "Riverside Prize")
_EVENTS = ("Story Hour", "Poetry Night", "Author Talk", "Book Swap", "Repair Cafe", "Map Workshop")


def library_tables(rng: Random, student_nos: list[int]) -> Tables:
    """Draw the domain's tables; some members are students of the university."""
    authors, titles, branches = _authors(rng), _titles(rng), _branches(rng)
    copies = _copies(rng, titles.column("call_no"), branches.column("branch_code"))
    members = _members(rng, student_nos)
    written_by = pairs(rng, titles.column("title_no"), authors.column("author_no"), 360)
    return by_name(
        authors,
        titles,
        table("lnk", "a_id int | b_id int", written_by),
        branches,
        copies,
        members,
        _loans(rng, copies.column("barcode"), members.column("member_no")),
        _events(rng, branches.column("branch_code")),
        table("fines waived", "loan_no int | waived_on date | amount money"),
    )


def _authors(rng: Random) -> SampleTable:
    rows = []
    for author_no, name in enumerate(full_names(rng, 110), start=1):
        prize = rng.choice(_PRIZES) if rng.random() < 0.25 else None
        rows.append((author_no, name, rng.randint(1931, 1974), rng.choice(_LANGUAGES), prize))
    return table(
        "authors",
        "author_no int | author text | born int | writes_in text | prize text",
        rows,
    )


def _titles(rng: Random) -> SampleTable:
    wordings = [f"The {adjective} {noun}" for adjective in _ADJECTIVES for noun in _NOUNS]
    rows = []
    for title_no, title in enumerate(rng.sample(wordings, 280), start=1):
        genre = rng.choice(("Mystery", "Novel", "History", "Travel", "Poetry", "Science"))
        call_no = f"{genre[:3].upper()} {title_no:04}"
        language = rng.choices(_LANGUAGES, (7, 2, 2, 1))[0]
        year, house, pages = rng.randint(1995, 2023), rng.choice(_PUBLISHERS), rng.randint(60, 820)
        rows.append((title_no, call_no, title, genre, language, year, house, pages))
    return table(
        "titles",
        "title_no int | call_no text | title text | genre text | language text | published int"
        " | publisher text | pages int",
        rows,
    )


def _branches(rng: Random) -> SampleTable:
    rows = []
    for city in ("Riverside", *rng.sample(CITIES[1:], 7)):
        street = f"{rng.randint(1, 90)} {rng.choice(STREETS)}"
        opened = day(rng, date(1911, 1, 1), date(2009, 1, 1))
        rows.append((f"BR-{city[:3].upper()}", f"{city} Library", street, city, opened))
    return table(
        "branches",
        "branch_code text | branch_name text | straße text | city text | opened date",
        rows,
    )


def _copies(rng: Random, call_nos: list[str], branches: list[str]) -> SampleTable:
    rows = []
    for number, call_no in enumerate(call_nos + skewed(rng, call_nos, 370), start=1):
        condition = rng.choices(("new", "good", "worn", "lost"), (2, 6, 3, 1))[0]
        price = money(rng, 6, 48)
        rows.append((f"C{number:05}", call_no, rng.choice(branches), condition, price))
    return table(
        "copies",
        "barcode text | call_no text | branch_code text | condition text | price money",
        rows,
    )


def _members(rng: Random, student_nos: list[int]) -> SampleTable:
    students = iter(rng.sample(student_nos, 80))
    others = ("adult", "adult", "child", "senior")
    rows = []
    for place, name in enumerate(full_names(rng, 320)):
        category = "student" if place % 4 == 0 else rng.choice(others)
        student_no = next(students) if category == "student" else None
        joined = day(rng, date(2012, 1, 1), date(2022, 12, 31))
        rows.append((80_001 + place, name, category, rng.choice(CITIES), joined, student_no))
    return table(
        "members",
        "member_no int | full_name text | category text | city text | joined_on date"
        " | student_no int",
        rows,
    )


def _loans(rng: Random, barcodes: list[str], members: list[int]) -> SampleTable:
    rows = []
    drawn = zip(skewed(rng, barcodes, 1000), skewed(rng, members, 1000), strict=True)
    for loan_no, (barcode, member_no) in enumerate(drawn, start=1):
        lent = day(rng, date(2023, 1, 2), date(2024, 5, 31))
        due = lent + timedelta(days=28)
        back = lent + timedelta(days=rng.randint(1, 45)) if rng.random() < 0.93 else None
        rows.append((loan_no, barcode, member_no, lent, due, back))
    return table(
        "loans",
        "loan_no int | barcode text | member_no int | lent_on date | due_on date"
        " | returned_on date",
        rows,
    )


def _events(rng: Random, branches: list[str]) -> SampleTable:
    rows = []
    for number in range(1, 86):
        seats = rng.choice((20, 40, 60, 120))
        takes_place = day(rng, date(2023, 2, 1), date(2024, 6, 15))
        audience, booked = rng.choice(("children", "adults", "everyone")), rng.randint(0, seats)
        title, branch = rng.choice(_EVENTS), rng.choice(branches)
        rows.append((f"EV{number:03}", branch, title, audience, takes_place, seats, booked))
    return table(
        "events",
        "event_code text | branch_code text | title text | audience text | takes_place_on date"
        " | seats int | booked int",
        rows,
    )
