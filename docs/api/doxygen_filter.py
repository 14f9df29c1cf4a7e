"""Doxygen's input filter: the headers' prose comments as documentation comments.

    doxygen_filter.py FILE        writes the changed text to standard output

Headers of this tree use plain `//` comments. A block that stands directly above
a declaration, with no blank line between, describes it; a comment behind a
field describes the field. Doxygen wants `///` and `///<` for these. The text
keeps its lines, so that Doxygen's warnings name the right ones.

In a block, lines that are indented further than one space are drawings or code
and stay as they are; "Word  text" with two spaces is an entry of the contract
at the head of a file (Ownership, Threads, ...).
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"^( *)// ?(.*)$")
TRAILING = re.compile(r"^(.*?[^ ])( +)// ?(.*)$")
ENTRY = re.compile(r"^([A-Z][a-z]+)(  +)(\S.*)$")
TYPE_OPENS = re.compile(r"^\s*(typedef\s+)?(struct|union|enum|class|namespace)\b[^;(]*\{\s*(//.*)?$")
HEADED = ("op_schema.def", "dtype.def")  # comments head groups of rows
ROW = re.compile(r"^[A-Z]+\((\w+)")


def names_in(paths: list[str], pattern: str) -> set[str]:
    """What the first group of a pattern matches in files of the tree."""
    return {name for path in paths for name in re.findall(pattern, (ROOT / path).read_text())}


# What Doxygen makes links of, if it is written its way.
FUNCTIONS = names_in(os.environ.get("ETX_PUBLIC_HEADERS", "").split(), r"\b(etx_[a-z0-9_]+)\(")
STATUSES = names_in(["format/base/status.def"], r"(?m)^STATUS\((\w+)")


def linked(name: str) -> str:
    if name in FUNCTIONS:
        return f"{name}()"
    return f"#{name}" if name.startswith("ETX_") and name[4:] in STATUSES else name


def escaped(text: str) -> str:
    """Text in which Doxygen finds no commands; `code` in backquotes as code."""
    text = re.sub(r"([\\@&<>#%$])", r"\\\1", text)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    text = re.sub(r"\b(etx|ETX)_\w+\b(?!\()", lambda found: linked(found[0]), text)
    # A name with a point or colons does not refer to something else.
    return text.replace("::", "\\::")


def formatted(texts: list[str]) -> list[str]:
    """The lines of one block, marked up: as many as there were."""
    out: list[str] = []
    entry = 0  # columns of the open entry's text, 0: none is open
    raw = False  # in a drawing
    in_list = False
    for i, text in enumerate(texts):
        later = next((t for t in texts[i + 1 :] if t.strip()), "")
        indent = len(text) - len(text.lstrip())
        opens = ENTRY.match(text)
        if raw:
            ends = not later.startswith("  ")
            if text.strip() or not ends:
                out.append(text)
            else:
                out.append("")
            if ends and not any(t.startswith("  ") for t in texts[i + 1 : i + 2]):
                out[-1] += " \\endverbatim"
                raw = False
            continue
        if opens is None and not (entry and indent == entry) and text.strip() and indent >= 2:
            # The first line would lose its indent behind the command.
            if out and not out[-1]:
                out[-1] = "\\verbatim"
                out.append(text)
            else:
                out.append("\\verbatim " + text)
            raw = True
            if not (i + 1 < len(texts) and (texts[i + 1].startswith("  "))):
                nxt = texts[i + 1 : i + 2]
                if not nxt or nxt[0].strip() or not later.startswith("  "):
                    out[-1] += " \\endverbatim"
                    raw = False
            continue
        if opens:
            line = "" if in_list else "<dl>"
            in_list = True
            entry = len(opens[1]) + len(opens[2])
            line += f"<dt>{opens[1]}</dt><dd>{escaped(opens[3])}"
        else:
            line = escaped(text.strip() if entry else text)
        if entry:
            following = texts[i + 1] if i + 1 < len(texts) else ""
            continues = len(following) - len(following.lstrip()) == entry and following.strip()
            if not continues:
                line += "</dd>"
                entry = 0
                if not ENTRY.match(following):
                    line += "</dl>"
                    in_list = False
        out.append(line)
    return out


def row_text(line: str) -> str | None:
    """What a row of a .def list without a comment says of its enumerator."""
    name = ROW.match(line)
    words = re.findall(r'"([^"]*)"', line)
    if not name or not words:
        return None
    if line.startswith("OP("):
        full = words[0] + (f".{words[1]}" if words[1] else "")
        return f"{full}({words[2]})"
    if line.startswith("DTYPE("):
        bytes_of = line.split(",")[3].strip()
        return f"{words[0]}, {bytes_of} byte" + ("" if bytes_of == "1" else "s")
    return words[0]


def arguments_of(row: str) -> list[str]:
    """The arguments of a row, which may hold commas in quotes."""
    return [part.strip() for part in re.findall(r'((?:"[^"]*"|[^,"])+)', row)]


def expanded(macro: str, path: str) -> str:
    """The rows of a .def list as enumerators with descriptions, in one line."""
    parameters, body = re.match(r"#define \w+\(([^)]*)\) *(.*)$", macro).groups()
    parts: list[str] = []
    comment: list[str] = []
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith("//"):
            comment.append(line[2:].strip())
            continue
        row = re.match(r"[A-Z]+\((.*)\)$", line)
        if row:
            heads = path.endswith(HEADED) or not comment
            said = escaped(row_text(line) if heads else " ".join(comment))
            given = dict(zip(arguments_of(parameters), arguments_of(row[1])))
            text = re.sub(r"(##)?\b(\w+)\b", lambda m: given.get(m[2], m[0]), body)
            parts.append(f"/** {said} */ {text}")
        comment = []
    return " ".join(parts)


def is_declaration(line: str) -> bool:
    """True if a comment directly above such a line describes something."""
    stripped = line.strip()
    if not stripped or stripped[0] == "}" or stripped.startswith("//"):
        return False
    return not stripped.startswith("#") or bool(re.match(r"#\s*(define|ifndef ETX_\w+$|if defined)", stripped))


def closing_name(lines: list[str], start: int) -> str:
    """The name behind the brace that closes the one which line `start` opens."""
    depth = 0
    for line in lines[start:]:
        code = line.split("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0:
            found = re.search(r"\}\s*(\w+);", code)
            return found[1] if found else ""
    return ""


def block(indent: str, texts: list[str]) -> list[str]:
    """The lines of a block as one documentation comment."""
    out = [text.rstrip().replace("*/", "* /") for text in texts]
    out[0] = f"{indent}/** {out[0]}"
    out[-1] += " */"
    return out


def main(path: str) -> None:
    lines = Path(path).read_text().splitlines()
    name = Path(path).resolve().relative_to(ROOT).as_posix()
    out: list[str] = []
    scopes: list[str] = []  # "type" or "body" for each brace that is open
    notes: list[str] = []  # comments above structs within structs that are open
    column = -1  # of the trailing comment on the line before, -1: none
    i = 0
    while i < len(lines):
        line = lines[i]
        comment = COMMENT.match(line)
        in_body = "body" in scopes
        if comment and column >= 0 and line.index("//") == column:
            out.append(" " * column + "///< " + escaped(comment[2]))
            i += 1
            continue
        column = -1
        if comment and not in_body:
            end = i
            while end < len(lines) and COMMENT.match(lines[end]):
                end += 1
            following = lines[end] if end < len(lines) else ""
            texts = [COMMENT.match(each)[2] for each in lines[i:end]]
            if i == 0:
                texts = formatted(texts)
                texts[0] = f"\\file {name} {texts[0]}"
                out += block("", texts)
            elif is_declaration(following):
                out += block(comment[1], formatted(texts))
            else:
                out += lines[i:end]
            i = end
            continue
        i += 1
        if line.lstrip().startswith("#"):
            rows = re.match(r'# *include "(.*\.def)"', line)
            if rows and "type" in scopes:
                first = max(k for k in range(len(out)) if out[k].startswith("#define"))
                line = expanded(" ".join(each.rstrip("\\ ") for each in out[first:]), rows[1])
                out[first:] = [""] * (len(out) - first)
                i += 1  # over #undef
                out += [line, ""]
                continue
            # Without messages functions become macros: the same to their callers.
            out.append(line.replace("#if !ETX_MESSAGES", "#if 0"))
            continue
        # C has one name where the headers give a type two: the tag and the same
        # name as a typedef. Structs within structs get the name of their field.
        line = re.sub(r"^typedef struct (\w+) \1;", "", line)
        line = re.sub(r"^typedef (struct|enum|union) (\w+) \{", r"\1 \2 {", line)
        if not scopes or scopes == ["type"]:
            line = re.sub(r"^\} \w+;", "};", line)
        anonymous = re.match(r"^( +)(struct|union) \{(.*)$", line)
        if anonymous:
            field = closing_name(lines, i - 1)
            said = out[-1].strip()
            notes.append(said[4:-3] if said.startswith("/** ") and said.endswith(" */") else "")
            line = f"{anonymous[1]}{anonymous[2]} {field} {{{anonymous[3]}"
        code = line
        trailing = TRAILING.match(line) if not in_body else None
        if trailing:
            code = trailing[1]
            if scopes and scopes[-1] == "type" and not code.rstrip().endswith(("{", "}")):
                column = line.index("//", len(code))
                line = f"{code}{trailing[2]}///< {escaped(trailing[3])}"
        for brace in re.findall(r"[{}]", re.sub(r'"[^"]*"', "", code)):
            if brace == "{":
                scopes.append("type" if TYPE_OPENS.match(code) else "body")
            elif scopes:
                scopes.pop()
        if notes and re.match(r"^ +\} \w+;$", line):
            # Doxygen gives the comment above to the struct, not to its field.
            said = notes.pop()
            line += f"  ///< {said}" if said else ""
        out.append(line)
    print("\n".join(out))


if __name__ == "__main__":
    main(sys.argv[1])
