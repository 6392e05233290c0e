"""What teaching is worth on a company's pile: dovetail bench run teach FOLDER -C CATALOG

FOLDER is as `company` has it, or the name of one of our own piles (`brewery`, `insurer`); the
catalog itself is not written to. Two figures:

`taught`: the tables of every answerable question are confirmed, as `dovetail feedback` does, and
all are asked again: as they were, and politely, in other letters. How many have exactly the
confirmed set; of the latter, F1 before and after.

`notes`: ten lines of notes as an analyst would write them, chosen on each half of the questions: of
the lines that mistakes there suggest (a term that means the right tables, a table to be ignored
that is right for none of them), those that raise F1 there most, one after the other. F1 before and
after over all questions, over those that the lines were chosen on, and over the others.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import dovetail
from dovetail.domain import TableId
from dovetail.notes.file import QUESTIONS, TABLES, TERMS, Entry
from dovetail.notes.notes import Notes, notes_of
from dovetail.retrieve.ask import GRAPH, open_retriever
from dovetail.retrieve.match import GENERIC
from dovetail.search.lexical import Lexical
from dovetail.search.query import query_words
from dovetail_bench.measures import score
from dovetail_bench.programs.company import Asked, Names, read_questions
from dovetail_bench.programs.piles import PILES

_LINES, _LONGEST_TERM = 10, 3


@dataclass(frozen=True, slots=True)
class Pile:
    """A catalog, what is asked of it, and what the questions call its tables."""

    catalog: dovetail.Catalog
    name: Callable[[TableId], str]
    questions: Sequence[Asked]

    def confirmed(self, asked: Asked) -> list[TableId] | None:
        """The tables of the first accepted set that the catalog has whole; None without one."""
        members: dict[str, list[TableId]] = {}
        for table in self.catalog.ids:
            members.setdefault(self.name(table), []).append(table)
        for wanted in asked.accepted:
            if wanted and all(name in members for name in wanted):
                return [members[name][0] for name in sorted(wanted)]
        return None

    def sets(self, entries: Sequence[Entry], texts: Mapping[str, str]) -> dict[str, list[TableId]]:
        """The set of each question, by its id, with some notes and nothing else noted."""
        notes = notes_of(entries, self.catalog.reader) if entries else Notes()
        if notes.problems:
            raise ValueError(str(notes.problems[0]))
        searcher = self.catalog.searcher.noted(notes)
        retriever = open_retriever(GRAPH, searcher, self.catalog.settings)
        return {asked: list(retriever.retrieve(text).ids) for asked, text in texts.items()}

    def f1(self, sets: Mapping[str, Sequence[TableId]]) -> dict[str, float]:
        """The F1 of sets against the nearest accepted one, by the id of the question."""
        by_id = {one.id: one for one in self.questions}
        return {
            asked: max(score(set(map(self.name, found)), gold).f1 for gold in by_id[asked].accepted)
            for asked, found in sets.items()
        }


def taught(pile: Pile) -> dict[str, Any]:
    """What comes back of sets that were confirmed."""
    texts = {one.id: one.text for one in pile.questions}
    right = {one.id: tables for one in pile.questions if (tables := pile.confirmed(one))}
    entries = [
        Entry(0, QUESTIONS, texts[one], ", ".join(map(str, tables)))
        for one, tables in right.items()
    ]
    again = pile.sets(entries, {one: texts[one] for one in right})
    other = {one: _reworded(texts[one]) for one in right}
    return {
        "confirmed": len(right),
        "come_back": sum(set(again[one]) == set(tables) for one, tables in right.items()),
        "f1_reworded": [
            round(mean(pile.f1(pile.sets(given, other)).values()), 4) for given in ((), entries)
        ],
    }


def _reworded(question: str) -> str:
    """A question in other letters, asked for politely, of the same years."""
    return f"Please tell me: {question[:1].lower()}{question[1:].rstrip('?. ')}"


def with_notes(pile: Pile) -> list[dict[str, Any]]:
    """What ten lines of notes are worth, chosen on each half of the questions."""
    texts = {one.id: one.text for one in pile.questions}
    sets = pile.sets((), texts)
    before = pile.f1(sets)
    folds = []
    for own in (list(texts)[::2], list(texts)[1::2]):
        lines = _chosen(pile, {one: texts[one] for one in own}, sets, before)
        after = pile.f1(pile.sets(lines, texts))
        parts = {"all": set(texts), "chosen_on": set(own), "others": set(texts) - set(own)}
        means = {
            name: [round(mean(scores[one] for one in ids), 4) for scores in (before, after)]
            for name, ids in parts.items()
        }
        shown = [f'[{line.section}] "{line.key}" = "{line.value}"' for line in lines]
        folds.append({**means, "lines": shown})
    return folds


def _chosen(
    pile: Pile,
    own: Mapping[str, str],
    sets: Mapping[str, Sequence[TableId]],
    before: Mapping[str, float],
) -> list[Entry]:
    """The ten lines that raise the F1 of some questions most, one after the other."""
    now, chosen = {one: before[one] for one in own}, list[Entry]()

    def gain(line: Entry) -> tuple[float, dict[str, float]]:
        """What a line adds to the F1 of the questions that it is about, and their F1 with it."""
        about = {one: own[one] for one in own if _is_about(line, own[one], sets[one])}
        scores = pile.f1(pile.sets([*chosen, line], about))
        return sum(scores[one] - now[one] for one in about), scores

    ranked = [(gain(line)[0], -at, line) for at, line in enumerate(_lines(pile, own, sets, before))]
    for worth, _, line in sorted(ranked, key=lambda one: one[:2], reverse=True):
        if worth <= 0 or len(chosen) == _LINES:
            break
        more, scores = gain(line)
        if more > 0:
            chosen.append(line)
            now |= scores
    return chosen


def _is_about(line: Entry, question: str, found: Sequence[TableId]) -> bool:
    """Whether a line can change the set of a question."""
    if line.section == TERMS:
        return line.key.casefold() in question.casefold()
    return line.key in map(str, found)


def _lines(
    pile: Pile,
    own: Mapping[str, str],
    sets: Mapping[str, Sequence[TableId]],
    before: Mapping[str, float],
) -> Iterator[Entry]:
    """The lines that mistakes suggest: terms for the right tables, and tables never right."""
    wanted = {
        name for one in pile.questions if one.id in own for gold in one.accepted for name in gold
    }
    seen: set[str] = set()
    for asked in pile.questions:
        right = pile.confirmed(asked)
        if asked.id not in own or right is None or before[asked.id] == 1:
            continue
        meaning = f": {', '.join(map(str, right))}"
        terms = _terms(asked.text, pile.catalog.searcher.lexical)
        lines = [Entry(0, TERMS, term, meaning) for term in terms]
        wrong = [table for table in sets[asked.id] if pile.name(table) not in wanted]
        lines += [Entry(0, TABLES, str(table), "ignore") for table in wrong]
        yield from (line for line in lines if line.key not in seen)
        seen.update(line.key for line in lines)


def _terms(question: str, lexical: Lexical) -> Iterator[str]:
    """Runs of up to three words of a question, each of which means something, and no number.

    Nobody defines a single word that tables are named by.
    """
    words = re.findall(r"[^\W\d_]+", question)
    means = [len(word) > 1 and bool(query_words(word).keys() - GENERIC) for word in words]
    for size in range(_LONGEST_TERM, 0, -1):
        for at in range(len(words) - size + 1):
            jargon = size > 1 or not any(
                len(lexical.term(stem).tables) for stem in query_words(words[at])
            )
            if all(means[at : at + size]) and jargon:
                yield " ".join(words[at : at + size])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pile", help=f"a folder, or one of: {', '.join(PILES)}")
    parser.add_argument("-C", "--catalog", help="the catalog of a folder's pile")
    parser.add_argument("--only", choices=("taught", "notes"))
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        pile = _pile(given.pile, given.catalog, Path(folder))
        measured: dict[str, object] = {}
        measured |= {} if given.only == "notes" else {"taught": taught(pile)}
        measured |= {} if given.only == "taught" else {"notes": with_notes(pile)}
    print(json.dumps(measured, indent=1, ensure_ascii=False))


def _pile(name: str, catalog: str | None, folder: Path) -> Pile:
    if name in PILES:
        made, rows = PILES[name](folder)
        return Pile(made, str, own_questions(rows))
    names = Names(Path(name))
    questions = [one for one in read_questions(Path(name), names) if one.answerable]
    settings = dovetail.load_settings().but(use_notes=False)
    return Pile(dovetail.open(catalog, settings), names.of, questions)


def own_questions(rows: Sequence[Mapping[str, Any]]) -> list[Asked]:
    """The answerable questions of a pile of our own."""
    return [
        Asked(
            str(at),
            row["question"],
            [*map(frozenset, (row["tables"], *row.get("accepted", ())))],
            "",
        )
        for at, row in enumerate(rows)
        if row["tables"]
    ]


if __name__ == "__main__":
    main()
