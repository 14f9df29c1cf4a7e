"""The results as a table in Markdown."""

from dataclasses import dataclass

CELLS = [("stock", "stock"), ("stock", "etx"), ("etx", "stock"),
         ("etx", "etx")]


@dataclass
class Row:
    family: str
    name: str
    calls: int
    results: dict  # (file, runtime) to lines that say what is wrong
    defects: dict  # (file, runtime) to one line: a known stock defect

    def mark(self, cell):
        """The text of a cell: it agrees, it has a known stock defect, or it is
        red. A listed defect that is gone is red too, so that the list stays
        true."""
        wrong = bool(self.results[cell])
        known = cell in self.defects
        if wrong != known:
            return "RED"
        return "stock defect" if known else "agrees"

    def is_red(self):
        return any(self.mark(cell) == "RED" for cell in CELLS)

    def summary(self):
        return ", ".join(f"{file} file in {runtime}: {self.mark((file, runtime))}"
                         for file, runtime in CELLS
                         if self.mark((file, runtime)) != "agrees") or "agrees"

    def explain(self):
        for cell in CELLS:
            if self.mark(cell) != "RED":
                continue
            if not self.results[cell]:
                yield f"{cell}: agrees, but a defect is listed"
            for line in self.results[cell][:6]:
                yield f"{cell}: {line}"


HEAD = """# Compatibility with ExecuTorch, in both directions

This page compares etx with ExecuTorch in both directions. It is made by
`tests/interop/check_interop.py`; do not edit it. Each model is exported twice, by the
stock exporter (`torch.export`, `to_edge`, `to_executorch`) and by
`etx plan --target executorch`, and each file runs in both runtimes. "agrees"
means: outputs, changed inputs and every state after every call equal those of
PyTorch (integers exactly, floats within 1e-5, half precision within its own
precision), and `etx verify` proves the memory plan of the file. "stock defect" means
that ExecuTorch's exporter or runtime is known to be wrong; the list below the table
says how.

| | model | calls | stock file, stock runtime | stock file, etx | etx file, stock runtime | etx file, etx |
|---|---|---|---|---|---|---|
"""


def table_of(rows):
    """The whole page."""
    text = HEAD
    family = None
    for row in rows:
        shown = row.family if row.family != family else ""
        family = row.family
        cells = " | ".join(row.mark(cell) for cell in CELLS)
        text += f"| {shown} | {row.name} | {row.calls} | {cells} |\n"
    notes = [(row, cell) for row in rows for cell in CELLS
             if row.mark(cell) == "stock defect"]
    if notes:
        text += "\nStock defects:\n\n"
    for row, (file, runtime) in notes:
        text += (f"* {row.name}, {file} file in the {runtime} runtime: "
                 f"{row.defects[file, runtime]}\n")
    return text
