"""`DovetailRetriever` for LangChain: the tables of a question as documents."""

from __future__ import annotations

from typing import Any

from dovetail.adapters import table_documents
from dovetail.api.catalog import Catalog
from dovetail.errors import MissingExtraError

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as missing:
    raise MissingExtraError("DovetailRetriever for LangChain", "langchain") from missing


class DovetailRetriever(BaseRetriever):
    """Returns the set of tables that a question needs, a document for each, joins included.

    `options` are those of `Catalog.ask`: selector, breadth, k, sources, llm. Where nothing in the
    catalog answers the question, there are no documents.
    """

    catalog: Any
    options: dict[str, Any]

    def __init__(self, catalog: Catalog, **options: Any) -> None:
        fields: dict[str, Any] = {"catalog": catalog, "options": options}
        super().__init__(**fields)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        result = self.catalog.ask(query, **self.options)
        return [
            Document(one.text, id=one.id, metadata={**one.metadata, "score": one.score})
            for one in table_documents(result)
        ]
