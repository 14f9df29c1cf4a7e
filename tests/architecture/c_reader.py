"""Finds functions, macros and types in C text, without a compiler.

Comments, strings and directives are blanked first, so that every brace left is
one of the code. Each branch of an #if is read as if it were the only one: at
#else and #elif the reader returns to the state it had at #if. The bodies of
#define are read in the same way, because macros define functions, too.
"""

import re
from collections import namedtuple

Function = namedtuple("Function", "path line lines name parameters")
Macro = namedtuple("Macro", "path name parameters body")
TypeDefinition = namedtuple("TypeDefinition", "path line kind name")

_LITERALS = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([^)]*\))?")
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(if|elif|else|endif)")
_STRUCTURE = re.compile(r"[{};]")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\.\.\.|##|\d[\w.]*|\S")
_STATEMENTS = {"if", "else", "for", "while", "do", "switch", "case", "return",
               "default", "goto"}
_ATTRIBUTES = {"__attribute__", "__attribute", "_Alignas", "__declspec",
               "_Pragma", "__asm__", "__asm", "asm", "_Static_assert"}
_TAGS = ("struct", "union", "enum")
_STORAGE = {"static", "inline", "extern", "_Noreturn", "__inline", "const"}


def _blank(match):
    text = match.group(0)
    kept = {'"': '""', "'": "0 "}.get(text[0], "  ")
    return kept + re.sub(r"[^\n]", " ", text[2:])


def without_literals(text):
    """`text`, as long as before, without comments and contents of strings."""
    return _LITERALS.sub(_blank, text)


class CText:
    """One file: its code without directives, and the directives."""

    def __init__(self, path, text):
        self.path = path
        plain = without_literals(text)
        self.directives = [(m.start(), m.group(0))
                           for m in _DIRECTIVE.finditer(plain)]
        self.code = _DIRECTIVE.sub(
            lambda m: re.sub(r"[^\n]", " ", m.group(0)), plain)
        self._lines = [m.start() for m in re.finditer("\n", text)]

    def line(self, position):
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            if self._lines[middle] < position:
                low = middle + 1
            else:
                high = middle
        return low + 1

    def macros(self):
        """(position of the body, Macro) of every #define."""
        for start, text in self.directives:
            match = _DEFINE.match(text)
            if match:
                parameters = None
                if match.group(2) is not None:
                    words = match.group(2)[1:-1].replace("\\\n", " ")
                    parameters = [w.strip() for w in words.split(",")]
                body = text[match.end():].replace("\\\n", " \n")
                yield start + match.end(), Macro(self.path, match.group(1),
                                                 parameters, body)


