"""The README's connector, and the template of a new connector, each in a separate folder."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
#: The SDK, and the packages that it needs.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
TEMPLATE = ROOT.parents[1] / "host/authoring/src/new/templates/python"


class Folders(unittest.TestCase):
    def passes(self, files: dict[str, str], count: int):
        """Runs the tests that are among these files, and expects this number of tests."""
        with TemporaryDirectory() as folder:
            for name, content in files.items():
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(content)
            done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        self.assertRegex(done.stderr, rf"Ran {count} tests? ")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_operation_that_is_declared_twice_stops_the_build(self):
        row = '"define": get("api", "/entries", "A word"),'
        connector = f"from connector_sdk import get\n\noperations = {{\n    {row}\n    {row}\n}}\n"
        with TemporaryDirectory() as folder:
            Path(folder, "words.py").write_text(connector)
            Path(folder, "unfinished.py").write_text("operations = {")
            Path(folder, "connector.py").write_text("from words import operations\n")
            command = [sys.executable, "-m", "connector_sdk.build", "connector.py"]
            done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("words.py:5: `define` is declared twice; give one of the two another name", done.stderr)

    def test_the_test_of_the_readme_passes(self):
        connector, test = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        self.passes({"dictionary.py": connector, "test_dictionary.py": test}, 1)

    def test_the_test_of_a_new_connector_passes(self):
        for auth in ("none", "api-key", "oauth2"):
            # A text of several lines gets the indentation of the line with the placeholder.
            indented = (TEMPLATE / "auth" / f"{auth}.py").read_text().strip().replace("\n", "\n    ")
            files = {"recordings/define.json": (TEMPLATE.parent / "recording.json").read_text()}
            for name in ("connector.py", "test_connector.py"):
                text = (TEMPLATE / name).read_text().replace("{{auth}}", indented)
                files[name] = text.replace("{{identifier}}", "words").replace("{{title}}", "Words")
            with self.subTest(auth=auth):
                self.passes(files, 2)


if __name__ == "__main__":
    unittest.main()
