"""Types of the extension that plans; what each does stands in python/native."""

from collections.abc import Callable

def plan(
    input: bytes,
    output: bytes | None,
    target: int,
    quantize: tuple[bytes, ...],
    concurrent: tuple[bytes, ...],
    cap: tuple[bytes, ...],
    specialize: tuple[bytes, ...],
    operators: tuple[bytes, ...],
    passes: bytes | None,
    layout: bytes | None,
    algorithm: bytes | None,
    source_lines: bool,
    pack: bool,
    pack_budget: int,
    parallel_regions: bool,
    weights: bytes | None,
    weights_names: bytes | None,
    kv: bytes | None,
    calls: bytes | None,
    progress: Callable[[str, int, int], object] | None,
    /,
) -> str: ...
def memory_page(path: bytes, title: str, /) -> str: ...
