"""The joins planted in the sample corpus: which column was drawn from which key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail_bench.corpora.utilities import LOSS_STATEMENT

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
