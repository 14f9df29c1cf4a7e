"""There is no dependency cycle between files.

x.c and x.h are one unit, every other file is one of its own. An arrow is an
#include or the use of a symbol; units that reach each other are a cycle.
"""

import collections

import file_graph
import object_symbols
import source_tree


def graph_of(uses):
    """{unit: {unit: [what is used]}}"""
    graph = collections.defaultdict(lambda: collections.defaultdict(list))
    for use in uses:
        if use.target is None:
            continue
        own = source_tree.unit_of(use.source)
        other = source_tree.unit_of(use.target)
        if own != other:
            graph[own][other].append(
                use.name if use.is_symbol else f"#include {use.name}")
    return graph


def judge(report, graph):
    kind = report.kind(
        "no cycle of files",
        "move what both need into a third file below them, merge files that "
        "belong together, or let the upper one pass what the lower one needs")
    circles = source_tree.circles_of(graph)
    for circle in circles:
        members = set(circle)
        lines = [f"a cycle of {len(circle)} files"]
        for own in circle:
            for other, names in sorted(graph[own].items()):
                if other in members:
                    shown = sorted(set(names))
                    more = f" and {len(shown) - 3} more" * (len(shown) > 3)
                    lines.append(f"    {own} -> {other}: "
                                 f"{', '.join(shown[:3])}{more}")
        report.error(kind, circle[0], "\n".join(lines))
    return circles


def main():
    arguments = source_tree.options(__doc__, build=True).parse_args()
    tree = source_tree.SourceTree(arguments.source)
    build = object_symbols.Build(arguments.source, arguments.build)
    report = source_tree.Report("circles")
    uses = [*file_graph.include_uses(tree),
            *file_graph.symbol_uses(tree, build)]
    report.note(build.note())
    if not uses:
        raise SystemExit("circles: nothing found: is --source right?")
    graph = graph_of(uses)
    units = set(graph) | {t for targets in graph.values() for t in targets}
    judge(report, graph)
    return report.close(f"{len(units)} files, "
                        f"{sum(len(t) for t in graph.values())} arrows")


if __name__ == "__main__":
    source_tree.run(main)
