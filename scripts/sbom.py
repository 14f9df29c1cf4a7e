#!/usr/bin/env python3
"""Writes the list of what a binary or a wheel of etx contains and needs (SBOM).

  scripts/sbom.py FILE [--static PREFIX] [-o OUTPUT]

FILE is the command, a library or a wheel. The list is CycloneDX 1.5 in JSON. It has
the shared libraries that readelf finds in FILE, with the package and version of this
machine where dpkg knows them, and the libraries that were linked statically: those
whose .pc files are in PREFIX/lib/pkgconfig (scripts/wheels.sh). Equal files give equal
bytes: the time is SOURCE_DATE_EPOCH, and the serial number comes from the content.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import tempfile
import uuid
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def own_version() -> str:
    project = (ROOT / "pyproject.toml").read_text()
    return re.search(r'^version = "([^"]+)"', project, re.MULTILINE).group(1)


def digest_of(path: Path) -> dict:
    return {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}


def needed_of(path: Path) -> list[str]:
    text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
    return re.findall(r"\(NEEDED\).*\[([^]]+)\]", text.stdout)


def binaries_of(path: Path, folder: Path) -> list[Path]:
    """The file itself, or the ELF files of a wheel, unpacked into `folder`."""
    if path.suffix != ".whl":
        return [path]
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder)
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return [p for p in files if p.read_bytes()[:4] == b"\x7fELF"]


def package_of(soname: str) -> tuple[str, str] | None:
    """Debian's package of a library and its version, or None."""
    try:
        found = subprocess.run(["dpkg-query", "-S", f"*/{soname}"], capture_output=True, text=True)
        name = found.stdout.split(":")[0]
        if found.returncode != 0 or not name:
            return None
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}\n", name], capture_output=True, text=True
        )
    except FileNotFoundError:
        return None
    return name, version.stdout.split("\n")[0]


def shared_component(soname: str) -> dict:
    component = {"type": "library", "name": soname, "scope": "required"}
    package = package_of(soname)
    if package is not None:
        name, version = package
        component.update(version=version, purl=f"pkg:deb/debian/{name}@{version}")
    component["properties"] = [{"name": "etx:linkage", "value": "shared"}]
    return component


def static_components(prefix: Path) -> list[dict]:
    components = []
    for file in sorted((prefix / "lib" / "pkgconfig").glob("*.pc")):
        text = file.read_text()
        version = re.search(r"^Version:\s*(\S+)", text, re.MULTILINE)
        components.append(
            {
                "type": "library",
                "name": file.stem,
                "version": version.group(1) if version else "unknown",
                "properties": [{"name": "etx:linkage", "value": "static"}],
            }
        )
    return components


def bill_of(path: Path, static: Path | None) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        binaries = binaries_of(path, Path(folder))
        inside = {binary.name for binary in binaries}
        needed = {name for binary in binaries for name in needed_of(binary)} - inside
        parts = [
            {"type": "file", "name": binary.name, "hashes": [digest_of(binary)]}
            for binary in binaries
        ]
    time = datetime.datetime.fromtimestamp(
        int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc
    )
    digest = digest_of(path)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest['content'])}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "name": "etx",
                "version": own_version(),
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [digest],
                "components": parts,
            },
        },
        "components": [shared_component(name) for name in sorted(needed)]
        + (static_components(static) if static else []),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--static", type=Path, metavar="PREFIX")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    text = json.dumps(bill_of(options.file, options.static), indent=2) + "\n"
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
