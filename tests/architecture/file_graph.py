"""Which file uses which: by #include, and by the symbols of the objects."""

import collections
import re

import source_tree

# One file's use of another. `line` is 0 for a symbol; `name` is what the
# source says: the included name, or the symbol.
Use = collections.namedtuple("Use", "source line name target is_symbol")
_NAMED_FILE = re.compile(r'^[ \t]*#[ \t]*define[ \t]+\w+[ \t]+"([^"\n]+)"',
                         re.MULTILINE)


def include_uses(tree):
    """Every #include "..." of C and C++; target is None for no file here.

    #define X "a file of the tree" is an include as well: X is how a template
    gets at its list.
    """
    for path in tree.ending_in(source_tree.C_ENDINGS + source_tree.CXX_ENDINGS):
        for line, name, target, is_system in tree.includes(path):
            if not is_system:
                yield Use(path, line, name, target, False)
        text = tree.text(path)
        for match in _NAMED_FILE.finditer(text):
            if match.group(1) in tree:
                yield Use(path, text.count("\n", 0, match.start()) + 1,
                          match.group(1), match.group(1), False)


def symbol_uses(tree, build):
    """Every symbol that one file of the tree takes from another.

    A name is looked up in the user's own target, then in the libraries, then
    in the libraries of the tests: those replace functions of the system.
    """
    archives = build.archives()
    own = collections.defaultdict(dict)
    libraries = collections.defaultdict(set)
    of_tests = collections.defaultdict(set)
    for o in build.objects:
        for name in o.defined:
            own[o.target].setdefault(name, o.source)
            if o.target in archives:
                (of_tests if o.source.startswith(source_tree.TESTS)
                 else libraries)[name].add(o.source)
    seen = set()
    for o in build.objects:
        for name in o.used:
            here = own[o.target].get(name)
            found = {here} if here else libraries.get(name)
            if not found and o.source.startswith(source_tree.TESTS):
                found = of_tests.get(name)
            for target in found or ():
                use = Use(o.source, 0, name, target, True)
                if (target != o.source and target in tree
                        and o.source in tree and use not in seen):
                    seen.add(use)
                    yield use
