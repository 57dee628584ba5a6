"""The connector and the test of the README, in a folder of their own."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


class Readme(unittest.TestCase):
    def test_the_test_of_the_readme_passes(self):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        with TemporaryDirectory() as folder:
            for name, block in zip(["dictionary.py", "test_dictionary.py"], blocks, strict=True):
                Path(folder, name).write_text(block)
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "unittest", "test_dictionary"]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        self.assertIn("Ran 1 test", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
