"""Queries of PyTorch's graphs."""

from __future__ import annotations

from torch.fx import Graph, Node


def inputs_of(graph: Graph) -> list[Node]:
    """Arguments, parameters and buffers, in the order of the signature."""
    return list(graph.find_nodes(op="placeholder"))
