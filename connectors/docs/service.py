"""The service of the pages in this folder: words, and notes of a user. It needs Python only.

    python3 service.py 8900
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

WORDS = {"hello": ["greeting", "welcome"], "gateway": ["entrance", "portal"]}
NOTES = [{"id": number, "text": f"Note {number}"} for number in range(1, 6)]


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path.startswith("/entries/en/"):
            return self.word(address.path.rsplit("/", 1)[1])
        if not self.headers["Authorization"]:
            return self.answer(401, {"message": "Give a token."})
        if address.path == "/me":
            return self.answer(200, {"id": "7", "email": "ada@example.com", "name": "Ada"})
        if address.path == "/notes":
            return self.notes(int(query.get("page", 1)))
        return self.answer(404, {"message": "There is no such thing."})

    def word(self, word):
        if word not in WORDS:
            return self.answer(404, {"message": f"There is no word {word}."})
        return self.answer(200, [{"word": word, "meanings": [{"synonyms": WORDS[word]}]}])

    def notes(self, page):
        """Two notes, and the number of the next page."""
        last = page * 2 >= len(NOTES)
        return self.answer(200, {"notes": NOTES[page * 2 - 2 : page * 2], "next": None if last else page + 1})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service)
    print(f"The service is at http://127.0.0.1:{sys.argv[1]}.", flush=True)
    server.serve_forever()
