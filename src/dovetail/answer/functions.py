"""What a query may be made of: kinds of nodes and functions, each listed because it is harmless.

Everything else is refused, whatever it does: no list of dangers is ever complete. Names are those
of sqlglot's classes, then those of functions that sqlglot has no class for. Nothing here reads a
file, a setting, another table or the state of a connection, and none of it takes a table's place.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHAPES = _words(
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

CLASSES = _words(
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
    "sqlite": _words(
    """
        concat concat_ws date datetime format ifnull json_array_length json_extract json_type
        json_valid julianday likelihood likely log10 log2 mod octet_length printf quote
        string_agg strftime substr time timediff total trunc unixepoch
        unlikely
        """
),
    "duckdb": _words(
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
SQLITE_FUNCTIONS = NAMED["sqlite"] | _words(
    """
        abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce cos cosh count
        cume_dist degrees dense_rank exp first_value floor glob group_concat hex iif if instr
        json_group_array json_group_object lag last_value lead length like ln log lower ltrim max
        min nth_value ntile nullif percent_rank pi pow power radians rank replace round row_number
        rtrim sign sin sinh sqrt soundex substring sum tan tanh trim typeof unhex unicode upper
        current_date current_time current_timestamp median -> ->>
        """
)
