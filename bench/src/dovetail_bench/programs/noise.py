"""How much noise does join evidence bear? Edges of a clean corpus, with noise added kind by kind.

    dovetail bench run noise [--seed 1] [--json]

The corpus is the bundled sample, with the noise that it comes with mended; the joins planted in it
are known. Noise is put into the referencing columns (duplicates into the tables referred to), from
1% to 20% of the rows. What is drawn follows from the seed and the cell: what is noisy at 5% is
noisy at 10% too. Every corpus is written, indexed and scored anew.

recall     planted joins with an edge above 0.5, and none better between the tables that is wrong;
           only of those whose values the kind of noise can touch
precision  edges of one column between two tables above 0.5 that are true
"""

from __future__ import annotations

import argparse
import json
import string
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

import dovetail
from dovetail.domain import JoinEdge, TableId
from dovetail.joins.evidence import work_out
from dovetail.sample.render import write_parquet
from dovetail.sample.table import Kind, Row, SampleTable, Tables
from dovetail_bench.corpora.corpus import draw_corpus
from dovetail_bench.corpora.utilities import LOSS_STATEMENT

LEVELS = (0, 1, 2, 5, 10, 15, 20)
Corpus = dict[str, Tables]

# By domain: the columns that were drawn from another table's key (dovetail/sample/*.py).
PLANTED = {
    "schools": """
        schools.district_code = districts.district_code
        buildings.school_id = schools.school_id
        test_scores.school_id = schools.school_id
        meal_programs.school_code = schools.school_id
        staff.school_id = schools.school_id
        events.school_id = schools.school_id
        school_profile.school_id = schools.school_id""",
    "railway": """
        stops.line_no = lines.line_no
        stops.station_code = stations.station_code
        RollingStock.depotStation = stations.station_code
        runs.line_no = lines.line_no
        runs.carNo = RollingStock.carNo
        runs.status = status.code
        ticket_sales.from_station = stations.station_code
        ticket_sales.to_station = stations.station_code""",
    "hospital": """
        people.ward_code = wards.ward_code
        admissions.patient_id = patients.patient_id
        admissions.ward_code = wards.ward_code
        admissions.attending_no = people.person_no
        xref.a_id = admissions.admission_id
        xref.b_id = diagnoses.diagnosis_id
        lab_results.admission_id = admissions.admission_id
        lab_results.test_code = lab_tests.test_code""",
    "shop": """
        products.group = group.group_id
        products.sku = warehouse/items.sku
        orders.customer_ref = shop_customers.customer_ref
        orders.status = status.status
        orders.shipment_no = warehouse/shipments.shipment_no
        order_items.order_no = orders.order_no
        order_items.product_id = products.product_id
        shop_customers.crm_code = accounts.account_code
        events.customer_ref = shop_customers.customer_ref""",
    "warehouse": """
        map_07.a_id = suppliers.supplier_id
        map_07.b_id = items.item_id
        shipments.wh_code = warehouses.wh_code
        stock.wh_code = warehouses.wh_code
        stock.sku = items.sku
        shipment_lines.shipment_no = shipments.shipment_no
        shipment_lines.sku = items.sku
        orders.supplier_id = suppliers.supplier_id
        orders.school_id = schools/schools.school_id
        orders.sku = items.sku""",
    "estate": """
        units.building_code = buildings.building_code
        r_17.a_id = units.unit_id
        r_17.b_id = people.person_ref
        leases.unit_id = units.unit_id
        leases.tenant_ref = people.person_ref
        leases.owner's ref = people.person_ref
        listings.unit_id = units.unit_id
        listings.agent_ref = people.person_ref
        value "as is".building_code = buildings.building_code
        owners' meetings.building_code = buildings.building_code""",
    "utilities": f"""
        customers.tariff_code = tariffs.tariff_code
        meters.customer_no = customers.customer_no
        meters.building_code = estate/buildings.building_code
        meters.feeder_no = feeders.feeder_no
        invoices.meter_id = meters.meter_id
        2024_outages.feeder_no = feeders.feeder_no
        {LOSS_STATEMENT}.feeder_no = feeders.feeder_no
        meter_readings.meter_id = meters.meter_id""",
    "library": """
        lnk.a_id = titles.title_no
        lnk.b_id = authors.author_no
        copies.call_no = titles.call_no
        copies.branch_code = branches.branch_code
        loans.barcode = copies.barcode
        loans.member_no = members.member_no
        events.branch_code = branches.branch_code
        members.student_no = university/students.student_no""",
    "university": """
        people.dept_code = departments.dept_code
        departments.head_no = people.person_no
        courses.dept_code = departments.dept_code
        offerings.course_no = courses.course_no
        offerings.lecturer_no = people.person_no
        students.major = departments.dept_code
        enrolments.student_no = students.student_no
        enrolments.course_no = courses.course_no
        group.course_no = courses.course_no
        t_rel_2.a_id = students.student_no
        t_rel_2.b_id = group.group_id""",
}


