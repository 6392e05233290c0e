"""People by their roles: a column called `manager_id` or `buyer_no` refers to a table of people.

Roles share no word with the table they refer to, so the words of names cannot tell; what they mean
is no matter of a particular schema.
"""

from __future__ import annotations

from functools import cache

from dovetail.joins.naming.name_words import Words

# What tables of people are called by what they are about.
_PERSONS = frozenset(
    """person people employee emp staff worker personnel user member partner party individual
    colleague human operative workforce""".split()  # noqa: SIM905 - words read best as text
)
# What columns call people by what they do.
_ROLES = frozenset(
    """rep representative manager mgr supervisor boss superior lead leader head chief owner buyer
    purchaser seller salesperson salesman agent author creator editor approver reviewer requester
    reporter assignee handler cashier clerk operator planner technician recruiter sender recipient
    responsible mentor tutor advisor adviser instructor lecturer organizer organiser holder pers
    person employee emp staff worker user personnel""".split()  # noqa: SIM905 - words read best as text
)
# How surely a role refers to a table of people: less than any name that has a word of the table.
ROLE = 0.6
# Stands for "people" among the words that a column and a key may have in common.
PEOPLE_WORD = "\N{BUST IN SILHOUETTE}"


@cache
def is_role(called: Words) -> bool:
    """Whether what a column is called, besides an id-word, is a person's role.

    >>> is_role(("sales", "rep")), is_role(("approved", "by")), is_role(("order",))
    (True, True, False)
    """
    return bool(called) and (called[-1] in _ROLES or (len(called) > 1 and called[-1] == "by"))


@cache
def is_people(about: Words) -> bool:
    """Whether a table is about people, by the noun at the head of its name."""
    return bool(about) and about[-1] in _PERSONS