class CTree:
    """Every C file of a tree, and the macros that its heads may use."""

    def __init__(self, texts):
        """`texts`: {path: text}."""
        self.files = {path: CText(path, text) for path, text in texts.items()}
        self.macros = {}
        for file in self.files.values():
            for _, macro in file.macros():
                self.macros.setdefault(macro.name, []).append(macro)
        self.unreadable = []

    def functions(self):
        for path in sorted(self.files):
            yield from self._functions_of(self.files[path])

    def _functions_of(self, file):
        spans, balanced = _function_spans(file.code, file.directives, True)
        if not balanced:
            self.unreadable.append(file.path)
        yield from self._named(file, file.code, spans, 0)
        for offset, macro in file.macros():
            if "{" in macro.body:
                spans, _ = _function_spans(macro.body, [], False)
                yield from self._named(file, macro.body, spans, offset)

    def _named(self, file, code, spans, offset):
        for head, first, end in spans:
            found = self._analyse(file.path, head, 0)
            if found:
                line = file.line(offset + first)
                lines = file.line(offset + end) - line + 1
                yield Function(file.path, line, lines, *found)

    def _macro(self, path, name):
        """The definitions of `name` that a file may mean, its own first."""
        known = self.macros.get(name, ())
        return [m for m in known if m.path == path] or known

    def _analyse(self, path, head, depth):
        """(name, parameter count) if `head` {...} is a function."""
        tokens = _without_attributes(_tokens(head))
        items = _grouped(tokens)
        if not items or "=" in items or _STATEMENTS.intersection(
                i for i in items if isinstance(i, str)):
            return None
        if isinstance(items[-1], str):
            return self._expanded_end(path, items, depth)
        return self._declarator(path, items, depth)

    def _expanded_end(self, path, items, depth):
        """A head that ends in an object-like macro: void f ARGUMENTS {"""
        if depth > 4 or len(items) < 2 or items[-2] in _TAGS:
            return None
        for macro in self._macro(path, items[-1]):
            if macro.parameters is None and "(" in macro.body:
                found = self._analyse(
                    path, " ".join(_flat(items[:-1])) + " " + macro.body,
                    depth + 1)
                if found:
                    return found
        return None

    def _declarator(self, path, items, depth):
        last, before = items[-1], items[-2] if len(items) > 1 else None
        if before is None or before in ("]", ","):
            return None
        if isinstance(before, list):
            if before and before[0] == "*":  # returns a pointer to a function
                return self._declarator(path, ["void"] + before[1:], depth)
            if len(items) < 3 or not isinstance(items[-3], str):
                return None
            name = items[-3] + "(" + "".join(_flat(before)) + ")"
            return name, self._count(path, last, depth)
        if not re.match(r"[A-Za-z_]", before) or (
                len(items) > 2 and items[-3] in _TAGS):
            return None
        if all(i in _STORAGE for i in items[:-2]):  # no type: MACRO(...) {
            return self._macro_head(path, items, depth)
        return before, self._count(path, last, depth)

    def _macro_head(self, path, items, depth):
        name, arguments = items[-2], items[-1]
        shown = name + "(" + "".join(_flat(arguments)) + ")"
        known = [m for m in self._macro(path, name)
                 if m.parameters is not None]
        if not known or depth > 4:
            return (shown, self._count(path, arguments, depth)) \
                if not known else None
        found = [self._analyse(path, _substituted(macro, arguments), depth + 1)
                 for macro in known]
        found = [f for f in found if f]
        return (shown, max(f[1] for f in found)) if found else None

    def _count(self, path, group, depth):
        """How many parameters stand in a parenthesis, macros expanded."""
        parts = _split(self._expanded(path, group, depth))
        words = [p for p in parts if p and p not in (["void"], ["..."])]
        return len(words)

    def _expanded(self, path, group, depth):
        """`group` with the macros replaced that change where commas stand."""
        if depth > 4:
            return group
        result, at = [], 0
        while at < len(group):
            item = group[at]
            at += 1
            macro = None
            if isinstance(item, str):
                macro = max(self._macro(path, item), default=None,
                            key=lambda m: m.body.count(","))
            if macro is None:
                result.append(item)
                continue
            arguments = None
            if macro.parameters is not None:
                if at == len(group) or isinstance(group[at], str):
                    result.append(item)
                    continue
                arguments = group[at]
                at += 1
            body = macro.body if arguments is None else _substituted(
                macro, arguments)
            result += self._expanded(path, _grouped(_tokens(body)) or [],
                                     depth + 1)
        return result

    def types(self):
        for path in sorted(self.files):
            file = self.files[path]
            yield from _types_in(file, file.code, 0)
            for offset, macro in file.macros():
                if "{" in macro.body or "typedef" in macro.body:
                    yield from _types_in(file, macro.body, offset)


def _tokens(text):
    """Words and signs; a ## b is one word."""
    words, join = [], False
    for word in _TOKEN.findall(text):
        if word == "##" and words:
            join = True
        elif join:
            words[-1] += "##" + word
            join = False
        else:
            words.append(word)
    return words


def _without_attributes(tokens):
    result, at = [], 0
    while at < len(tokens):
        if tokens[at] in _ATTRIBUTES:
            at += 1
            while at < len(tokens) and tokens[at] in ("volatile", "goto"):
                at += 1
            if at < len(tokens) and tokens[at] == "(":
                at = _after_group(tokens, at)
        else:
            result.append(tokens[at])
            at += 1
    return result


def _after_group(tokens, at):
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        at += 1
        if depth == 0:
            break
    return at


def _grouped(tokens):
    """Tokens with each (...) as a list; None if they do not match."""
    stack = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                return None
            group = stack.pop()
            stack[-1].append(group)
        else:
            stack[-1].append(token)
    return stack[0] if len(stack) == 1 else None


def _flat(items):
    for item in items:
        if isinstance(item, list):
            yield "("
            yield from _flat(item)
            yield ")"
        else:
            yield item


def _split(items):
    """The parts between commas."""
    parts = [[]]
    for item in items:
        if item == ",":
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _substituted(macro, arguments):
    """The body of `macro` as text, with the parts of `arguments` put in."""
    parts = [" ".join(_flat(p)) for p in _split(arguments)]
    values = {}
    for at, name in enumerate(macro.parameters):
        if name == "...":
            values["__VA_ARGS__"] = " , ".join(parts[at:])
        else:
            values[name] = parts[at] if at < len(parts) else ""
    return re.sub(r"[A-Za-z_]\w*",
                  lambda m: values.get(m.group(0), m.group(0)), macro.body)


class _State:
    """Where the reader stands: open braces, and the head being collected."""

    def __init__(self, start):
        self.braces = []  # True: transparent, as of extern "C" {
        self.pieces = []  # (start, end) of the head so far
        self.start = start  # of the head's open piece
        self.function = None  # (head, position) of the function that is open

    def copy(self):
        other = _State(self.start)
        other.braces = list(self.braces)
        other.pieces = list(self.pieces)
        other.function = self.function
        return other

    def outside(self):
        return all(self.braces)

    def cut(self, position):
        self.pieces.append((self.start, position))
        self.start = position

    def begin_head(self, position):
        self.pieces = []
        self.start = position


