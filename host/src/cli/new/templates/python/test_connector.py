import unittest

from connector_sdk.testing import Gateway

from connector import connector


class ConnectorTest(unittest.TestCase):
    def test_the_path_contains_the_word(self):
        self.assertEqual(Gateway().invoke(connector, "define", {"word": "hello"}).path, "/entries/en/hello")
