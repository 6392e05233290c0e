"""The words by which questions ask for things: patterns of English, and of German.

They are matched with a question whose tables (T0), columns (C1), values (V2) and numbers (N3) have
marks in their place (`reading.py`).
"""

from __future__ import annotations

import re

# Words that name nothing and stand between those that do.
DROPPED = frozenset(
    """the a an all any these those its their his her our some der die das den dem des ein eine
    alle""".split()  # noqa: SIM905 - words read best as text
)
FILLER = r"(?:(?:is|are|was|were|be|been|has|have|had|having|with|that|which|who|of|values?|for) )*"
DISTINCT = r"(?:different|distinct|unique|various|verschiedenen?)"
# A clause that says which rows are meant, and a word that asks for columns again.
CLAUSE = re.compile(
    r"who|whom|whose|where|when|which|that|with|without|having|has|have|had|if|sort\w*|order\w*"
    r"|ranked|arranged|deren|dessen|mit|ohne|wobei"
)
ASKS = re.compile(
    r"show|list|find|give|return|display|tell|compute|report|provide|select|count|calculate|print"
    r"|get|retrieve|zeige|liste|nenne|finde"
)
BEGINS = re.compile(r"what|which|how|who|wie|welche[rsn]?")
# What things did or had done to them, where that stands behind them.
DEED = re.compile(r"\w+ed")
# Columns that things are asked for with: "with the customer's name", "and of which carrier".
ALONG = re.compile(
    r"\b(?:with|and (?:at|by|for|from|in|of|on) (?:what|which)) (?:T\d+ )?(?:s )?"
    r"C\d+(?: (?:and )?C\d+)*"
    r"(?= *$| (?:and )?(?:for|per|sort\w*|order\w*)\b)"
)
WHICH = re.compile(r"\b(?:what|which|welche[rsn]?) (T\d+)")
FUNCTIONS = {
    "avg": r"average|avg|mean|durchschnitt(?:liche[rsn]?)?",
    "sum": r"total|sum|summe|gesamte?|how much|wie viel",
    "max": r"maximum|max|maximale[rsn]?",
    "min": r"minimum|min|minimale[rsn]?",
}
FUNCTION = "|".join(FUNCTIONS.values())
COUNT = (
    r"(?:how many|wie viele|(?:number|count|amount) of|anzahl(?: von)?|^count)"
    rf"(?P<once> {DISTINCT})?"
)
DOWN = re.compile(r"\b(?:desc(?:ending)?|decreasing|absteigend)\b")
ORDER = re.compile(
    r"\b(?:sort\w*|order(?:ed|ing)?|arranged|ranked|listed)(?: \w+){0,3}? "
    r"(?:by|of|nach|according to)(?: (?:asc|desc|increas|decreas|alphabetic)\w*)* "
)
BARE_ORDER = re.compile(
    r"\b(?:alphabetic\w*|lexicographic\w*|(?:a|de)scending|(?:in|de)creasing)(?: order)?\b"
)
HIGH = (
    r"highest|largest|biggest|greatest|most|top|longest|oldest|tallest|heaviest|latest|newest|best"
    r"|fastest|richest|höchsten?|größten?|meisten|maximum|max"
)
LOW = (
    r"lowest|smallest|least|fewest|youngest|earliest|shortest|cheapest|lightest|worst|slowest"
    r"|niedrigsten?|kleinsten?|wenigsten|minimum|min"
)
SUPERLATIVE = re.compile(
    rf"(?:\b(?P<n>N\d+) )?\b(?<!at )(?P<word>{HIGH}|{LOW}) (?:(?P<m>N\d+) )?"
    rf"(?:\w+ (?:with|having|by) )?(?P<more>{HIGH}|{LOW})? ?"
)
OFTEN = re.compile(r"(?:\w+ly )?(?:common|popular|frequent\w*|often|used|häufig\w*) ?(?:used )?")
MORE = (
    r"more|greater|larger|higher|bigger|older|longer|taller|heavier|later|newer|mehr|größer|höher"
    r"|älter|länger"
)
LESS = (
    r"less|fewer|smaller|lower|younger|shorter|lighter|cheaper|earlier|weniger|kleiner|niedriger"
    r"|jünger|kürzer"
)
COMPARISONS = (
    (">=", rf"at least|mindestens|no(?:t)? (?:{LESS}) than|(?:{MORE}) than or equal to|since"),
    ("<=", rf"at most|höchstens|no(?:t)? (?:{MORE}) than|(?:{LESS}) than or equal to"),
    (">", rf"(?:{MORE}) (?:than|als)|over|above|exceed\w*|after|über"),
    ("<", rf"(?:{LESS}) (?:than|als)|under|below|before|unter|vor"),
    ("between", r"between|zwischen|from(?= N\d+ to)|range(?= N\d+ to)"),
    ("=", r"equals?(?: to)?|exactly"),
)
NOT = re.compile(
    r"\b(?:not|no|never|without|nor|neither|except|excluding|other than|kein\w*|ohne|nicht"
    r"|(?:do|does|did|is|are)n)\b"
)
LINKS = re.compile(
    r"(?:is|are|was|were|of|equals?|to|named|called|in|either|ist|sind|not|by)(?: |$)"
)
PLACE = re.compile(
    r"(?:of|for|among|in|at|from|on|by|to|within|under|into|aus|bei|von) (?:\u00b7+ )*$"
)
LISTED = re.compile(rf"\b(?:and|what {FILLER}|or|as well as|{ASKS.pattern}) (?:\w+ )?$")
# Words that no rule has read and that say no more than what a question is made of.
SHAPES = re.compile(
    rf"{ASKS.pattern}|{CLAUSE.pattern}|{BEGINS.pattern}|{FUNCTION}|{DISTINCT}|{HIGH}|{LOW}|{MORE}"
    rf"|{LESS}|please|names?|information|details?|records?|data|rows?|values?|there|also|along"
    r"|together|same|one|own|both|either|according|terms|kinds?|types?|contain\w*|includ\w*|start\w*"
    r"|begin\w*|substring|words?|letters?|over|above|under|below|after"
    r"|before|until|prior|since|during|between|exactly|ever|yet|any(?:thing|one|body)|bitte|namen?"
)
PATTERN = re.compile(
    r"\b(contain|includ|start|begin|end|substring)\w*\b[^'\"\u2018\u201c]{0,40}"
    r"['\"\u2018\u201c]([^'\"\u2019\u201d]+)['\"\u2019\u201d]",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![:\d])\d[\d,]*(?:\.\d+)?(?![\w:])")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
