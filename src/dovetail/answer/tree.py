"""The tree of a query: parsed within bounds, table names resolved, names of ours in their place.

A parser that tries one reading after another may take time that doubles with every level of a
query (`date(date(date(…)))` is read as a type first and as a function then, at each level). So its
steps are counted, and a text that takes many more of them than it has tokens is refused.

A query that runs holds no table name that somebody else chose. Each reference is resolved here,
once, and written as a quoted name that the engine can read in one way only: the place of a table
of the set, or a name drawn at random for a WITH clause. So it does not matter how an engine would
have folded or looked up the name that was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.answer.relations import Relation, by_name, fold, legible, private_name
from dovetail.errors import GuardError, UsageError
from dovetail.text import cut

MOST_CHARACTERS = 50_000
MOST_TOKENS = 10_000
DEEPEST = 40
# Ordinary queries take one or two steps for each token; what takes many doubles at every level.
_STEPS_PER_TOKEN = 20
_STEPS_AT_LEAST = 4_000

_BEGINNINGS = {"SELECT", "WITH", "FROM", "VALUES", "("}
_OPENING = {"(", "[", "{", "CASE"}
_PREFIXES = {"NOT", "-", "+", "~", "@"}
_CLOSING = {")", "]", "}", "END"}
# How the parser says, by classes of its own, what it found and what a clause lacks.
_TOKEN = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: .*?>")
_LACKING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+?(\w+)'>")
TOO_DEEP = "refused: the query is nested too deeply; write it flatter"


def parse(sql: str, dialect: str) -> exp.Expr:
    """The one statement of a text, as sqlglot understands it."""
    if len(sql) > MOST_CHARACTERS:
        raise GuardError(
            f"refused: the query has {len(sql):,} characters, more than {MOST_CHARACTERS:,}"
        )
    odd = next((char for char in sql if not (char.isprintable() or char in "\t\r\n\u00a0")), "")
    if odd:
        raise GuardError(f"refused: the query holds the invisible character U+{ord(odd):04X}")
    try:
        spoken = sqlglot.Dialect.get_or_raise(dialect)
        tokens = spoken.tokenize(sql)
        _look_over(tokens)
        steps = _STEPS_AT_LEAST + _STEPS_PER_TOKEN * len(tokens)
        parser = _counted(spoken.parser_class)(dialect=spoken)
        parser.steps_left = steps
        statements = parser.parse(tokens, sql)
    except SqlglotError as error:
        raise GuardError(f"refused: it does not parse as SQL: {_first_line(error)}") from None
    except RecursionError:
        raise GuardError(TOO_DEEP) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The parser takes some texts apart in ways that it did not expect itself.
        raise GuardError("refused: it does not parse as SQL") from error
    parsed = [each for each in statements if each and not isinstance(each, exp.Semicolon)]
    if len(parsed) != 1:
        raise GuardError(f"refused: expected one statement, not {len(parsed)}")
    return parsed[0]


class _Counted(Parser):
    """A parser that gives up after so many steps: it moves along the tokens, or over what it has
    made of them once more."""

    steps_left = _STEPS_AT_LEAST

    def _advance(self, times: int = 1) -> None:
        self._take(1)
        super()._advance(times)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        below = this
        while below is not None:  # each index has what it is of looked through again
            self._take(1)
            below = below.this if isinstance(below.this, exp.Expr) else None
        return super()._parse_bracket(this)

    def _take(self, steps: int) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            raise GuardError(TOO_DEEP)


@cache
def _counted(parser: type[Parser]) -> type[_Counted]:
    """The same for the parser of a dialect."""
    return type("Counted", (_Counted, parser), {})


def _look_over(tokens: Sequence[Token]) -> None:
    """Refuse by tokens alone what is too much for the parser, or begins like no query."""
    if not tokens:
        raise GuardError("refused: there is no statement")
    if len(tokens) > MOST_TOKENS:
        raise GuardError(f"refused: the query has more than {MOST_TOKENS:,} words")
    first = tokens[0].text.upper()
    if first not in _BEGINNINGS or tokens[0].token_type in (
        TokenType.STRING,
        TokenType.IDENTIFIER,
    ):
        raise GuardError(f"refused: {legible(first[:40])} is no query; only SELECT may run")
    depth = run = 0
    for token in tokens:
        text = token.text.upper()
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            text = ""
        depth += (text in _OPENING) - (text in _CLOSING)
        run = run + 1 if text in _PREFIXES else 0
        if max(depth, run) > DEEPEST:
            raise GuardError(TOO_DEEP)


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else "nothing more is known"
    text = _LACKING.sub(lambda match: f"{match[1].upper()} lacks what belongs to it", text)
    text = _TOKEN.sub(lambda match: match[1].replace("SENTINEL", "the end"), text)
    return cut(legible(text), 200)


def nodes_of(tree: exp.Expr) -> list[exp.Expr]:
    """Every node of a tree."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                nodes.append(value)
            elif type(value) is list:
                nodes += [each for each in value if isinstance(each, exp.Expr)]
    return nodes


