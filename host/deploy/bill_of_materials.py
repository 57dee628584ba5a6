#!/usr/bin/env python3
"""Writes the bill of materials and the licences of a release.

    host/deploy/bill_of_materials.py TARGET FOLDER

FOLDER/sbom.cdx.json lists every crate that is a part of the gateway or of a connector, in the format CycloneDX 1.5.
FOLDER/THIRD-PARTY-LICENSES.txt has the text of each licence once, with the crates that it covers. Crates that only build or test the
gateway are left out. The same Cargo.lock gives the same bytes.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

# Names of files with the text of a licence or a notice that has to be passed on.
LICENCE_FILE = re.compile(r"^(licen[cs]e|copying|notice|unlicense)([-._].*)?$", re.IGNORECASE)


def metadata(target):
    """What Cargo knows of the packages, for this target. Cargo downloads the manifests that a build did not need."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def parts(cargo):
    """The ids of the packages in the binary, in the connectors and in the module of rows, each with those that it uses."""
    packages = {package["id"]: package for package in cargo["packages"]}
    nodes = {node["id"]: node for node in cargo["resolve"]["nodes"]}

    def is_shipped(package):
        folder = Path(package["manifest_path"]).parent.relative_to(cargo["workspace_root"])
        return str(folder) in ("host/cli", "wit/rows_module") or (str(folder.parent) == "connectors" and folder.name != "sdk")

    found = {}
    waiting = [id for id in cargo["workspace_members"] if is_shipped(packages[id])]
    while waiting:
        id = waiting.pop()
        if id in found:
            continue
        # A dependency of kind `None` is a part of the result. The others only build or test it.
        uses = [use["pkg"] for use in nodes[id]["deps"] if any(kind["kind"] is None for kind in use["dep_kinds"])]
        found[id] = sorted(uses)
        waiting.extend(uses)
    return packages, found


def licence_texts(package):
    """The texts of the licences in the package's folder, or in the file that it names."""
    folder = Path(package["manifest_path"]).parent
    files = [entry for entry in folder.iterdir() if entry.is_file() and LICENCE_FILE.match(entry.name)]
    if package.get("license_file"):
        files.append(folder / package["license_file"])
    return [file.read_text(errors="replace").strip().replace("\r\n", "\n") for file in sorted(set(files))]


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    found = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package.get("description"):
        found["description"] = " ".join(package["description"].split())
    if package.get("license"):
        # Old packages separate alternatives with a slash, which is no expression.
        found["licenses"] = [{"expression": " ".join(package["license"].replace("/", " OR ").split())}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("repository"):
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found


def bill(cargo, packages, found, version):
    lock = tomllib.loads((Path(cargo["workspace_root"]) / "Cargo.lock").read_text())
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}
    root = f"pkg:generic/connector-gateway@{version}"
    members = set(cargo["workspace_members"])
    ordered = sorted(found, key=lambda id: (packages[id]["name"], packages[id]["version"]))
    dependencies = [{"ref": root, "dependsOn": sorted(reference(packages[id]) for id in found if id in members)}]
    for id in ordered:
        uses = sorted({reference(packages[use]) for use in found[id]})
        dependencies.append({"ref": reference(packages[id]), "dependsOn": uses})
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "connector-gateway",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": [component(packages[id], checksums) for id in ordered],
        "dependencies": dependencies,
    }
    # The number names the content, so that the same content has the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{number}"}


def licences(packages, found, members):
    covered = {}
    for id in found:
        if id not in members:
            for text in licence_texts(packages[id]):
                covered.setdefault(text, set()).add(f"{packages[id]['name']} {packages[id]['version']}")
    lines = ["Licences of the software that connector-gateway and its connectors contain.\n"]
    for text, names in sorted(covered.items(), key=lambda entry: (sorted(entry[1]), entry[0])):
        lines.append(f"{'=' * 100}\n{', '.join(sorted(names))}\n{'=' * 100}\n\n{text}\n")
    # Some packages have no file with a licence: they name it only.
    silent = [packages[id] for id in found if id not in members and not licence_texts(packages[id])]
    named = sorted(f"{package['name']} {package['version']}: {package.get('license')}" for package in silent)
    if named:
        lines.append(f"{'=' * 100}\nPackages that name their licence and have no file with it\n{'=' * 100}\n")
        lines.extend(named)
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target, folder = sys.argv[1], Path(sys.argv[2])
    cargo = metadata(target)
    packages, found = parts(cargo)
    version = next(package["version"] for package in packages.values() if package["name"] == "connector-gateway")
    document = bill(cargo, packages, found, version)
    (folder / "sbom.cdx.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    text = licences(packages, found, set(cargo["workspace_members"]))
    (folder / "THIRD-PARTY-LICENSES.txt").write_text(text)


if __name__ == "__main__":
    main()
