import unittest

from connector_sdk.testing import Gateway, replay

from connector import connector


class ConnectorTest(unittest.TestCase):
    def test_the_path_contains_the_word(self):
        self.assertEqual(Gateway().invoke(connector, "define", {"word": "hello"}).path, "/entries/en/hello")

    def test_a_word_is_defined_as_recorded(self):
        replay(connector, "recordings/define.json")