def references(node: exp.Expr) -> Iterator[tuple[exp.Table, exp.CTE | None]]:
    """Every table name of a query, with the WITH clause that defines it where it stands, if any.

    With RECURSIVE a clause sees itself only where it is a set operation, as an engine that allows
    recursion nowhere else looks for a table of that name otherwise.
    """
    waiting: list[tuple[exp.Expr, Mapping[str, exp.CTE]]] = [(node, {})]
    while waiting:  # a stack of ours: a thousand conditions are a tree a thousand levels deep
        node, visible = waiting.pop()
        below: list[tuple[exp.Expr, Mapping[str, exp.CTE]]] = []
        clause = node.args.get("with_")
        if clause is not None:
            for cte in clause.expressions:
                with_own = {**visible, fold(cte.alias): cte}
                recursive = clause.recursive and isinstance(cte.this.unnest(), exp.SetOperation)
                below.append((cte, with_own if recursive else visible))
                visible = with_own
        if isinstance(node, exp.Table):
            yield node, visible.get(fold(node.name)) if len(node.parts) == 1 else None
        below += [(child, visible) for child in node.iter_expressions() if child is not clause]
        waiting += reversed(below)


def base_tables(node: exp.Expr) -> Iterator[exp.Table]:
    """The tables a query reads, without the names that its WITH clauses define where they hold."""
    return (table for table, cte in references(node) if cte is None)


def unqualify(tree: exp.Expr) -> None:
    """Call columns by the last part of a table that is named by several.

    Where two tables of a query share that part, each gets its whole name for an alias.
    """
    named = [table for table, _ in references(tree)]
    alike: dict[str, set[str]] = {}
    for table in named:
        alike.setdefault(fold(table.name), set()).add(fold(dotted(table)))
    whole: dict[str, bool] = {}
    for table in (each for each in named if len(each.parts) > 1 and not each.alias):
        name = dotted(table)
        whole[fold(name)] = len(alike[fold(table.name)]) > 1
        if whole[fold(name)]:
            columns = table.args["alias"].columns if table.args.get("alias") else []
            alias = exp.to_identifier(name, quoted=True)
            table.set("alias", exp.TableAlias(this=alias, columns=columns))
    for column in tree.find_all(exp.Column) if whole else ():
        name = dotted(column, but=1)
        if column.args.get("db") and fold(name) in whole:
            if whole[fold(name)]:
                column.set("table", exp.to_identifier(name, quoted=True))
            column.set("db", None)
            column.set("catalog", None)


def dotted(node: exp.Table | exp.Column, but: int = 0) -> str:
    """The parts of a name with dots between them, without the last so many."""
    parts = node.parts
    return ".".join(part.name for part in parts[: len(parts) - but])


def resolved(
    tree: exp.Expr, relations: Sequence[Relation]
) -> list[tuple[exp.Table, Relation | exp.CTE]]:
    """Every table name of a query with what it means: a table of the set, or a WITH clause.

    A table goes by its name as it is, or as `schema.table`; any other name is refused.
    """
    known = by_name(relations)
    meanings: list[tuple[exp.Table, Relation | exp.CTE]] = []
    for table, cte in references(tree):
        written = dotted(table)
        meant = cte or known.get(fold(written))
        if meant is None:
            names = ", ".join(legible(relation.name) for relation in relations) or "none"
            raise GuardError(
                f"refused: {legible(written)} is not a table of the set, which are: {names}"
            )
        meanings.append((table, meant))
    return meanings


def rename(
    tree: exp.Expr, relations: Sequence[Relation], *, as_written: bool = False
) -> dict[str, str]:
    """Call every table by its name in the engine, and every WITH clause by a private name.

    The name that was written stays as an alias, so that columns are found under it. Returned are
    the private names, with what they stand for. The alias has quotes, or with `as_written` those of
    the query: an engine that folds names to upper case folds both, or neither.
    """
    meanings = resolved(tree, relations)
    private = {}
    drawn: dict[int, str] = {}
    for clause in (meant for _, meant in meanings if isinstance(meant, exp.CTE)):
        drawn.setdefault(id(clause), private_name())
    if tree.find(exp.With):
        for clause in tree.find_all(exp.CTE):
            name = drawn.get(id(clause)) or private_name()
            private[name] = clause.alias
            clause.args["alias"].set("this", exp.to_identifier(name, quoted=True))
    for table, meant in meanings:
        if isinstance(meant, Relation):
            engine_name = meant.engine_name
            alias = table.this if as_written else exp.to_identifier(table.name, quoted=True)
        else:
            engine_name = (drawn[id(meant)],)
            alias = table.this
        if not table.alias:
            columns = table.args.get("alias")
            listed = columns.columns if columns else []
            table.set("alias", exp.TableAlias(this=alias.copy(), columns=listed))
        put(table, engine_name)
    return private


