"""Words of table names that say what became of a table, not what it holds.

They are how people everywhere mark backups, staging areas, versions, histories and views. For a
family a word is never enough by itself, columns and contents decide; which of several tables with
the same keys others refer to, names alone must tell (`COPY_WORDS`).
"""

from __future__ import annotations

from enum import StrEnum


class Marker(StrEnum):
    """What a word in a name says of the table."""

    COPY = "copy"  # whatever it holds, nobody means it: backups, staging, tests
    ARCHIVE = "archive"  # moved away: a copy if its rows are still there, else a slice
    VERSION = "version"  # another state, perhaps the newer one
    DERIVED = "derived"  # an export, a sample, a cleaned one: a copy if the contents say so
    HISTORY = "history"
    VIEW = "view"
    LAYER = "layer"  # where in a warehouse it stands; says nothing


_WORDS = {
    Marker.COPY: """bak backup backups bkp bkup bck bkk copy copie copia kopie kopia cpy duplicate
        dup err error errors reject rejected rejects sicherung
        sauvegarde respaldo stg stage staging landing tmp temp temporary scratch test tst
        testing dev uat qa sandbox dummy fake dnu deprecated obsolete todelete trash junk broken
        corrupt corrupted wip draft entwurf brouillon xx xxx zz zzz restore restored rollback premig
        mirror replica shadow work wrk""",
    Marker.ARCHIVE: """old alt ancien vieux vieja viejo archive archives archived archiv arch arc
        legacy retired closed cold""",
    Marker.VERSION: "new neu nuevo nouveau final finale latest current actual live rev ver version",
    Marker.DERIVED: """export exported extract extracted dump import imported load loaded raw snap
        snapshot snapshots sample sampled subset preview orig original clean cleaned cleansed dedup
        deduped deduplicated fix fixed corrected patched int src ods dbt sync cache cached save
        saved upload""",
    Marker.HISTORY: """hist history historie historic historical historique historial aud audit scd
        changelog changes versions journal""",
    Marker.VIEW: "v vw view views mv mview vista vue sicht",
    Marker.LAYER: "dim fct fact tbl tb table mart marts dwh dw lkp t",
}
MARKERS: dict[str, Marker] = {
    word: marker for marker, words in _WORDS.items() for word in words.split()
}
# Those of them that name things of their own as well: work orders, closed periods, a load of goods.
_ORDINARY = frozenset(
    """audit broken cache cached changes clean closed cold corrupt dbt dev draft dump entwurf err
    error errors export extract fake fixed historic historical int journal junk landing legacy
    load loaded mirror ods original preview qa raw reject retired sample sampled save saved shadow
    src subset sync testing trash upload versions work wrk xx
    zz""".split()  # noqa: SIM905 - words read best as text
)
# What marks a table as a copy before any contents are compared.
COPY_WORDS = frozenset(
    word
    for word, marker in MARKERS.items()
    if marker in (Marker.COPY, Marker.ARCHIVE, Marker.DERIVED, Marker.HISTORY)
    if word not in _ORDINARY
)
# Markers only as the first word: elsewhere a lone letter is part of the name.
FIRST_ONLY = frozenset({"v", "t", "mv"})
# Prepositions that belong to a marker: copy of, Kopie von, copie de.
OF = frozenset({"of", "von", "de", "di", "do", "da"})
# Words before a number that give it a meaning: level 1 and level 2 are two things.
NUMBERED = frozenset(
    """level lvl tier phase type step grade class layer line axis dimension order
    generation gen""".split()  # noqa: SIM905 - words read best as text
)
# Words that announce a date or number and say nothing else.
PERIOD = frozenset(("year", "yr", "month", "mon", "day", "date", "dt", "ds", "week", "period"))
_MONTHS = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)
MONTHS = {word: number for line in _MONTHS for number, word in enumerate(line.split(), start=1)} | {
    "sept": 9,
    "mrz": 3,
    "okt": 10,
    "dez": 12,
}
# Parts of the world that people cut tables by; other codes are two or three letters.
REGIONS = frozenset(
    """north south east west central northeast northwest southeast southwest emea apac latam mena
    nordic nordics benelux dach europe asia africa america americas oceania anz iberia cee row
    domestic foreign international""".split()  # noqa: SIM905 - words read best as text
)
