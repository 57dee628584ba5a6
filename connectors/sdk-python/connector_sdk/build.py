"""Builds the component of a connector.

Usage: `python -m connector_sdk.build connector.py --output connector.wasm`.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from .row_module import MODULE, exports

CONTRACT = Path(__file__).with_name("connector.wit")

#: Imports the table, uses it, and ends with the mistake that was found in it. The directories of the
#: sources have other names in the component.
PROGRAM = """
{before}
import importlib.util
import os

from connector_sdk.mistake import Mistake, explained

SOURCES = {sources!r}
FOLDER = importlib.util.find_spec({module!r}).origin.rpartition(os.sep)[0] + os.sep


def place_of(file):
    return SOURCES + file.removeprefix(FOLDER) if file.startswith(FOLDER) else None


# File and line where the author wrote it: known, or the innermost call in the author's files.
def place_of_mistake(mistake):
    known = getattr(mistake, "place", None)
    places = [known] if known else []
    entry = mistake.__traceback__
    while entry is not None:
        places.insert(1 if known else 0, (entry.tb_frame.f_code.co_filename, entry.tb_lineno))
        entry = entry.tb_next
    found = [f"{{place_of(file)}}:{{line}}: " for file, line in places if place_of(file)]
    return found[0] if found else ""


try:
    import {module} as author

    {use}
except {mistakes} as mistake:
    raise SystemExit(f"{mark}{{place_of_mistake(mistake)}}{{explained(mistake)}}")
"""

#: The program that componentize-py runs at the build.
ENTRY = {
    "before": """
from connector_sdk.clocks import replace_clocks
from connector_sdk.missing import refuse_missing
from connector_sdk.randomness import replace_random_values

replace_clocks()
replace_random_values()
refuse_missing()

from connector_sdk.component import component
""",
    "use": "WitWorld = component(author.connector, place_of)",
    "mistakes": "(Mistake, NameError, ImportError)",
}

#: The program that checks the rows before. It runs in this Python, in which other parts of the
#: module may fail that work in the component.
CHECK = {
    "before": "from connector_sdk.row_module import check_rows",
    "use": "check_rows(author.connector)",
    "mistakes": "Mistake",
}

#: Begins the line of a mistake in what componentize-py prints.
MARK = "mistake of the table: "


def refuse_duplicates(source: Path) -> None:
    """Refuses a file in which a dictionary has a key twice.

    Python keeps the last one and says nothing, so one of two operations with the same name would be
    missing from the connector.
    """
    for node in ast.walk(ast.parse(source.read_bytes(), str(source))):
        if not isinstance(node, ast.Dict):
            continue
        seen = set()
        for key in node.keys:
            if not isinstance(key, ast.Constant):
                continue
            if key.value in seen:
                raise SystemExit(
                    f"connector-build: {source}:{key.lineno}: `{key.value}` is declared twice; give one of the two another name"
                )
            seen.add(key.value)


def imported(source: Path) -> list[Path]:
    """The module of a connector and the modules in its folder that it imports."""
    found, queue = [], [source]
    while queue:
        file = queue.pop()
        if file in found or not file.is_file():
            continue
        found.append(file)
        for node in ast.walk(ast.parse(file.read_bytes(), str(file))):
            if isinstance(node, ast.Import):
                queue += [file.with_name(f"{name.name.partition('.')[0]}.py") for name in node.names]
            if isinstance(node, ast.ImportFrom) and node.module:
                queue.append(file.with_name(f"{node.module.partition('.')[0]}.py"))
    return sorted(found)


def refuse_waiting(source: Path) -> None:
    """Refuses a file with an `async` function, because nothing would run it to its end.

    The check of the table names the operation, if the function is one. Such a function has a
    decorator.
    """
    for node in ast.walk(ast.parse(source.read_bytes(), str(source))):
        if isinstance(node, ast.AsyncFunctionDef) and not node.decorator_list:
            raise SystemExit(
                f"connector-build: {source}:{node.lineno}: this is an `async` function, and nothing runs after an operation has "
                "returned; leave out `async` and `await`: `send` returns the response itself, and `time.sleep` waits"
            )


def program(source: Path, parts: dict[str, str]) -> str:
    parent = source.parent.as_posix()
    return PROGRAM.format(module=source.stem, mark=MARK, sources="" if parent == "." else f"{parent}/", **parts)


def mistake_in(said: str) -> str | None:
    """The mistake of a table in what a program has said."""
    _, is_mistake, rest = said.partition(MARK)
    return rest.splitlines()[0] if is_mistake else None


def refuse_wrong_rows(source: Path) -> None:
    """Refuses a table with a mistake in its rows."""
    try:
        exports()
    except (ImportError, OSError) as error:
        raise SystemExit(f"connector-build: {error}") from None
    places = [str(source.parent.resolve()), *sys.path]
    command = [sys.executable, "-c", f"import sys\nsys.path[:] = {places!r}\n{program(source, CHECK)}"]
    mistake = mistake_in(subprocess.run(command, capture_output=True, text=True).stderr)
    if mistake is not None:
        raise SystemExit(f"connector-build: {mistake}")


def build(source: Path, output: Path) -> None:
    """Writes the component of the connector whose module is `source`.

    It can import modules in its folder, and installed packages.
    """
    if not source.is_file():
        raise SystemExit(f"connector-build: there is no file `{source}`")
    for file in sorted(source.parent.glob("*.py")):
        # The build below reports a syntax error of a file that the connector imports.
        with suppress(SyntaxError):
            refuse_duplicates(file)
    with suppress(SyntaxError):
        for file in imported(source):
            refuse_waiting(file)
    refuse_wrong_rows(source)
    with TemporaryDirectory() as folder:
        # The folder of the SDK may hold other packages, and must not be the folder of the author's
        # sources.
        shutil.copytree(Path(__file__).parent, Path(folder, "connector_sdk"), ignore=shutil.ignore_patterns("__pycache__", MODULE.name))
        Path(folder, "connector_entry.py").write_text(program(source, ENTRY))
        command = [
            *(sys.executable, "-c", "from componentize_py import script; script()"),
            *("--wit-path", str(CONTRACT.resolve()), "--world", "connector", "componentize", "--stub-wasi"),
            *("--python-path", folder, "--python-path", str(source.parent), "--output", str(output), "connector_entry"),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr or done.stdout
        raise SystemExit(f"connector-build: {mistake_in(said) or said}")
    print(f"{output}: {output.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="connector-build", description="Builds the component of a connector.")
    parser.add_argument("source", type=Path, help="the module of the connector, for example connector.py")
    parser.add_argument("--output", "-o", type=Path, help="the component; the default is a file in the working directory")
    given = parser.parse_args()
    build(given.source, given.output or Path(f"{given.source.stem}.wasm"))


if __name__ == "__main__":
    main()