# True as well, but neither made noisy nor asked for: the shop's products are the warehouse's items.
ACCEPTED = {
    "shop": """
        events.sku = products.sku
        events.sku = warehouse/items.sku
        products.product_name = warehouse/items.item_name
        group.group_name = warehouse/items.category""",
    "warehouse": """
        stock.sku = shop/products.sku
        shipment_lines.sku = shop/products.sku
        orders.sku = shop/products.sku""",
}


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """A column of the corpus."""

    domain: str
    table: str
    name: str


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A column drawn from a key."""

    child: Column
    parent: Column

    @property
    def ends(self) -> frozenset[Column]:
        return frozenset((self.child, self.parent))


def references(written: Mapping[str, str]) -> list[Reference]:
    """The references of every domain; a table of another domain is written domain/table."""

    def column(domain: str, text: str) -> Column:
        home, slash, rest = text.partition("/")
        table, name = (rest if slash else text).rsplit(".", 1)
        return Column(home if slash else domain, table, name)

    return [
        Reference(*(column(domain, side) for side in line.strip().split(" = ")))
        for domain, lines in written.items()
        for line in lines.strip().splitlines()
    ]


def clean_corpus(planted: Iterable[Reference], seed: int) -> Corpus:
    """The sample corpus without orphans in planted references and without repeated keys."""
    corpus = draw_corpus()
    for parent in sorted({each.parent for each in planted}):
        table = corpus[parent.domain][parent.table]
        once = dict(zip(table.column(parent.name), table.rows, strict=True))
        _put(corpus, parent, replace(table, rows=tuple(once.values())))
    for each in planted:
        rng = Random(f"{seed}/{each.child}")
        known = corpus[each.parent.domain][each.parent.table].column(each.parent.name)
        known_texts = {str(value) for value in known}
        table = corpus[each.child.domain][each.child.table]
        values = [
            value if value is None or str(value) in known_texts else rng.choice(known)
            for value in table.column(each.child.name)
        ]
        _put(corpus, each.child, with_column(table, each.child.name, values))
    return corpus


def with_column(table: SampleTable, name: str, values: Sequence[object]) -> SampleTable:
    """A table with other values in one column."""
    place = list(table.columns).index(name)
    rows: list[Row] = [
        (*row[:place], value, *row[place + 1 :])
        for row, value in zip(table.rows, values, strict=True)
    ]
    return replace(table, rows=tuple(rows))


def _put(corpus: Corpus, column: Column, table: SampleTable) -> None:
    corpus[column.domain] = {**corpus[column.domain], column.table: table}


# What becomes of a value, given as text: another text, or nothing. Unchanged where the kind of
# noise does not apply.
Noise = Callable[[str, Random, Collection[str]], str | None]


def orphan(text: str, rng: Random, known: Collection[str]) -> str:
    """A value of the same shape that no parent has."""
    while text in known:
        if text.isdecimal():
            text = str(int(text) + rng.randint(1, 9) * 10 ** len(text))
        else:
            drawn = string.digits if any(map(str.isdecimal, text)) else string.ascii_uppercase
            made = "".join(rng.choice(drawn) if each in drawn else each for each in text)
            text = made if made != text else text + rng.choice(drawn)
    return text


def null(_text: str, _rng: Random, _known: Collection[str]) -> None:
    """No value."""
    return


def as_type(text: str, rng: Random, _known: Collection[str]) -> str:
    """A number as a spreadsheet or a form writes it: 7.0, 007."""
    return rng.choice((f"{text}.0", f"00{text}")) if text.isdecimal() else text


def other_case(text: str, _rng: Random, _known: Collection[str]) -> str:
    """In small letters, or in capitals where it was small."""
    return text.lower() if text != text.lower() else text.upper()


def blanks(text: str, rng: Random, _known: Collection[str]) -> str:
    """With blanks around it."""
    return rng.choice((f" {text}", f"{text} ", f"{text}   ", f"\t{text}", f"{text}\u00a0"))


CELLS: dict[str, Noise] = {
    "orphans": orphan,
    "nulls": null,
    "type drift": as_type,
    "case drift": other_case,
    "whitespace": blanks,
}


def mixed(text: str, rng: Random, known: Collection[str]) -> str | None:
    """One of the kinds that apply."""
    for noise in rng.sample(list(CELLS.values()), len(CELLS)):
        made = noise(text, rng, known)
        if made != text:
            return made
    return text


KINDS: dict[str, Noise | None] = {**CELLS, "duplicates": None, "mixed": mixed}


def add_noise(
    corpus: Corpus, planted: Sequence[Reference], kind: str, share: float, seed: int
) -> Corpus:
    """The corpus with a share of noise of one kind."""
    made = dict(corpus)
    noise = KINDS[kind]
    if noise is not None:
        for each in planted:
            table = noisy_column(made, each, noise, share, f"{seed}/{kind}")
            _put(made, each.child, table)
    if kind in ("duplicates", "mixed"):
        # In the mixture a cell has one of the kinds: every kind has an equal part.
        twice = share if kind == "duplicates" else share / len(CELLS)
        for domain, name in sorted({(each.parent.domain, each.parent.table) for each in planted}):
            rng = Random(f"{seed}/{kind}/{domain}/{name}")
            table = made[domain][name]
            again = tuple(row for row in table.rows if rng.random() < twice)
            made[domain] = {**made[domain], name: replace(table, rows=table.rows + again)}
    return made


def noisy_column(
    corpus: Corpus, reference: Reference, noise: Noise, share: float, seed: str
) -> SampleTable:
    """The child's table with noise in a share of the references."""
    child, parent = reference.child, reference.parent
    known = {str(value) for value in corpus[parent.domain][parent.table].column(parent.name)}
    table = corpus[child.domain][child.table]
    rng = Random(f"{seed}/{child}")
    values: list[str | None] = []
    for place, value in enumerate(table.column(child.name)):
        hit = rng.random() < share
        text = None if value is None else str(value)
        if hit and text is not None:
            # A generator per cell: more noise elsewhere does not change this cell's.
            text = noise(text, Random(f"{seed}/{child}/{place}"), known)
        values.append(text)
    if table.columns[child.name] is not Kind.INT:
        return with_column(table, child.name, values)
    if all(value is None or _is_number(value) for value in values):
        numbers = [None if value is None else int(value) for value in values]
        return with_column(table, child.name, numbers)
    # A number that is not written as one makes the whole column text.
    text_table = replace(table, columns={**table.columns, child.name: Kind.TEXT})
    return with_column(text_table, child.name, values)


