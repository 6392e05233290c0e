"""`DovetailRetriever` for LlamaIndex: the tables of a question as nodes with scores."""

from __future__ import annotations

from typing import Any

from dovetail.adapters import table_documents
from dovetail.api.catalog import Catalog
from dovetail.errors import MissingExtraError

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as missing:
    raise MissingExtraError("DovetailRetriever for LlamaIndex", "llama-index") from missing


class DovetailRetriever(BaseRetriever):
    """Returns the set of tables that a question needs, a node for each, joins included.

    `options` are those of `Catalog.ask`: selector, breadth, k, sources, llm. Where nothing in the
    catalog answers the question, there are no nodes.
    """

    def __init__(self, catalog: Catalog, **options: Any) -> None:
        super().__init__()
        self._asked = catalog
        self._options = options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self._asked.ask(query_bundle.query_str, **self._options)
        return [
            NodeWithScore(
                node=TextNode(id_=one.id, text=one.text, metadata=one.metadata), score=one.score
            )
            for one in table_documents(result)
        ]