def _function_spans(code, directives, strict):
    """(head, first position, end) of each {...} outside others; balanced?"""
    marks = [(m.start(), m.group(0)) for m in _STRUCTURE.finditer(code)]
    for position, text in directives:
        match = _CONDITIONAL.match(text)
        if match:
            marks.append((position, match.group(1)))
    marks.sort()
    state, saved, spans, balanced = _State(0), [], [], True
    for position, mark in marks:
        if mark == "{":
            _open(code, state, position)
        elif mark == "}":
            if not state.braces:
                balanced = False
                state.begin_head(position + 1)
                continue
            state.braces.pop()
            if state.outside():
                if state.function:
                    spans.append((*state.function, position))
                    state.function = None
                state.begin_head(position + 1)
        elif mark == ";":
            if state.outside():
                state.begin_head(position + 1)
        elif mark == "if":
            state.cut(position)
            saved.append(state.copy())
        elif mark == "endif":
            if saved:
                saved.pop()
            state.cut(position)
        elif saved:  # else, elif
            state = saved[-1].copy()
            state.start = position
    if not strict and state.function:  # a macro that opens a function
        spans.append((*state.function, len(code.rstrip()) - 1))
    return spans, balanced and not state.braces


def _open(code, state, position):
    if not state.outside():
        state.braces.append(False)
        return
    state.cut(position)
    head = " ".join(code[a:b] for a, b in state.pieces)
    transparent = re.fullmatch(r'\s*extern\s*""\s*', head) is not None
    state.braces.append(transparent)
    if transparent:
        state.begin_head(position + 1)
        return
    places = [p for a, b in state.pieces for p in (*range(a, b), b)]
    at = _after_calls(head)
    first = places[at] if at < len(head) else position
    state.function = (head[at:], first)


def _after_calls(head):
    """Where a head begins behind macro calls of their own: MADE(x) int f()."""
    at = len(head) - len(head.lstrip())
    while True:
        match = re.compile(r"([A-Za-z_]\w*)\s*\(").match(head, at)
        if not match or match.group(1) in _ATTRIBUTES:
            return at
        depth, end = 1, match.end()
        while end < len(head) and depth:
            depth += (head[end] == "(") - (head[end] == ")")
            end += 1
        rest = head[end:]
        word = re.match(r"\s*([A-Za-z_]\w*)", rest)
        if not word or word.group(1) in _ATTRIBUTES:
            return at
        at = end + len(rest) - len(rest.lstrip())


_TAG = re.compile(r"\b(struct|union|enum)\b((?:\s*__attribute__\s*"
                  r"\(\([^;{]*?\)\))?)\s+([A-Za-z_]\w*)\s*\{")
_TYPEDEF = re.compile(r"\btypedef\b")


def _types_in(file, code, offset):
    for match in _TAG.finditer(code):
        if "##" not in code[match.end(3):match.end()]:
            yield TypeDefinition(file.path,
                                 file.line(offset + match.start(1)),
                                 match.group(1), match.group(3))
    for match in _TYPEDEF.finditer(code):
        statement = _statement(code, match.end())
        if statement is None:
            continue
        for name in _typedef_names(statement):
            yield TypeDefinition(file.path, file.line(offset + match.start()),
                                 "typedef", name)


def _statement(code, start):
    """The text to the next ; outside braces, without what braces hold."""
    depth, pieces, at = 0, [], start
    for match in _STRUCTURE.finditer(code, start):
        if match.group(0) == "{":
            if depth == 0:
                pieces.append(code[at:match.start()] + "{}")
            depth += 1
        elif match.group(0) == "}":
            depth -= 1
            if depth < 0:
                return None
            at = match.end()
        elif depth == 0:
            return "".join(pieces) + code[at:match.start()]
    return None


def _typedef_names(statement):
    """Names that a typedef makes, but for typedef struct x x."""
    tokens = _without_attributes(_tokens(statement))
    items = _grouped(tokens)
    if not items:
        return
    tag = items[1] if (items[0] in _TAGS and len(items) > 1) else None
    for part in _split(items):
        name = _declared_name(part)
        if name and name != tag:
            yield name


def _declared_name(items):
    groups = [i for i in items if isinstance(i, list)]
    if groups:
        first = items.index(groups[0])
        if groups[0] and groups[0][0] == "*":  # int (*name)(...)
            return _declared_name(groups[0][1:])
        # int name(...), or a name that a macro makes: NAME(x)
        if len(groups) > 1 or first != len(items) - 1:
            return None
        if first >= 2 and isinstance(items[first - 1], str):
            before = items[first - 2]
            if before not in (*_TAGS, "}"):
                return items[first - 1]
        return None
    words = []
    for item in items:
        if item == "[":
            break
        words.append(item)
    if not words or not re.fullmatch(r"[A-Za-z_]\w*", words[-1]):
        return None
    return words[-1]