def _is_number(text: str) -> bool:
    return text.isdecimal() and str(int(text)) == text


def touched(corpus: Corpus, planted: Iterable[Reference], kind: str) -> list[Reference]:
    """The references whose values a kind of noise changes."""
    noise = KINDS[kind]
    if noise is None:
        return list(planted)
    found = []
    for each in planted:
        values = corpus[each.child.domain][each.child.table].column(each.child.name)
        texts = {str(value) for value in values if value is not None}
        if any(noise(text, Random(0), texts) != text for text in texts):
            found.append(each)
    return found


def edges_of_corpus(corpus: Corpus) -> list[JoinEdge]:
    """Write, index and score a corpus; its edges of one column between two tables."""
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for domain, tables in corpus.items():
            sources.append(Path(folder) / domain)
            sources[-1].mkdir()
            for name, table in tables.items():
                write_parquet(sources[-1] / f"{name}.parquet", table)
        catalog = dovetail.build(*map(str, sources), into=Path(folder) / "catalog")
        return [
            edge
            for edge in work_out(catalog.reader)
            if edge.score > 0.5 and len(edge.columns) == 1 and edge.left != edge.right
        ]


@dataclass(frozen=True, slots=True)
class Measured:
    """How well the edges of a noisy corpus agree with what was planted."""

    kind: str
    percent: int
    planted: int
    recall: float
    precision: float


