"""The objects of a build: their sources, targets and symbols.

compile_commands.json says which object is made of which source, so objects of
sources that are gone are never read. nm is the one the build was made with.
"""

import collections
import json
import os
import re
import subprocess

import source_tree

# `arguments`: the command line that made it.
Object = collections.namedtuple(
    "Object", "path source target arguments defined used")
_TARGET = re.compile(r"(.*?)/?CMakeFiles/([^/]+)\.dir/")


class Build:
    """The objects that exist, and the sources whose objects do not.

    A sanitized build gives none here, because it contains code from outside the tree.
    """

    def __init__(self, source_root, build):
        self.build = os.path.abspath(build)
        self.root = os.path.realpath(source_root)
        self.cache = self._read_cache()
        self.objects = []
        self.missing = []
        commands = []
        if self.sanitized():
            return
        for command in self._commands():
            if os.path.exists(command[1]):
                commands.append(command)
            else:
                self.missing.append(command[0])
        symbols = self._symbols([path for _, path, _, _ in commands])
        for source, path, target, arguments in commands:
            defined, used = symbols.get(path, ({}, set()))
            self.objects.append(
                Object(path, source, target, arguments, defined, used))

    def _read_cache(self):
        cache = {}
        path = os.path.join(self.build, "CMakeCache.txt")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    match = re.match(r"(\w+):\w+=(.*)", line)
                    if match:
                        cache[match.group(1)] = match.group(2)
        return cache

    def sanitized(self):
        return self.cache.get("ETX_SANITIZE", "") != ""

    def _commands(self):
        """(source from the root, object, target, command) of each file."""
        path = os.path.join(self.build, "compile_commands.json")
        if not os.path.exists(path):
            raise SystemExit(f"{path} is missing: configure with Ninja or "
                             "Makefiles and CMAKE_EXPORT_COMPILE_COMMANDS=ON")
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
        for entry in entries:
            source = os.path.relpath(os.path.realpath(
                os.path.join(entry["directory"], entry["file"])), self.root)
            command = entry.get("command") or " ".join(entry["arguments"])
            output = re.search(r" -o (\S+)", command)
            output = entry.get("output") or (output and output.group(1))
            if source.startswith("..") or not output:
                continue
            match = _TARGET.match(output)
            folder = os.path.join(entry["directory"],
                                  match.group(1) if match else "")
            target = os.path.relpath(os.path.join(
                folder, match.group(2) if match else output), self.build)
            yield (source, os.path.normpath(
                os.path.join(entry["directory"], output)), target, command)

    def _symbols(self, paths):
        """{object: ({defined: letter}, used)} by nm, some hundred a call."""
        nm = self.cache.get("CMAKE_NM") or "nm"
        found = {}
        for at in range(0, len(paths), 200):
            result = subprocess.run([nm, "-A", "-g", *paths[at:at + 200]],
                                    capture_output=True, text=True,
                                    check=False)
            if result.returncode:
                raise SystemExit(f"{nm}: {result.stderr.strip()[:400]}")
            for line in result.stdout.splitlines():
                path, _, rest = line.partition(".o:")
                fields = rest.split()
                if len(fields) < 2:
                    continue
                letter, name = fields[-2], fields[-1]
                defined, used = found.setdefault(path + ".o", ({}, set()))
                if letter in "Uwv" and len(fields) == 2:
                    used.add(name)
                else:
                    defined[name] = letter
        return found

    def note(self):
        """What a report says of this build, or nothing."""
        if self.sanitized():
            return "symbols are not judged: the build is sanitized"
        if self.missing:
            return (f"{len(self.missing)} sources are not built: what they "
                    "use is not seen")
        return ""

    def archives(self):
        """Targets that are static libraries: {target: its archive}."""
        found = {}
        for target in {o.target for o in self.objects}:
            folder, name = os.path.split(target)
            path = os.path.join(self.build, folder, f"lib{name}.a")
            if os.path.exists(path):
                found[target] = path
        return found

    def targets_of(self, archives):
        """Targets of these archives; of no archives: of all but tests'."""
        wanted = {os.path.realpath(a) for a in archives}
        known = {os.path.realpath(path): target
                 for target, path in self.archives().items()}
        for path in wanted - set(known):
            raise SystemExit(f"{path}: no archive with objects of this build")
        if wanted:
            return {known[path] for path in wanted}
        return {t for t in known.values()
                if not t.startswith(source_tree.TESTS)}
