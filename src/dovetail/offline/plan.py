"""The plan of an update: which tables must be read, and which records still hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.domain import Skipped, TableId
from dovetail.errors import DovetailError, PartlyDeclaredError, UsageError
from dovetail.offline.previous import EarlierRecords
from dovetail.plugins import open_source
from dovetail.ports import Declaration, Listing, Source, SourceSpec
from dovetail.profile.batch import TableToRead, reason
from dovetail.sources.declarations import (
    described,
    descriptions_file,
    merged,
    read_descriptions,
)
from dovetail.sources.resolve import expand
from dovetail.sources.server_batches import announce


@dataclass(slots=True)
class Plan:
    """What an update will do, filled in root by root.

    `unchanged` maps the places of earlier records that still hold to their newest tokens;
    `unreadable` are labels of roots and sources that could not be opened or listed. `declared` is
    what the sources declare of the tables in `declaring`, which are those that were asked about; of
    some of these, keys or comments could not be told in full, as `notices` say.
    """

    to_read: list[TableToRead] = field(default_factory=list)
    unchanged: dict[int, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    declared: dict[TableId, Declaration] = field(default_factory=dict)
    declaring: set[TableId] = field(default_factory=set)
    untold_keys: set[TableId] = field(default_factory=set)
    untold_comments: set[TableId] = field(default_factory=set)
    inspected: set[str] = field(default_factory=set)
    notices: list[str] = field(default_factory=list)

    def inspect(self, root: SourceSpec, earlier: EarlierRecords, *, check: bool) -> None:
        """List the tables of a root, and sort them into unchanged ones and those to read.

        With `check`, every table is read, whatever its source says.
        """
        try:
            specs = expand(root)
        except (DovetailError, OSError) as error:
            self._give_up(root.label, error)
            return
        beside = self._descriptions(root)
        for spec in specs:
            if spec.label not in self.inspected:
                self.inspected.add(spec.label)
                self._inspect_source(spec, None if check else earlier, beside)

    def _descriptions(self, root: SourceSpec) -> Mapping[str, Declaration]:
        """What is written of tables beside a root; a file that cannot be read is told of."""
        file = descriptions_file(root.location) if root.kind == "path" else None
        try:
            return read_descriptions(file) if file is not None else {}
        except (DovetailError, OSError) as error:
            self.skipped.append(Skipped(root.label, "", reason(error)))
            return {}

    def is_unreadable(self, table: TableId) -> bool:
        """Whether a table is in a source, or a folder of one, that could not be inspected."""
        place = table.name if table.source == "." else f"{table.source}/{table.name}"
        return any(f"{place}/".startswith(f"{label}/") for label in self.unreadable)

    def _inspect_source(
        self,
        spec: SourceSpec,
        earlier: EarlierRecords | None,
        beside: Mapping[str, Declaration],
    ) -> None:
        try:
            source = open_source(spec)
        except UsageError:
            raise
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
            return
        try:
            wanted = [listing for listing in source.tables() if spec.wants(listing.name)]
            if earlier is not None:
                tokens = earlier.tokens(spec.label)
                known = [listing for listing in wanted if listing.name in tokens]
                announce(source, known, tokens, rows=False)
            for listing in wanted:
                self._inspect_table(TableToRead(spec, listing), source, earlier)
            self._note_declarations(spec, source, wanted)
            self._note_descriptions(spec, wanted, beside)
        except (DovetailError, OSError) as error:
            self._give_up(spec.label, error)
        finally:
            source.close()

    def _inspect_table(
        self, table: TableToRead, source: Source, earlier: EarlierRecords | None
    ) -> None:
        try:
            valid = earlier.still_valid(table.id, table.listing, source) if earlier else None
        except (DovetailError, OSError) as error:
            self.skipped.append(Skipped(table.id.source, table.id.name, reason(error)))
            return
        if valid:
            self.unchanged[valid[0]] = valid[1]
        else:
            self.to_read.append(table)

    def _note_declarations(
        self, spec: SourceSpec, source: Source, tables: Sequence[Listing]
    ) -> None:
        """Note what a source declares of its tables; what it cannot say, the earlier word holds."""
        ask = getattr(source, "declarations", None)
        try:
            said = ask(tables) if ask is not None else {}
        except PartlyDeclaredError as error:
            why = f"not all of its declared keys and comments can be read: {reason(error)}"
            self.notices.append(f"{spec.label}: {why}")
            said = error.told
            about = {TableId(spec.label, table.name) for table in tables}
            self.untold_keys |= about if error.keys else set()
            self.untold_comments |= about if error.comments else set()
        except (DovetailError, OSError) as error:
            why = f"its declared keys and comments cannot be read: {reason(error)}"
            self.skipped.append(Skipped(spec.label, "", why))
            return
        self.declaring |= {TableId(spec.label, table.name) for table in tables}
        self.declared |= {TableId(spec.label, name): found for name, found in said.items()}

    def _note_descriptions(
        self, spec: SourceSpec, tables: Sequence[Listing], beside: Mapping[str, Declaration]
    ) -> None:
        """Note what is written of tables beside their source."""
        for name, said in described(tables, spec.label, beside):
            table = TableId(spec.label, name)
            self.declared[table] = merged(self.declared.get(table, Declaration()), said)

    def _give_up(self, label: str, error: Exception) -> None:
        self.unreadable.add(label)
        self.skipped.append(Skipped(label, "", reason(error)))