def measure(
    edges: Iterable[JoinEdge], asked: Sequence[Reference], true: Collection[frozenset[Column]]
) -> tuple[float, float]:
    """Recall of the references asked for, and precision of all edges."""
    scored = [(_ends(edge), edge.score) for edge in edges]
    scores: dict[frozenset[Column], float] = {}
    wrong: dict[frozenset[tuple[str, str]], float] = {}
    for ends, score in scored:
        scores[ends] = max(score, scores.get(ends, 0.0))
        if ends not in true:
            wrong[_tables(ends)] = max(score, wrong.get(_tables(ends), 0.0))
    found = sum(
        scores.get(each.ends, 0.0) > wrong.get(_tables(each.ends), 0.0)
        for each in asked
        if each.ends in scores
    )
    right = sum(ends in true for ends, _ in scored)
    return found / len(asked), right / len(scored) if scored else 1.0


def _ends(edge: JoinEdge) -> frozenset[Column]:
    def column(table: TableId, name: str) -> Column:
        return Column(Path(table.source).name, table.name, name)

    ((left, right),) = edge.columns
    return frozenset((column(edge.left, left), column(edge.right, right)))


def _tables(ends: frozenset[Column]) -> frozenset[tuple[str, str]]:
    return frozenset((each.domain, each.table) for each in ends)


def measure_all(seed: int) -> list[Measured]:
    """Every kind at every level."""
    planted = references(PLANTED)
    true = {each.ends for each in [*planted, *references(ACCEPTED)]}
    corpus = clean_corpus(planted, seed)
    clean = edges_of_corpus(corpus)
    results = []
    for kind in KINDS:
        asked = touched(corpus, planted, kind)
        for percent in LEVELS:
            noisy = add_noise(corpus, planted, kind, percent / 100, seed) if percent else corpus
            edges = edges_of_corpus(noisy) if percent else clean
            results.append(Measured(kind, percent, len(asked), *measure(edges, asked, true)))
    return results


def markdown(results: Sequence[Measured]) -> str:
    """The figures as a table: recall / precision."""
    at = {(each.kind, each.percent): each for each in results}
    lines = [
        f"| noise | joins | {' | '.join(f'{level}%' for level in LEVELS)} |",
        f"|---|---|{'---|' * len(LEVELS)}",
    ]
    for kind in KINDS:
        row = [at[kind, level] for level in LEVELS]
        cells = " | ".join(f"{_short(e.recall)} / {_short(e.precision)}" for e in row)
        lines.append(f"| {kind} | {row[0].planted} | {cells} |")
    return "\n".join(lines)


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 1 else "1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="which cells are noisy")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    results = measure_all(options.seed)
    if options.json:
        print(json.dumps([asdict(each) for each in results], indent=1))
    else:
        print(markdown(results))


if __name__ == "__main__":
    main()
