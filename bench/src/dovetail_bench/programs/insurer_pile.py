"""An insurer's pile, drawn from a seed, the joins planted in it, and its questions.

Four systems: policies in SQLite (dense ids everywhere), claims in DuckDB (other names, numbers
without punctuation, e-mails in any case), a hospital's exports in CSV (padded numbers), a haulier's
SQLite (short key names, composite keys, codes with a prefix). Nothing is declared.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

Columns = dict[str, list[Any]]
Pile = dict[str, dict[str, Columns]]

# child table.columns = parent table.columns; the table of another system is written system/table.
TRUTH: Mapping[str, str] = {
    "policies": """
        policy.holder_id = partner.partner_id
        policy.agent_id = agent.agent_id
        policy.product_code = product.code
        coverage.policy_id = policy.policy_id
        coverage.type_code = coverage_type.type_code
        premium.policy_id,cov_no = coverage.policy_id,cov_no
        partner_address.partner_id = partner.partner_id
        agent.region_id = region.region_id
        agent.supervisor_id = agent.agent_id
        beneficiary.policy_id = policy.policy_id
        beneficiary.partner_id = partner.partner_id""",
    "claims": """
        claim.pol_no = policies/policy.policy_no
        claim.reporter_mail = policies/partner.email
        claim_item.cid = claim.cid
        claim_payment.cid = claim.cid
        claim_payment.bank_id = bank.bank_id
        assignment.cid = claim.cid
        assignment.aid = adjuster.aid
        claim.cause = cause_code.cause
        expert_opinion.cid = claim.cid""",
    "hospital": """
        admissions.PATNR = patients.PATNR
        diagnoses.FALNR = admissions.FALNR
        diagnoses.ICD = icd_catalogue.ICD
        invoices.FALNR = admissions.FALNR
        admissions.STATION = wards.STATION
        patients.Insured No. = policies/partner.partner_no
        invoices.Claim Ref = claims/claim.claim_no""",
    "haulage": """
        leg.sid = shipment.sid
        leg.vid = vehicle.vid
        leg.from_depot = depot.depot_code
        leg.to_depot = depot.depot_code
        trip_stop.sid,leg_no = leg.sid,leg_no
        vehicle.home_depot = depot.depot_code
        damage_report.sid = shipment.sid
        damage_report.claim_no = claims/claim.claim_no
        fuel_card.vid = vehicle.vid
        shipment.customer_no = policies/partner.partner_no
        driver.depot = depot.depot_code
        leg.drv_id = driver.drv_id""",
}
ACCEPTED: Mapping[str, str] = {
    "policies": """
        premium.policy_id = policy.policy_id""",
    "hospital": """
        patients.Insured No. = haulage/shipment.customer_no
        invoices.Claim Ref = haulage/damage_report.claim_no""",
    "haulage": """
        trip_stop.sid = shipment.sid""",
}


def make_pile(seed: int = 1) -> Pile:
    """The tables of all systems, drawn from a seed."""
    random = Random(seed)
    policies = _policies(random)
    claims = _claims(random, policies)
    return {
        "policies": policies,
        "claims": claims,
        "hospital": _hospital(random, policies, claims),
        "haulage": _haulage(random, policies, claims),
    }


def _some(random: Random, values: Sequence[Any], count: int) -> list[Any]:
    return [random.choice(values) for _ in range(count)]


def _days(random: Random, count: int) -> list[str]:
    start = date(2018, 1, 1)
    return [str(start + timedelta(days=random.randrange(2000))) for _ in range(count)]


def _numbers(random: Random, most: int, count: int) -> list[int]:
    return [random.randrange(1, most) for _ in range(count)]


def _policies(random: Random) -> dict[str, Columns]:
    partners, count, agents = list(range(1, 1201)), 2500, list(range(1, 61))
    names = [f"{random.choice('ABCDEFGH')}{random.choice('aeiou')}ndt {n}" for n in partners]
    numbers = random.sample(range(4_200_000, 4_300_000), len(partners))
    ids = list(range(1, count + 1))
    cover = [(policy, at) for policy in ids for at in range(1, random.randrange(2, 5))]
    paid = [random.choice(cover) for _ in range(6000)]
    products = ["MOT", "HOM", "LIA", "LEG", "TRV"]
    return {
        "partner": {
            "partner_id": partners,
            "partner_no": numbers,
            "full_name": names,
            "email": [f"{name.lower().replace(' ', '.')}@post.example" for name in names],
            "born": _days(random, len(partners)),
        },
        "partner_address": {
            "address_id": list(range(1, 1301)),
            "partner_id": _some(random, partners, 1300),
            "town": _some(random, ["Aston", "Bexley", "Corby", "Derby"], 1300),
        },
        "region": {"region_id": list(range(1, 9)), "region_name": [f"Area {n}" for n in range(8)]},
        "agent": {
            "agent_id": agents,
            "agent_name": [f"Agent {n * 7}" for n in agents],
            "region_id": _some(random, range(1, 9), 60),
            "supervisor_id": [None] * 5 + _some(random, agents[:5], 55),
        },
        "product": {"code": products, "title": [f"{code.title()} cover" for code in products]},
        "policy": {
            "policy_id": ids,
            "policy_no": [f"P-{2010 + n % 9}-{n:06d}" for n in ids],
            "holder_id": _some(random, partners, count),
            "agent_id": _some(random, agents, count),
            "product_code": _some(random, products, count),
            "insured_sum": _numbers(random, 900, count),
            "start_year": [2010 + n % 9 for n in ids],
        },
        "coverage_type": {"type_code": ["A1", "B1", "B2", "C1"], "label": list("wxyz")},
        "coverage": {
            "policy_id": [policy for policy, _ in cover],
            "cov_no": [at for _, at in cover],
            "type_code": _some(random, ["A1", "B1", "B2", "C1"], len(cover)),
            "deductible": _numbers(random, 50, len(cover)),
        },
        "premium": {
            "premium_id": list(range(1, 6001)),
            "policy_id": [policy for policy, _ in paid],
            "cov_no": [at for _, at in paid],
            "due_on": _days(random, 6000),
            "amount": _numbers(random, 400, 6000),
        },
        "beneficiary": {
            "policy_id": _some(random, ids, 700),
            "partner_id": _some(random, partners, 700),
            "percent": _some(random, [25, 50, 100], 700),
        },
    }


def _claims(random: Random, policies: dict[str, Columns]) -> dict[str, Columns]:
    count, cids = 1800, list(range(1, 1801))
    mails = [
        mail.title() if random.random() < 0.2 else mail
        for mail in _some(random, policies["partner"]["email"], count)
    ]
    causes = ["FIR", "WAT", "THF", "COL", "GLS"]
    return {
        "claim": {
            "cid": cids,
            "claim_no": [f"CL{n * 13 + 70000}" for n in cids],
            "pol_no": [
                number.replace("-", "")
                for number in _some(random, policies["policy"]["policy_no"], count)
            ],
            "reporter_mail": mails,
            "cause": _some(random, causes, count),
            "reported": _days(random, count),
        },
        "cause_code": {"cause": causes, "meaning": ["fire", "water", "theft", "impact", "glass"]},
        "claim_item": {
            "item_id": list(range(1, 4001)),
            "cid": _some(random, cids, 4000),
            "qty": _numbers(random, 12, 4000),
            "estimate": _numbers(random, 3000, 4000),
        },
        "bank": {"bank_id": list(range(1, 31)), "bic": [f"BK{n * 37:05d}XX" for n in range(30)]},
        "claim_payment": {
            "pay_id": list(range(1, 1501)),
            "cid": _some(random, cids, 1500),
            "bank_id": _some(random, range(1, 31), 1500),
            "amount": _numbers(random, 3000, 1500),
        },
        "adjuster": {"aid": list(range(1, 41)), "full_name": [f"Adj {n * 3}" for n in range(40)]},
        "assignment": {
            "aid": _some(random, range(1, 41), 1900),
            "cid": _some(random, cids, 1900),
            "since": _days(random, 1900),
        },
        "expert_opinion": {
            "opinion_id": list(range(1, 301)),
            "cid": random.sample(cids, 300),
            "pages": _numbers(random, 90, 300),
        },
    }


def _hospital(
    random: Random, policies: dict[str, Columns], claims: dict[str, Columns]
) -> dict[str, Columns]:
    patients = [f"{n:08d}" for n in random.sample(range(10, 90_000), 600)]
    cases = [f"{n:010d}" for n in random.sample(range(500, 800_000), 1500)]
    wards = ["INN", "CHI", "URO", "PED"]
    icd = [f"{letter}{n:02d}.{n % 9}" for letter in "CIJKS" for n in range(20)]
    return {
        "patients": {
            "PATNR": patients,
            "Insured No.": [
                f"{number:010d}" for number in random.sample(policies["partner"]["partner_no"], 600)
            ],
            "Sex": _some(random, ["m", "f"], 600),
        },
        "admissions": {
            "FALNR": cases,
            "PATNR": _some(random, patients, 1500),
            "STATION": _some(random, wards, 1500),
            "Days": _numbers(random, 30, 1500),
        },
        "wards": {"STATION": wards, "Beds": [12, 18, 9, 20]},
        "diagnoses": {
            "FALNR": _some(random, cases, 2600),
            "Rank": _numbers(random, 5, 2600),
            "ICD": _some(random, icd, 2600),
        },
        "icd_catalogue": {"ICD": icd, "Text": [f"condition {n}" for n in range(len(icd))]},
        "invoices": {
            "Invoice": [f"R{n * 11 + 5000}" for n in range(900)],
            "FALNR": _some(random, cases, 900),
            "Claim Ref": [
                f"{number[:2]}-{number[2:]}".lower()
                for number in _some(random, claims["claim"]["claim_no"], 900)
            ],
            "Total": _numbers(random, 9000, 900),
        },
    }


def _haulage(
    random: Random, policies: dict[str, Columns], claims: dict[str, Columns]
) -> dict[str, Columns]:
    sids, vids, drivers = list(range(1, 1001)), list(range(1, 81)), list(range(1, 121))
    depots = [f"D-{n:02d}" for n in range(1, 25)]
    bare = [depot.replace("-", "") for depot in depots]
    legs = [(sid, at) for sid in sids for at in range(1, random.randrange(2, 5))]
    stops = [leg for leg in legs for _ in range(2)]
    return {
        "shipment": {
            "sid": sids,
            "customer_no": _some(random, policies["partner"]["partner_no"], len(sids)),
            "weight": _numbers(random, 24000, len(sids)),
            "pallets": _numbers(random, 34, len(sids)),
        },
        "leg": {
            "sid": [sid for sid, _ in legs],
            "leg_no": [at for _, at in legs],
            "vid": _some(random, vids, len(legs)),
            "drv_id": _some(random, drivers, len(legs)),
            "from_depot": _some(random, bare, len(legs)),
            "to_depot": _some(random, bare, len(legs)),
            "km": _numbers(random, 900, len(legs)),
        },
        "trip_stop": {
            "stop_id": list(range(1, len(stops) + 1)),
            "sid": [sid for sid, _ in stops],
            "leg_no": [at for _, at in stops],
            "minutes": _numbers(random, 90, len(stops)),
        },
        "vehicle": {
            "vid": vids,
            "plate": [f"KX{n * 17 + 1000}" for n in vids],
            "home_depot": _some(random, depots, len(vids)),
        },
        "driver": {
            "drv_id": drivers,
            "name": [f"Driver {n * 5}" for n in drivers],
            "depot": _some(random, depots, len(drivers)),
        },
        "depot": {"depot_code": depots, "docks": _numbers(random, 20, len(depots))},
        "damage_report": {
            "report_id": list(range(1, 201)),
            "sid": random.sample(sids, 200),
            "claim_no": random.sample(claims["claim"]["claim_no"], 200),
        },
        "fuel_card": {
            "card": [f"700{n * 31 + 10000}" for n in vids],
            "vid": random.sample(vids, len(vids)),
        },
        "calendar": {
            "day": [str(date(2018, 1, 1) + timedelta(days=n)) for n in range(2200)],
            "week": [n // 7 % 52 + 1 for n in range(2200)],
        },
    }


def write_pile(pile: Pile, folder: Path) -> list[str]:
    """Write every system in its format; returns what to index."""
    for system in ("policies", "haulage"):
        with closing(sqlite3.connect(folder / f"{system}.sqlite")) as database:
            for name, columns in pile[system].items():
                marks = ", ".join("?" * len(columns))
                database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
                rows = zip(*columns.values(), strict=True)
                database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            database.commit()
    with closing(duckdb.connect(folder / "claims.duckdb")) as warehouse:
        for name, columns in pile["claims"].items():
            warehouse.register("given", pa.table(columns))
            warehouse.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    exports = folder / "hospital"
    exports.mkdir()
    for name, columns in pile["hospital"].items():
        lines = [columns.keys(), *zip(*columns.values(), strict=True)]
        text = "\n".join(";".join(map(str, line)) for line in lines) + "\n"
        (exports / f"{name}.csv").write_text(text, encoding="utf-8")
    files = ["policies.sqlite", "claims.duckdb", "hospital", "haulage.sqlite"]
    return [
        f"{system}={folder / file}"
        for system, file in zip(("policies", "claims", "hospital", "haulage"), files, strict=True)
    ]