YEARS = ("year", "jahr", "season")
# Units of time that rows are grouped by, and what says so without a word before it.
UNITS = {
    "year": r"years?|jahre?",
    "quarter": r"quarters?|quartale?",
    "month": r"months?|monate?",
    "week": r"weeks?|wochen?",
    "day": r"days?|tage?",
}
ADVERBS = {
    "year": r"yearly|annual(?:ly)?|jährlich\w*",
    "quarter": r"quarterly|quartalsweise",
    "month": r"monthly|monatlich\w*",
    "week": r"weekly|wöchentlich\w*",
    "day": r"daily|täglich\w*",
}
EACH_TIME = re.compile(
    rf"(?<!\w)(?:(?:each|every|per|by|je|pro|nach|jede[rsmn]?) (?P<unit>{'|'.join(UNITS.values())})"
    rf"|(?P<adverb>{'|'.join(ADVERBS.values())}))(?!\w)"
)
SORTED = re.compile(r"\b(?:sort\w*|order(?:ed|ing)?|arranged|ranked|listed) $")
# The names of things, asked for beside columns of theirs: "names and cities of customers".
NAMES_OF = re.compile(
    r"(?<!\w)names? (?:(?:and|or|C\d+|T\d+) )*(?:of|for|from) (?:\w+ )?(?P<of>T\d+)"
    r"|(?P<before>T\d+) (?:s )?names?(?!\w)"
)
NAMED_WITH = re.compile(r"(C\d+) and (T\d+) (?:of|for|from) (T\d+)")
AVERAGES = re.compile(FUNCTIONS["avg"])
SUPERLATIVES = re.compile(rf"{HIGH}|{LOW}")
# Words that say no more of a column than that it holds times, and those of when a record was kept.
TIMES = frozenset(("date", "day", "time", "month", "timestamp", "datum", "dat", *YEARS))
KEPT = frozenset(("birth", "creat", "updat", "modifi", "chang", "load", "import", "valid"))
# Forms of a verb that its noun does not begin with, and what ends other forms and nouns.
IRREGULAR = {"born": "birth", "paid": "pay", "sold": "sale"}
ENDING = re.compile(r"(?<=\w{3})(?:ings?|ed|ions?|ments?|es?|s|y)$")
# A time that is not part of what is meant.
OPENED = re.compile(r"\b(before|prior to|after)\s+(?:the\s+)?$", re.IGNORECASE)
# A day and a month before their year: which of them comes first differs from place to place.
FIGURES = re.compile(r"(?<!\d)\d{1,2}([./-])\d{1,2}\1\d{4}(?!\d)")
# What says no more of a time behind it: "in the year 2024". A month that is no other word there.
TIMELY = re.compile(r"\b(?:(?:calendar )?years?|months?(?: of)?|kalenderjahre?|jahre?) $", re.I)
MAY = re.compile(r"\b(?:during|in|of|since|until) may\b", re.I)
# What does not count the rows of what follows: "rated above 4 by customers".
ASIDE = re.compile(r"\b(?:by|in|at|from|on|to|for|per|among|within|during|von|bei|aus|für)\b")
# What an adjective is about.
ABOUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"old\w*|young\w*|älter|jünger", ("age", "birth")),
    (r"long\w*|short\w*|länger|kürzer", ("length", "duration")),
    (r"tall\w*", ("height",)),
    (r"heav\w*|light\w*", ("weight",)),
    (r"cheap\w*|expensive", ("price", "cost")),
    (r"fast\w*|slow\w*", ("speed",)),
    (r"larg\w*|big\w*|small\w*", ("size", "area", "population", "capacity")),
    (r"lat\w*|new\w*|recent\w*|earl\w*|after|before|since", ("date", "year", "time", "datum")),
)
