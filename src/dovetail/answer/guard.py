"""The guard: lets one query through that only reads tables of the set, or says why not.

A query is parsed, held against the lists below, and written out again from what was understood,
with names of ours for every table (`tree.py`); only that text is ever run. So what an engine would
read differently from us (comments that execute, odd quotes, a second statement, a name that it
folds in another way) never reaches it. The text is then held against the lists once more, as the
engine's dialect reads it. Whatever is not understood is refused.

The lists have kinds of nodes and functions, each because it is harmless; no list of dangers is ever
complete. Nothing on them reads a file, a setting, another table or the state of a connection, and
none of it takes a table's place. Names are those of sqlglot's classes, then those of functions that
sqlglot has no class for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.answer.relations import Guarded, Relation, legible, private_names, reveal
from dovetail.answer.scopes import complaints, joins, without_quoted_texts
from dovetail.answer.tree import (
    TOO_DEEP,
    base_tables,
    dotted,
    nodes_of,
    only_ours,
    parse,
    rename,
    resolved,
    unqualify,
)
from dovetail.domain import TableId
from dovetail.errors import GuardError


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHAPES = _listed(
    """
    Select From Join Where Group Having Qualify Order Ordered Limit Offset Fetch With CTE TableAlias
    Table Subquery Union Intersect Except Values Tuple Column Identifier Literal Star Alias Paren
    Null Boolean Var Distinct Add Sub Mul Div IntDiv Mod DPipe EQ NEQ GT GTE LT LTE NullSafeEQ
    NullSafeNEQ Not Neg Is In Between Like ILike Escape Glob SimilarTo BitwiseAnd BitwiseOr
    BitwiseXor BitwiseNot BitwiseLeftShift BitwiseRightShift Bracket Slice Interval IntervalSpan
    Window WindowSpec Filter WithinGroup IgnoreNulls RespectNulls DataType DataTypeParam AtTimeZone
    GroupingSets Cube Rollup Any All HexString JSONPath JSONPathKey JSONPathRoot JSONPathSubscript
    JSONPathWildcard
    """
)

CLASSES = _listed(
    """
    Abs Acos Acosh AddMonths And AnyValue ApproxDistinct ApproxQuantile ArgMax ArgMin Array ArrayAgg
    ArrayConcat ArrayContains ArrayDistinct ArraySize ArraySort ArrayToString Ascii Asin Asinh Atan
    Atan2 Atanh Avg BitLength BitwiseCount Case Cast Cbrt Ceil Chr Coalesce Collate Concat ConcatWs
    Contains Corr Cos Cosh Cot Count CountIf CovarPop CovarSamp CumeDist CurrentDate CurrentDatetime
    CurrentTime CurrentTimestamp Date DateAdd DateDiff DateFromParts DateStrToDate DateSub
    DateToDateStr DateTrunc Datetime DatetimeAdd DatetimeDiff DatetimeSub DatetimeTrunc Day
    DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Degrees DenseRank EndsWith Exists Exp
    Extract Factorial First FirstValue Floor Format Greatest GroupConcat Grouping Hex Hour If
    Initcap IsInf IsNan JSONArrayAgg JSONExtract JSONExtractScalar JSONFormat JSONType
    JarowinklerSimilarity Kurtosis Lag Last LastDay LastValue Lead Least Left Length Levenshtein Ln
    Localtime Localtimestamp Log LogicalAnd LogicalOr Lower MD5 Max Median Min Minute Mode Month
    Monthname MonthsBetween NthValue Ntile Nullif NumberToStr Nvl2 Or Overlay Pad ParseJSON
    PercentRank PercentileCont PercentileDisc Pi Pow Quantile Quarter Radians Rank RegexpCount
    RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpLike RegexpReplace RegexpSplit
    RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy RegrSyy Replace
    Reverse Right Round RowNumber SafeDivide Second Sign Sin Sinh Skewness Soundex Split SplitPart
    Sqrt StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate StrToTime StrToUnix
    Substring Sum Tan Tanh Time TimeAdd TimeDiff TimeFromParts TimeStrToDate TimeStrToTime
    TimeStrToUnix TimeSub TimeToStr TimeToTimeStr TimeToUnix TimeTrunc Timestamp TimestampAdd
    TimestampDiff TimestampFromParts TimestampSub TimestampTrunc ToChar ToDays ToNumber Translate
    Trim Trunc Try TryCast TsOrDsAdd TsOrDsDiff TsOrDsToDate TsOrDsToDateStr TsOrDsToDatetime
    TsOrDsToTime TsOrDsToTimestamp Typeof Unicode UnixDate UnixMicros UnixMillis UnixSeconds
    UnixToStr UnixToTime UnixToTimeStr Unhex Upper UtcDate UtcTime UtcTimestamp Variance VariancePop
    Week WeekOfYear WidthBucket Xor Year YearOfWeek YearOfWeekIso
    """
)

# Functions that only one engine has, and that sqlglot knows by nothing but their names.
NAMED = {
    "sqlite": _listed(
    """
        concat concat_ws date datetime format ifnull json_array_length json_extract json_type
        json_valid julianday likelihood likely log10 log2 mod octet_length printf quote
        string_agg strftime substr time timediff total trunc unixepoch
        unlikely
        """
),
    "duckdb": _listed(
    """
        age array_length avg bar bit_count bool_and bool_or century chr concat_ws contains
        damerau_levenshtein date_part date_sub datesub dayofmonth dayofweek dayofyear decade
        entropy epoch epoch_ms epoch_us era even favg fdiv first fmod fsum gamma gcd geometric_mean
        geomean hamming isfinite isinf isnan iso8601 isodow isoyear jaccard jaro_similarity
        json_array_length json_extract json_extract_string json_type json_valid julian kahan_sum
        kurtosis_pop last_day lcm len lgamma list list_aggregate list_avg list_contains list_count
        list_distinct list_max list_min list_sort list_sum list_unique log10 log2 mad make_date
        make_time make_timestamp millennium mismatches nextafter nfc_normalize now position
        prefix printf product quantile_cont quantile_disc round_even sem string_split strip_accents
        strlen strptime suffix sumkahan time_bucket to_days to_hours to_minutes
        to_months to_seconds to_weeks to_years today try_strptime unicode weekday weekofyear
        yearweek
        """
),
}  # fmt: skip

# What SQLite's authorizer lets through, by SQLite's own names.
SQLITE_FUNCTIONS = NAMED["sqlite"] | _listed(
    """
        abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce cos cosh count
        cume_dist degrees dense_rank exp first_value floor glob group_concat hex iif if instr
        json_group_array json_group_object lag last_value lead length like ln log lower ltrim max
        min nth_value ntile nullif percent_rank pi pow power radians rank replace round row_number
        rtrim sign sin sinh sqrt soundex substring sum tan tanh trim typeof unhex unicode upper
        current_date current_time current_timestamp median -> ->>
        """
)


_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# A name as it may stand without quotes: anything else might be a parameter, or worse.
_NAME = re.compile(r"[^\W\d][\w$]*")
# A word or a number as it may stand in a text that is written out, where nothing quotes it.
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS = re.compile(r"[\w .]*", re.ASCII)
_NUMBER = re.compile(r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0[xX][0-9a-fA-F]+", re.ASCII)
# Nodes whose text is quoted when it is written out.
_QUOTED = (exp.Identifier, exp.JSONPathKey)
# Dialects whose names without quotes are in upper case.
_FOLDING = ("snowflake", "oracle")
# How a table may be given besides by name and alias: not sampled, pivoted, versioned or hinted at.
_TABLE_PARTS = {"this", "db", "catalog", "alias", "joins"}


def guard(
    sql: str,
    relations: Sequence[Relation],
    *,
    dialect: str = "duckdb",
    engine: str = "duckdb",
    complain: bool = False,
) -> Guarded:
    """Let a query through that is written in `dialect`, for `engine` to run.

    With `complain`, columns that no table has are looked for as well.
    """
    tree, tables = _understood(sql, relations, dialect)
    joined = joins(tree, relations)
    complained: list[str] = []
    try:
        if complain:  # in double quotes, SQLite takes what is no column for a text
            own = without_quoted_texts(tree) if dialect == "sqlite" else tree
            complained = complaints(own, relations)
    except RecursionError:
        raise GuardError(TOO_DEEP) from None
    text, private = _written(tree, relations, engine)
    shown = reveal(text, {**private_names(relations), **private})
    return Guarded(text, shown, tables, private, tuple(joined), tuple(complained))


def _understood(
    sql: str, relations: Sequence[Relation], dialect: str
) -> tuple[exp.Expr, tuple[TableId, ...]]:
    """The tree of a query that may run, and the tables of the set that it reads."""
    tree, _ = _checked(sql, dialect)
    try:
        references = [meant for _, meant in resolved(tree, relations)]
        unqualify(tree)
    except RecursionError:
        raise GuardError(TOO_DEEP) from None
    read = [meant.table.id for meant in references if isinstance(meant, Relation)]
    return tree, tuple(dict.fromkeys(read))


def table_names(sql: str, dialect: str = "duckdb") -> tuple[str, ...]:
    """The names of the tables that a query would read, each once, as the query writes them."""
    tree, _ = _checked(sql, dialect)
    try:
        named = [dotted(table) for table in base_tables(tree)]
    except RecursionError:
        raise GuardError(TOO_DEEP) from None
    return tuple(dict.fromkeys(named))


def _written(
    tree: exp.Expr, relations: Sequence[Relation], engine: str
) -> tuple[str, dict[str, str]]:
    """The text that runs, made from a tree that was understood, and the names drawn for it.

    The tree is used up.
    """
    try:
        private = rename(tree, relations, as_written=engine in _FOLDING)
        writer = sqlglot.Dialect.get_or_raise(engine)
        text = writer.generate(tree, copy=False, comments=False)
        _, again = _checked(text, engine)
    except SqlglotError:
        raise GuardError(f"refused: it cannot be written for {engine}; put it simpler") from None
    except RecursionError:
        raise GuardError(TOO_DEEP) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = type(error).__name__
        raise GuardError(f"refused: it cannot be written for {engine} ({why})") from None
    if not only_ours(again, relations, private):
        raise GuardError("refused: it reads what is not a table of the set")
    return text, private


def _checked(sql: str, dialect: str) -> tuple[exp.Expr, list[exp.Expr]]:
    """The tree of a query that holds nothing but what is on the lists, and its nodes."""
    tree = parse(sql, dialect)
    if not isinstance(tree, _QUERIES):
        raise GuardError(f"refused: {tree.key.upper()} is no query; only SELECT may run")
    nodes = nodes_of(tree)
    for node in nodes:
        _check(node, dialect)
    return tree, nodes


def _check(node: exp.Expr, dialect: str) -> None:
    kind = type(node).__name__
    if isinstance(node, exp.Anonymous):
        if not isinstance(node.this, str) or node.this.lower() not in NAMED.get(dialect, ()):
            raise GuardError(f"refused: the function {_shown(node)} is not on the list of allowed")
    elif isinstance(node, exp.Func):
        if kind not in CLASSES:
            raise GuardError(f"refused: the function {_shown(node)} is not on the list of allowed")
    elif kind not in SHAPES:
        raise GuardError(f"refused: {_words(kind)} is not something a query may hold here")
    if isinstance(node, exp.Select) and not node.expressions:
        raise GuardError("refused: it does not parse as SQL: SELECT of nothing")
    if isinstance(node, exp.Select) and (words := node.args.get("operation_modifiers")):
        raise GuardError(f"refused: {words[0].name} is not something a query may hold here")
    if isinstance(node, exp.In) and node.args.get("field"):
        raise GuardError("refused: IN without brackets may mean a table; put the values in them")
    if isinstance(node, exp.Table):
        _check_table(node)
    _check_text(node)


def _check_text(node: exp.Expr) -> None:
    """Refuse what would be written out as it came in: only words and numbers may."""
    if isinstance(node, exp.Identifier):
        if not (node.quoted or _NAME.fullmatch(node.name)):
            raise GuardError(f"refused: the name {legible(node.name[:60])} would need quotes")
        return
    if isinstance(node, exp.Literal):
        if not node.is_string and not _NUMBER.fullmatch(node.this):
            raise GuardError(f"refused: {legible(node.this[:60])} is not a number")
        return
    if isinstance(node, exp.DataTypeParam) and not (
        isinstance(node.this, exp.Literal) and not node.this.is_string
    ):
        raise GuardError("refused: a type takes whole numbers in its brackets")
    allowed = _WORD if isinstance(node, (exp.Var, exp.DataType)) else _WORDS
    for value in node.args.values():
        if type(value) is str and not isinstance(node, _QUOTED) and not allowed.fullmatch(value):
            raise GuardError(f"refused: {value[:60]!r} is not something a query may hold here")


def _check_table(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise GuardError(
            f"refused: {_shown(node.this)} stands for a table; only tables of the set may be read"
        )
    odd = [part for part, value in node.args.items() if value and part not in _TABLE_PARTS]
    if odd:
        raise GuardError(f"refused: {odd[0]} is not something a table may be read with")


def _shown(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
        return legible(node.this[:60].upper())
    return node.sql_name() if isinstance(node, exp.Func) else _words(type(node).__name__)


def _words(kind: str) -> str:
    """A class of nodes in words: TableSample is `table sample`."""
    return "".join(f" {char.lower()}" if char.isupper() else char for char in kind).strip()
