"""The graph that dovetail ships is the one that the program writes."""

from importlib.resources import files

from dovetail.models import embed_minilm
from dovetail_bench.programs.minilm_graph import bert


def test_the_graph_is_up_to_date() -> None:
    shipped = files("dovetail.models").joinpath(embed_minilm.GRAPH).read_bytes()
    assert shipped == bert(embed_minilm.weights())
