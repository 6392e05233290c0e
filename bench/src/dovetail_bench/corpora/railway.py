"""The county railway: stations, lines, daily runs keyed by train and date, tickets, incidents."""

from datetime import date, timedelta
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, moment, money
from dovetail.sample.render import SampleTable, Tables, by_name, table

_SECOND_STATIONS = {
    "RIH": ("Riverside Harbour", "Riverside"),
    "RIU": ("Riverside University", "Riverside"),
    "PAD": ("Port Alder Docks", "Port Alder"),
    "NOA": ("Northmoor Airport", "Northmoor"),
    "STM": ("Stonefield Market", "Stonefield"),
    "OAP": ("Oakhurst Park", "Oakhurst"),
    "CEW": ("Cedar Cross West", "Cedar Cross"),
}
_LINES = {
    "Coast Line": "blue",
    "Valley Line": "green",
    "Moor Line": "purple",
    "Quarry Branch": "grey",
    "Harbour Loop": "orange",
    "Northern Main": "red",
    "Cedar Link": "brown",
}
_STATUS = {
    "A": "arrived as planned",
    "D": "arrived delayed",
    "C": "cancelled",
    "P": "cut short",
    "B": "replaced by bus",
}
_CAUSES = ("signal failure", "door fault", "crew shortage", "trespass", "fallen tree", "flooding")
_FIRST_DAY = date(2024, 3, 1)


def railway_tables(rng: Random) -> Tables:
    """Draw the domain's tables."""
    stations = _stations(rng)
    lines = _lines(rng)
    stops = _stops(rng, lines.column("line_no"), stations.column("station_code"))
    stock = _rolling_stock(rng, stations.column("station_code"))
    runs = _runs(rng, lines.column("line_no"), stock.column("carNo"))
    status = table("status", "code text | meaning text", _STATUS.items())
    tickets, incidents = _ticket_sales(rng, runs, stops), _incidents(rng, runs)
    return by_name(stations, lines, stops, stock, runs, status, tickets, incidents)


def _stations(rng: Random) -> SampleTable:
    central = {city[:3].upper(): (f"{city} Central", city) for city in CITIES}
    rows = []
    for code, (name, city) in sorted({**central, **_SECOND_STATIONS}.items()):
        opened = day(rng, date(1868, 5, 1), date(1996, 10, 1))
        rows.append((code, name, city, rng.randint(1, 9), opened, rng.random() < 0.6))
    return table(
        "stations",
        "station_code text | station_name text | city text | platforms int | opened date"
        " | step_free bool",
        rows,
    )


def _lines(rng: Random) -> SampleTable:
    operators = ("Meridian Rail", "Blue Heron Trains")
    rows = [
        (number, name, colour, rng.choice(operators))
        for number, (name, colour) in enumerate(_LINES.items(), start=1)
    ]
    return table("lines", "line_no int | line_name text | colour text | operator text", rows)


def _stops(rng: Random, lines: list[int], stations: list[str]) -> SampleTable:
    rows = []
    for line in lines:
        km = 0.0
        for order, station in enumerate(rng.sample(stations, rng.randint(6, 10)), start=1):
            rows.append((line, order, station, round(km, 1)))
            km += rng.uniform(3, 19)
    return table("stops", "line_no int | order int | station_code text | km real", rows)


def _rolling_stock(rng: Random, stations: list[str]) -> SampleTable:
    depots = rng.sample(stations, 4)
    models = {"Swift 3": 184, "Kestrel": 236, "Marten D": 96}
    rows = []
    for number in range(401, 431):
        model = rng.choice(list(models))
        rows.append((number, model, rng.randint(1988, 2021), models[model], rng.choice(depots)))
    return table(
        "RollingStock",
        "carNo int | Model text | BuiltYear int | Seats int | depotStation text",
        rows,
    )


def _runs(rng: Random, lines: list[int], cars: list[int]) -> SampleTable:
    trains = [(100 * line + 2 * number, line) for line in lines for number in range(1, 6)]
    drivers = full_names(rng, 36)
    rows = []
    for run_date in (_FIRST_DAY + timedelta(days=offset) for offset in range(20)):
        for train, line in trains:
            code = rng.choices(list(_STATUS), (70, 18, 5, 4, 3))[0]
            delay = {"A": rng.randint(0, 4), "D": rng.randint(5, 75)}.get(code)
            leaves = f"{5 + train % 17:02}:{rng.choice((5, 20, 35, 50)):02}"
            who, car = rng.choice(drivers), rng.choice(cars)
            rows.append((train, run_date, line, car, who, leaves, code, delay))
    return table(
        "runs",
        "train_no int | run_date date | line_no int | carNo int | driver text"
        " | planned_departure text | status text | delay_min int",
        rows,
    )


def _ticket_sales(rng: Random, runs: SampleTable, stops: SampleTable) -> SampleTable:
    rows = []
    for ticket_no in range(50_001, 51_201):
        train, run_date, line, *_ = rng.choice(runs.rows)
        ends = rng.sample([stop for stop in stops.rows if stop[0] == line], 2)
        (*_, start, start_km), (*_, end, end_km) = sorted(ends, key=lambda stop: stop[1])
        first_class = rng.random() < 0.15
        fare = money(rng, 2, 4) + round(abs(end_km - start_km) * (2 if first_class else 1) / 5)
        sold_at = moment(rng, run_date - timedelta(days=14), run_date)
        seat = "first" if first_class else "standard"
        rows.append((ticket_no, train, run_date, start, end, seat, fare, sold_at))
    return table(
        "ticket_sales",
        "ticket_no int | train_no int | run_date date | from_station text | to_station text"
        " | fare_class text | fare money | sold_at time",
        rows,
    )


def _incidents(rng: Random, runs: SampleTable) -> SampleTable:
    troubled = [row for row in runs.rows if row[6] != "A"]
    rows = []
    for number, run in enumerate(rng.sample(troubled, 110), start=1):
        cause = rng.choice(_CAUSES)
        note = f"{cause} reported by {run[4]}"
        rows.append((f"ST-{number:04}", run[0], run[1], cause, rng.randint(3, 120), note))
    return table(
        "störungen",
        "incident_no text | train_no int | run_date date | cause text | minutes_lost int"
        " | note text",
        rows,
    )
