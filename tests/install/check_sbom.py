"""Compares the list that scripts/sbom.py writes with what the loader finds.

  check_sbom.py SBOM FILE [FILE ...]

ldd knows the libraries of a file independently of readelf, but those, too, that they
need themselves: each listed library must be among them, and each of the others must be
needed by one of those.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def loaded_by(path: str) -> dict[str, str]:
    text = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (\S+)", text, re.MULTILINE))


def check(script: str, path: str) -> list[str]:
    first, second = (
        subprocess.run([sys.executable, script, path], check=True, capture_output=True).stdout
        for _ in range(2)
    )
    bill = json.loads(first)
    errors = [] if first == second else [f"{path}: two runs write different bytes"]
    if (bill["bomFormat"], bill["specVersion"]) != ("CycloneDX", "1.5"):
        errors.append(f"{path}: the list is not CycloneDX 1.5")
    named = {component["name"] for component in bill["components"]}
    loaded = loaded_by(path)
    errors += [f"{path}: {name} is listed, but not loaded" for name in named - set(loaded)]
    indirect = set()
    for name in named & set(loaded):
        indirect |= set(loaded_by(loaded[name]))
    errors += [
        f"{path}: {name} is loaded, but not listed" for name in set(loaded) - named - indirect
    ]
    digest = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True)
    if bill["metadata"]["component"]["hashes"][0]["content"] != digest.stdout.split()[0]:
        errors.append(f"{path}: the SHA-256 is another one")
    return errors


def main() -> int:
    script, *files = sys.argv[1:]
    errors = [error for path in files for error in check(script, path)]
    for error in errors:
        print(error)
    print(f"sbom: {len(files)} files, {len(errors)} errors")
    return 1 if errors or not all(Path(f).exists() for f in files) else 0


if __name__ == "__main__":
    sys.exit(main())
