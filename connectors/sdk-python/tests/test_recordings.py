"""A replay of the shared recordings ends as in Rust."""

import json
import unittest

from connector_sdk.testing import replay

from rows import SHARED, connector


class Recordings(unittest.TestCase):
    def test_a_replay_fails_if_the_call_is_not_the_recorded_one(self):
        expected = json.loads((SHARED / "recordings.json").read_text())
        self.assertGreater(len(expected), 10)
        for name, words in expected.items():
            with self.subTest(recording=name):
                file = SHARED / f"recordings/{name}.json"
                if words is None:
                    replay(connector, file)
                    continue
                with self.assertRaises(AssertionError) as raised:
                    replay(connector, file)
                self.assertIn(words, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
