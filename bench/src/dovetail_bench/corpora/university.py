"""A university: departments, lecturers, courses offered per term, students and study groups."""

from datetime import date
from random import Random

from dovetail.sample.draw import CITIES, day, full_names, money, near, pairs, skewed
from dovetail.sample.render import Row, SampleTable, Tables, by_name, table

_DEPARTMENTS = {
    "BIO": ("Biology", "Sciences", ("Genetics", "Ecology", "Cell Biology", "Botany")),
    "CHE": ("Chemistry", "Sciences", ("Organic Chemistry", "Catalysis", "Spectroscopy")),
    "PHY": ("Physics", "Sciences", ("Mechanics", "Optics", "Astrophysics", "Acoustics")),
    "MAT": ("Mathematics", "Sciences", ("Calculus", "Topology", "Statistics", "Algebra")),
    "HIS": ("History", "Humanities", ("Medieval Trade", "Maritime History", "Archives")),
    "LIT": ("Literature", "Humanities", ("Modern Poetry", "The Novel", "Translation")),
    "PHI": ("Philosophy", "Humanities", ("Logic", "Ethics", "Aesthetics")),
    "ECO": ("Economics", "Society", ("Microeconomics", "Game Theory", "Public Finance")),
    "SOC": ("Sociology", "Society", ("Urban Life", "Survey Methods", "Migration")),
    "LAW": ("Law", "Society", ("Contract Law", "Property Law", "Legal History")),
    "CSC": ("Computer Science", "Engineering", ("Databases", "Compilers", "Networks", "Robotics")),
    "CIV": ("Civil Engineering", "Engineering", ("Bridges", "Soil Mechanics", "Hydraulics")),
}
_TERMS = ("2022-FALL", "2023-SPRING", "2023-FALL", "2024-SPRING")
_HALLS = ("Heron Hall", "Old Observatory", "Weir Building", "Lantern Tower")
_GRADES = {"A": 4.0, "B": 3.0, "C": 2.0, "D": 1.0, "F": 0.0}


def university_tables(rng: Random) -> Tables:
    """Draw the domain's tables."""
    people = _people(rng)
    courses = _courses(rng)
    offerings, students = _offerings(rng, courses, people), _students(rng)
    student_nos: list[int] = students.column("student_no")
    groups = _groups(rng, courses.column("course_no"))
    joined = (
        (*pair, day(rng, date(2023, 9, 1), date(2024, 4, 30)))
        for pair in pairs(rng, student_nos, groups.column("group_id"), 320)
    )
    return by_name(
        _departments(rng, people),
        people,
        courses,
        offerings,
        students,
        _enrolments(rng, student_nos, offerings),
        groups,
        table("t_rel_2", "a_id int | b_id int | joined_on date", joined),
    )


def _people(rng: Random) -> SampleTable:
    rows: list[Row] = []
    mentor_of: dict[str, int] = {}
    codes = list(_DEPARTMENTS)
    for place, name in enumerate(full_names(rng, 72)):
        person_no, dept = 1 + place, codes[place % len(codes)]
        rank = "professor" if dept not in mentor_of else rng.choice(("lecturer", "assistant"))
        salary = money(rng, 82_000, 120_000) if rank == "professor" else money(rng, 41_000, 76_000)
        rows.append((person_no, name, dept, rank, mentor_of.get(dept), salary))
        mentor_of.setdefault(dept, person_no)
    return table(
        "people",
        "person_no int | full_name text | dept_code text | rank text | mentor_no int"
        " | salary money",
        rows,
    )


def _departments(rng: Random, people: SampleTable) -> SampleTable:
    heads = {row[2]: row[0] for row in people.rows if row[3] == "professor"}
    rows = [
        (code, name, faculty, heads[code], rng.choice(_HALLS))
        for code, (name, faculty, _) in _DEPARTMENTS.items()
    ]
    return table(
        "departments",
        "dept_code text | department text | faculty text | head_no int | hall text",
        rows,
    )


def _courses(rng: Random) -> SampleTable:
    rows = []
    for code, (_, _, topics) in _DEPARTMENTS.items():
        titles = [f"{level}{topic}" for topic in topics for level in ("", "Advanced ")]
        for number, title in enumerate(titles, start=101):
            worth, has_lab = rng.choice((3, 5, 6, 10)), rng.random() < 0.3
            rows.append((f"{code}-{number}", title, code, worth, has_lab))
    return table(
        "courses",
        "course_no text | title text | dept_code text | credits int | has_lab bool",
        rows,
    )


def _offerings(rng: Random, courses: SampleTable, people: SampleTable) -> SampleTable:
    lecturers_of: dict[str, list[int]] = {code: [] for code in _DEPARTMENTS}
    for person_no, _, dept, *_ in people.rows:
        lecturers_of[dept].append(person_no)
    dept_of = courses.mapping("course_no", "dept_code")
    rows = []
    for term in _TERMS:
        for course_no in sorted(rng.sample(list(dept_of), 60)):
            lecturer = rng.choice(lecturers_of[dept_of[course_no]])
            room, seats = f"{rng.choice('HOWL')}{rng.randint(101, 330)}", rng.choice((20, 40, 90))
            rows.append((term, course_no, lecturer, room, seats))
    return table(
        "offerings",
        "term text | course_no text | lecturer_no int | room text | capacity int",
        rows,
    )


def _students(rng: Random) -> SampleTable:
    rows = []
    for student_no, name in enumerate(full_names(rng, 460), start=220_001):
        enrolled = date(rng.randint(2019, 2022), 10, 1)
        major, city = rng.choice(list(_DEPARTMENTS)), rng.choice(CITIES)
        gpa = near(rng, 2.9, 0.6, low=1, high=4)
        rows.append((student_no, name, city, major, enrolled, gpa, rng.random() < 0.15))
    return table(
        "students",
        "student_no int | full_name text | home_city text | major text | enrolled_on date"
        " | gpa real | scholarship bool",
        rows,
    )


def _enrolments(rng: Random, students: list[int], offerings: SampleTable) -> SampleTable:
    keys = [(term, course_no) for term, course_no, *_ in offerings.rows]
    rows = []
    for student_no, (term, course_no) in sorted(pairs(rng, students, keys, 1400)):
        grade = rng.choices((*_GRADES, None), (24, 34, 22, 8, 5, 7))[0]
        points = None if grade is None else _GRADES[grade]
        rows.append((student_no, term, course_no, grade, points))
    return table(
        "enrolments",
        "student_no int | term text | course_no text | grade text | points real",
        rows,
    )


def _groups(rng: Random, courses: list[str]) -> SampleTable:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday")
    rows = []
    for group_id, course_no in enumerate(skewed(rng, courses, 60), start=1):
        rows.append((group_id, f"{course_no} circle {group_id}", course_no, rng.choice(days)))
    return table("group", "group_id int | group_name text | course_no text | meets_on text", rows)
