"""The sample corpus: 77 tables of nine domains in eight sources, which `corpus.zip` holds as files.

The content is ours and dedicated to the public domain (CC0): persons, firms and places are made
up, and any likeness is chance. Keys are real in the data and declared nowhere.

======================  =======================================================================
source                  tables
======================  =======================================================================
civic.sqlite            schools: districts schools buildings test_scores meal_programs staff
                        events school_profile closure_orders
                        railway: stations lines stops RollingStock runs status ticket_sales
                        störungen
hospital.db             wards patients people admissions diagnoses xref lab_tests lab_results
                        allergies_reported
shop.sqlite             accounts group products orders order_items status
warehouse.duckdb        items suppliers map_07 warehouses stock shipments shipment_lines orders
                        recalls
city.duckdb             estate: buildings units people r_17 leases listings `value "as is"`
                        `owners' meetings`
                        utilities: customers tariffs feeders meters invoices 2024_outages
                        system_settings, and the loss statement with the very long name
exports/ (CSV, TSV)     library: authors titles lnk branches copies members loans events
                        `fines waived`; the shop's shop_customers
lake/ (Parquet)         university: departments people courses offerings students enrolments
                        group t_rel_2; the utility's meter_readings
events.jsonl            the shop's events, with nested values
======================  =======================================================================

What is odd on purpose:

- One name, several tables: buildings, events, group, orders, people, status.
- Junction tables whose names say nothing: xref, lnk, map_07, r_17, t_rel_2 (all a_id, b_id).
- Noisy keys: admissions.patient_id has 3% orphans, lab_results.admission_id 8% nulls,
  shipment_lines.sku 6% blanks or lower case, meal_programs.school_code is text for an integer,
  estate people.person_ref holds six keys twice.
- Composite keys: runs (train_no, run_date), offerings (term, course_no), stock (wh_code, sku).
- Hierarchies: staff.manager_id, people.supervisor_no, people.mentor_no, the shop's
  group.parent_id; one to one: school_profile.
- Nothing there: closure_orders, allergies_reported, recalls and `fines waived` have no rows,
  accounts.fax and estate buildings.demolished_on no values, system_settings one row.
- Awkward names: straße, 型号, geo.lat, `loss %`, `size "net"`, `owner's ref`, `reason for stay`,
  order, select, group, carNo.
- Joins across sources: shop_customers.crm_code to accounts, orders.customer_ref to
  shop_customers, meter_readings.meter_id to meters, warehouse orders.school_id to schools,
  products.sku to items, shop orders.shipment_no to shipments, members.student_no to students.
"""

from importlib.resources import files
from pathlib import Path
from zipfile import ZipFile

from dovetail.sample import write_company

_NEIGHBOURS = ("civic.sqlite", "events.jsonl", "exports/shop_customers.csv", "shop.sqlite",
               "warehouse.duckdb")  # fmt: skip


def write_corpus(into: Path) -> tuple[Path, ...]:
    """Write the sample corpus below `into` and return the sources (files and folders) to index."""
    with files(__name__).joinpath("corpus.zip").open("rb") as packed, ZipFile(packed) as corpus:
        corpus.extractall(into)
    return tuple(sorted(into.iterdir()))


def write_brewery(into: Path) -> tuple[Path, ...]:
    """Write the brewery's own sources of the demo's pile below `into`, and return them."""
    write_company(into)
    for neighbour in _NEIGHBOURS:
        (into / neighbour).unlink()
    return tuple(into / source for source in ("brewery.sqlite", "taprooms.duckdb", "exports"))
