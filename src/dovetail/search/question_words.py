"""The words of a question and how each is looked up, in the language that the question is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from dovetail.search.languages import Language, language_of, language_of_names
from dovetail.search.lexical import Lexical
from dovetail.search.query import QueryTerm
from dovetail.search.query_terms import query_words
from dovetail.search.word_forms import WordForms


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """The stems of a question, each as written, how each becomes a term, and its stop words."""

    words: Mapping[str, str]
    look_up: Callable[[str], QueryTerm]
    stop_words: frozenset[str] = frozenset()


class QuestionWords:
    """Reads questions over one catalog, whose index has these words."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._vocabulary = vocabulary
        self._forms = lru_cache(maxsize=None)(partial(WordForms, vocabulary=vocabulary))

    def read(self, question: str, lexical: Lexical) -> SpokenWords:
        """The words of a question, to be looked up in an index."""
        language = language_of(question, self._usual)
        if language is None:
            return SpokenWords(query_words(question), lexical.term)
        forms = self._forms(language)
        words = forms.words(question)

        def look_up(word: str) -> QueryTerm:
            found = forms.expansions(words.get(word, word)) or forms.expansions(word)
            return lexical.term(word, found)

        return SpokenWords(words, look_up, language.stop)

    @cached_property
    def _usual(self) -> Language | None:
        """The language of the catalog's names and comments."""
        return language_of_names(self._vocabulary)
