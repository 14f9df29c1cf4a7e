"""Programs for the tests, planned with the `etx` command.

The command is the one that ETX_COMMAND names, else the one beside this tree's
build, else the package's own planner.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"

TWO_INPUTS = """\
etx: 1
method: add
inputs:
  - {name: x, type: "float32[4]"}
  - {name: y, type: "float32[4]"}
nodes:
  - {out: z, op: aten.add.Tensor, args: [x, y]}
outputs: [z]
mutates: {}
"""

MANY_TYPES = """\
etx: 1
method: pass_on
inputs:
  - {name: a, type: "int64[2]"}
  - {name: b, type: "float64[]"}
  - {name: c, type: "bool[3]"}
  - {name: d, type: "uint8[2]"}
  - {name: e, type: "float16[1, 2]"}
  - {name: f, type: "bfloat16[2]"}
nodes:
  - {out: ra, op: aten.clone.default, args: [a]}
  - {out: rb, op: aten.clone.default, args: [b]}
  - {out: rc, op: aten.logical_not.default, args: [c]}
  - {out: rd, op: aten.clone.default, args: [d]}
  - {out: re, op: aten.clone.default, args: [e]}
  - {out: rf, op: aten.clone.default, args: [f]}
outputs: [ra, rb, rc, rd, re, rf]
mutates: {}
"""


# A method with the name of something that sessions have themselves, and one
# whose index may be beyond its table.
CLASH = """\
etx: 1
method: reset
inputs: []
buffers:
  - {name: count, type: "float32[2]", init: 3}
nodes:
  - {out: more, op: aten.add.Tensor, args: [count, 1]}
outputs: [more]
mutates: {count: more}
"""

LOOK_UP = """\
etx: 1
method: look_up
inputs:
  - {name: index, type: "int64[n]"}
dims: {n: {min: 1, max: 4}}
buffers:
  - {name: table, type: "float32[3, 2]", init: 1}
nodes:
  - {out: rows, op: aten.index_select.default, args: [table, 0, index]}
outputs: [rows]
mutates: {}
"""


# Writes rows of two states, the second one at a place that is computed.
PUT_ROWS = """\
etx: 1
method: put
inputs:
  - {name: at, type: "int64[1]"}
  - {name: row, type: "float32[1]"}
buffers:
  - {name: first, type: "float32[8]", init: 0}
  - {name: second, type: "float32[8]", init: 0}
nodes:
  - {out: new_first, op: aten.index_put.default, args: [first, [at], row]}
  - {out: twice, op: aten.add.Tensor, args: [at, at]}
  - {out: new_second, op: aten.index_put.default, args: [second, [twice], row]}
outputs: []
mutates: {first: new_first, second: new_second}
"""


# Appends a row to two states, at a position that a third one counts: the position
# before this call and that after it.
APPEND_ROWS = """\
etx: 1
method: append
inputs:
  - {name: row, type: "float32[1]"}
buffers:
  - {name: first, type: "float32[8]", init: 0}
  - {name: second, type: "float32[4]", init: 0}
  - {name: place, type: "int64[1]", init: 0}
nodes:
  - {out: new_first, op: aten.index_put.default, args: [first, [place], row]}
  - {out: next, op: aten.add.Scalar, args: [place, 1]}
  - {out: new_second, op: aten.index_put.default, args: [second, [next], row]}
outputs: []
mutates: {first: new_first, second: new_second, place: next}
"""


def make_program(source: Path, output: Path, *, parallel_regions: bool = False) -> Path:
    """Plans a directory of methods into a program file."""
    command = os.environ.get("ETX_COMMAND")
    if command is not None:
        regions = ["--parallel-regions"] if parallel_regions else []
        subprocess.run([command, "plan", source, "-o", output, "-q", *regions], check=True)
    else:
        import etx

        etx.plan(source, output, parallel_regions=parallel_regions)
    return output


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Program files by name."""
    folder = tmp_path_factory.mktemp("programs")
    made = {"stateful": make_program(ROOT / "samples" / "stateful_model", folder / "stateful.pte")}
    sources = {
        "two": {"add": TWO_INPUTS},
        "types": {"pass_on": MANY_TYPES},
        "clash": {"reset": CLASH, "look_up": LOOK_UP},
        "rows": {"put": PUT_ROWS},
        "append": {"append": APPEND_ROWS},
    }
    for name, methods in sources.items():
        (folder / name).mkdir()
        for method, text in methods.items():
            (folder / name / f"{method}.yaml").write_text(text)
        made[name] = make_program(folder / name, folder / f"{name}.pte")
    for name in ("kv", "caches"):
        made[name] = make_program(DATA / "pt2" / name, folder / f"{name}.pte")
    return made
