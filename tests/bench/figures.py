"""Shared by the benchmark scripts: the machine's name, and documents whose
tables are between markers."""

import os


def machine():
    """The processor's name and the number of processors."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{model}, {os.cpu_count()} cores"


def write_markdown(path, parts):
    """Replaces the text between the markers of each name in `parts`."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, content in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"{path}: no markers '{name}'")
        text = f"{head}{begin}\n{content}{end}{tail}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
