"""The service of the pages in this folder: words, news, photos, and notes of a user. It needs Python only.

    python3 service.py 8900
"""

import json
import re
import sys
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

WORDS = {"hello": ["greeting", "welcome"], "gateway": ["entrance", "portal"]}
NEWS = [{"title": f"News {number}"} for number in range(1, 6)]
NOTES = [{"id": number, "text": f"Note {number}"} for number in range(1, 6)]


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        # Each customer has an address: `/workspaces/acme/notes`.
        address = urlsplit(re.sub("^/workspaces/[a-z]+", "", self.path))
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path.startswith("/entries/en/"):
            return self.word(address.path.rsplit("/", 1)[1])
        if address.path == "/news":
            return self.page("news", NEWS, int(query.get("page", 1)))
        if not self.headers["Authorization"]:
            return self.answer(401, {"message": "Give a token."})
        if address.path == "/me":
            return self.answer(200, {"id": "7", "email": "ada@example.com", "name": "Ada"})
        if address.path == "/notes":
            return self.page("notes", NOTES, int(query.get("page", 1)))
        return self.answer(404, {"message": "There is no such thing."})

    def do_POST(self):
        """Photos: a form with files."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + body, policy=HTTP)
        if self.path != "/photos" or form.get_content_type() != "multipart/form-data":
            return self.answer(400, {"message": "Send a form with files to /photos."})
        return self.answer(200, {"stored": [self.part(part) for part in form.iter_parts()]})

    def part(self, part):
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if part.get_filename() is None:
            return {"field": name, "text": content.decode()}
        return {"field": name, "file": part.get_filename(), "type": part.get_content_type(), "bytes": len(content)}

    def word(self, word):
        if word not in WORDS:
            return self.answer(404, {"message": f"There is no word {word}."})
        return self.answer(200, [{"word": word, "meanings": [{"synonyms": WORDS[word]}]}])

    def page(self, name, items, page):
        """Two items, and the number of the next page."""
        last = page * 2 >= len(items)
        return self.answer(200, {name: items[page * 2 - 2 : page * 2], "next": None if last else page + 1})

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
