"""A hospital: patients, wards, admissions, diagnoses, staff and laboratory results."""

from datetime import date, timedelta
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, moment, money, near, pairs, skewed, spoil
from dovetail.sample.render import SampleTable, Tables, by_name, table

_WARDS = (
    "Cardiology", "Neurology", "Oncology", "Maternity", "Paediatrics", "Orthopaedics", "Surgery",
    "Intensive Care", "Geriatrics", "Dermatology", "Psychiatry", "Urology", "Emergency",
    "Infectious Diseases",
)  # fmt: skip
_DIAGNOSES = {
    "heart": ("Atrial fibrillation", "Angina", "Heart failure", "Hypertension", "Myocarditis"),
    "lung": ("Asthma", "Pneumonia", "Bronchitis", "Pleurisy", "Sleep apnoea"),
    "bone": ("Hip fracture", "Wrist fracture", "Osteoporosis", "Torn ligament", "Back pain"),
    "nerve": ("Migraine", "Epilepsy", "Stroke", "Concussion", "Neuralgia"),
    "skin": ("Eczema", "Psoriasis", "Cellulitis", "Burn", "Shingles"),
    "metabolic": ("Type 2 diabetes", "Gout", "Thyroiditis", "Anaemia", "Dehydration"),
    "gut": ("Appendicitis", "Gallstones", "Gastritis", "Colitis", "Hernia"),
}
_LAB_TESTS = (
    ("HGB", "Haemoglobin", "g/dL", 12.0, 17.0),
    ("GLU", "Glucose", "mmol/L", 3.9, 6.1),
    ("CRE", "Creatinine", "µmol/L", 60.0, 110.0),
    ("NAT", "Sodium", "mmol/L", 135.0, 145.0),
    ("POT", "Potassium", "mmol/L", 3.5, 5.1),
    ("CRP", "C-reactive protein", "mg/L", 0.0, 5.0),
    ("TSH", "Thyrotropin", "mU/L", 0.4, 4.0),
    ("LDL", "LDL cholesterol", "mmol/L", 1.8, 3.4),
    ("PLT", "Platelets", "10⁹/L", 150.0, 400.0),
)
_PROFESSIONS = ("physician", "nurse", "surgeon", "therapist")
_REASONS = ("planned surgery", "observation", "accident", "acute pain", "check-up", "transfer")


def hospital_tables(rng: Random) -> Tables:
    """Draw the domain's tables."""
    wards, patients, diagnoses = _wards(rng), _patients(rng), _diagnoses()
    people = _people(rng, wards.column("ward_code"))
    admissions = _admissions(rng, patients, people)
    stays: list[int] = admissions.column("admission_id")
    tests = table(
        "lab_tests",
        "test_code text | test_name text | unit text | normal_low real | normal_high real",
        _LAB_TESTS,
    )
    links = pairs(rng, stays, diagnoses.column("diagnosis_id"), 1000)
    return by_name(
        wards,
        patients,
        people,
        admissions,
        diagnoses,
        table("xref", "a_id int | b_id int", links),
        tests,
        _lab_results(rng, admissions),
        table("allergies_reported", "patient_id int | substance text | severity text"),
    )


def _wards(rng: Random) -> SampleTable:
    rows = [
        (f"W-{name[:3].upper()}", name, rng.randint(0, 6), rng.randint(8, 40), f"555-01{number:02}")
        for number, name in enumerate(_WARDS, start=1)
    ]
    return table(
        "wards", "ward_code text | ward_name text | floor int | beds int | phone text", rows
    )


def _patients(rng: Random) -> SampleTable:
    rows = []
    homes = skewed(rng, CITIES, 480)
    for patient_id, name in enumerate(full_names(rng, 480), start=5001):
        given, family = name.split(" ")
        born = day(rng, date(1932, 1, 1), date(2021, 12, 31))
        sex, city = rng.choice("FM"), homes.pop()
        blood = rng.choices(("0+", "A+", "B+", "AB+", "0-", "A-"), (38, 34, 9, 4, 8, 7))[0]
        rows.append((patient_id, f"MR-{patient_id:06}", given, family, born, sex, city, blood))
    return table(
        "patients",
        "patient_id int | mrn text | first_name text | last_name text | birth_date date"
        " | sex text | city text | blood_type text",
        rows,
    )


def _diagnoses() -> SampleTable:
    labels = [(label, chapter) for chapter, labels in _DIAGNOSES.items() for label in labels]
    rows = [
        (number, f"{chapter[:2].upper()}{number}", label, chapter)
        for number, (label, chapter) in enumerate(labels, start=300)
    ]
    return table("diagnoses", "diagnosis_id int | code text | label text | chapter text", rows)


def _people(rng: Random, wards: list[str]) -> SampleTable:
    rows: list[tuple[object, ...]] = []
    chief_of: dict[str, int] = {}
    for place, name in enumerate(full_names(rng, 84)):
        person_no, ward = 700 + place, wards[place % len(wards)]
        profession = "physician" if ward not in chief_of else rng.choice(_PROFESSIONS)
        hired = day(rng, date(1994, 1, 1), date(2021, 12, 1))
        rows.append((person_no, name, profession, ward, chief_of.get(ward), hired))
        chief_of.setdefault(ward, person_no)
    return table(
        "people",
        "person_no int | name text | profession text | ward_code text | supervisor_no int"
        " | hired_on date",
        rows,
    )


def _admissions(rng: Random, patients: SampleTable, people: SampleTable) -> SampleTable:
    count = 700
    ids: list[int] = skewed(rng, patients.column("patient_id"), count)
    # Orphans: numbers of patients whose records were purged.
    ids = spoil(rng, ids, 0.03, lambda patient_id: patient_id + 4000)
    rows = []
    for admission_id, patient_id in enumerate(ids, start=30_001):
        person_no, _, _, ward, *_ = rng.choice(people.rows)
        admitted = moment(rng, date(2022, 1, 1), date(2024, 6, 30))
        stay = timedelta(hours=rng.randint(5, 24 * 21))
        discharged = admitted + stay if rng.random() < 0.96 else None
        reason, urgent = rng.choice(_REASONS), rng.random() < 0.35
        cost = money(rng, 300, 1500) * (1 + stay.days)
        rows.append(
            (admission_id, patient_id, ward, person_no, admitted, discharged, urgent, reason, cost)
        )
    return table(
        "admissions",
        "admission_id int | patient_id int | ward_code text | attending_no int | admitted_at time"
        " | discharged_at time | urgent bool | reason for stay text | cost money",
        rows,
    )


def _lab_results(rng: Random, admissions: SampleTable) -> SampleTable:
    count = 1100
    admitted_at = admissions.mapping("admission_id", "admitted_at")
    drawn = skewed(rng, list(admitted_at), count)
    # Walk-in samples have no admission.
    stays = spoil(rng, drawn, 0.08, lambda _: None)
    rows = []
    for number, (origin, stay) in enumerate(zip(drawn, stays, strict=True), start=900_001):
        code, _, _, low, high = rng.choice(_LAB_TESTS)
        value = near(rng, (low + high) / 2, (high - low) / 2.2, low=0, high=2 * high)
        flag = "L" if value < low else "H" if value > high else None
        taken = admitted_at[origin] + timedelta(hours=rng.randint(0, 30))
        rows.append((number, stay, code, value, flag, taken))
    return table(
        "lab_results",
        "result_no int | admission_id int | test_code text | value real | flag text"
        " | taken_at time",
        rows,
    )