def only_ours(
    nodes: Iterable[exp.Expr], relations: Sequence[Relation], drawn: Iterable[str]
) -> bool:
    """Whether a query names no table but by names of the set in the engine and names drawn."""
    names = {(name,) for name in drawn}
    engine_names = names | {relation.engine_name for relation in relations}
    for node in nodes:
        if isinstance(node, exp.CTE) and (node.alias,) not in names:
            return False
        if isinstance(node, exp.Table):
            parts = node.parts
            if tuple(part.name for part in parts) not in engine_names or not all(
                isinstance(part, exp.Identifier) and part.quoted for part in parts
            ):
                return False
    return True


def put(table: exp.Table, engine_name: tuple[str, ...]) -> None:
    """Call a table of a query by its name in an engine, in quotes."""
    *above, name = engine_name
    table.set("this", exp.to_identifier(name, quoted=True))
    table.set("db", exp.to_identifier(above[-1], quoted=True) if above else None)
    table.set("catalog", None)


def native_sql(sql: str, relations: Sequence[Relation], dialect: str) -> str:
    """A query in DuckDB's dialect over tables of one source, in the dialect of that source."""
    try:
        writer = sqlglot.Dialect.get_or_raise(dialect)
    except ValueError:
        known = ", ".join(sorted(name for name in sqlglot.Dialect.classes if name))
        raise UsageError(f"dialect {dialect!r} is not known; there are: {known}") from None
    tree = parse(sql, "duckdb")
    try:
        return _native(tree, relations, writer, dialect)
    except RecursionError:
        raise GuardError(TOO_DEEP) from None


def _native(
    tree: exp.Expr, relations: Sequence[Relation], writer: sqlglot.Dialect, dialect: str
) -> str:
    meanings = resolved(tree, relations)
    read = {meant.table.id.source for _, meant in meanings if isinstance(meant, Relation)}
    if len(sources := sorted(read)) > 1:
        raise UsageError(
            f"the query reads {len(sources)} sources ({', '.join(sources)}), so no one of them can "
            f"run it: leave out --dialect {dialect}, and run it with dovetail sql"
        )
    unqualify(tree)
    _truncate_dates(tree, dialect)
    for table, meant in meanings:
        if isinstance(meant, Relation):
            parts = _native_name(meant.table.name, dialect)
            if not table.alias and table.name != parts[-1]:
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            put(table, parts)
    try:
        return writer.generate(tree, pretty=True, identify=True)
    except SqlglotError as error:
        raise UsageError(f"it cannot be written for {dialect}: {error}") from None


def _native_name(name: str, dialect: str) -> tuple[str, ...]:
    """The schema, if it is said, and the name of a table in its database, as `names` told them."""
    if dialect.lower() in _WITHOUT_SCHEMAS:
        return (name,)
    if quoted := _IN_FULL.fullmatch(name):
        return quoted[1].replace('""', '"'), quoted[2].replace('""', '"')
    above, _, last = name.rpartition(".")
    return (above, last) if above else (last,)


# Whose tables are called by one name, which may have a dot; and one that is quoted in full, for
# it sounds like another.
_WITHOUT_SCHEMAS = ("sqlite", "mysql")
_IN_FULL = re.compile(r'"((?:[^"]|"")*)"\."((?:[^"]|"")*)"')
# The first day of the time that a date is in, where sqlglot writes none that the source has.
_FIRST_DAYS = {
    "sqlite": {
        "YEAR": "date({0}, 'start of year')",
        "QUARTER": "date({0}, 'start of month', -((strftime('%m', {0}) + 2) % 3) || ' months')",
        "MONTH": "date({0}, 'start of month')",
        "WEEK": "date({0}, '-6 days', 'weekday 1')",
        "DAY": "date({0})",
    },
    "oracle": {
        unit: f"TRUNC({{0}}, '{form}')"
        for unit, form in (
            ("YEAR", "YYYY"),
            ("QUARTER", "Q"),
            ("MONTH", "MM"),
            ("WEEK", "IW"),
            ("DAY", "DD"),
        )
    },
}
# Where dates have a function of their own; weeks begin on Mondays, as DuckDB's do.
_OF_DATES = {"bigquery": {"WEEK": "ISOWEEK"}, "mysql": dict[str, str]()}


def _truncate_dates(tree: exp.Expr, dialect: str) -> None:
    """Write `date_trunc` as a source has it."""
    name = dialect.lower()
    for of_cast in list(tree.find_all(exp.DateTrunc)):  # sqlglot takes a cast for a date
        unit = exp.var(of_cast.text("unit"))
        of_cast.replace(exp.TimestampTrunc(this=of_cast.this, unit=unit))
    for call in list(tree.find_all(exp.TimestampTrunc)):
        date, period = call.this, call.text("unit").upper()
        if name == "sqlite" and isinstance(date, exp.Cast):  # its dates are texts
            date = date.this
        if name in _OF_DATES:
            called = exp.Literal.string(_OF_DATES[name].get(period, period))
            call.replace(exp.DateTrunc(this=date.copy(), unit=called))  # type: ignore[no-untyped-call]
        elif form := _FIRST_DAYS.get(name, {}).get(period):
            day = sqlglot.parse_one(form.format(date.sql(name)), dialect="sqlite")
            cast = call.parent if name == "sqlite" else None  # it casts dates to their years
            (cast if isinstance(cast, exp.Cast) else call).replace(day)
