"""The service of the pages in this folder: words, news, photos, a shop, and notes of a user. It needs Python only.

    python3 service.py 8900
"""

import hmac
import json
import re
import sys
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

WORDS = {"hello": ["greeting", "welcome"], "gateway": ["entrance", "portal"]}
NEWS = [{"title": f"News {number}"} for number in range(1, 6)]
NOTES = [{"id": number, "text": f"Note {number}"} for number in range(1, 6)]
PRICES = 'item,price\n"desk, large",120.50\nchair,35\n'
FEED = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <entry><title>Fish &amp; chips</title><updated>2026-03-01T09:30:00+02:00</updated></entry>
  <entry><title>Tea</title><updated>2026-03-02T00:15:00Z</updated></entry>
</feed>
"""
# The keys of orders that were refused once.
ORDERS = set()


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        # Each customer has an address: `/workspaces/acme/notes`.
        address = urlsplit(re.sub("^/workspaces/[a-z]+", "", self.path))
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path.startswith("/entries/en/"):
            return self.word(address.path.rsplit("/", 1)[1])
        if address.path == "/news":
            return self.page("news", NEWS, int(query.get("page", 1)))
        if address.path.startswith("/shelves/"):
            return self.answer(200, {"shelf": unquote(address.path.rsplit("/", 1)[1]), "query": query})
        if address.path == "/changes":
            since = int(query.get("since", len(NOTES)))
            return self.answer(200, {"notes": NOTES[since : since + int(query.get("limit", 50))], "last": len(NOTES)})
        if address.path == "/prices":
            return self.send(200, "text/csv", PRICES)
        if address.path == "/feed":
            return self.send(200, "application/atom+xml", FEED)
        if address.path == "/signed/me" and self.is_signed(b""):
            return self.answer(200, {"id": "7", "name": "Ada"})
        if not self.headers["Authorization"]:
            return self.answer(401, {"message": "Give a token."})
        if address.path == "/me":
            return self.answer(200, {"id": "7", "email": "ada@example.com", "name": "Ada"})
        if address.path == "/notes":
            return self.page("notes", NOTES, int(query.get("page", 1)))
        return self.answer(404, {"message": "There is no such thing."})

    def do_POST(self):
        """Orders, signed notes, and photos: a form with files."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/signed/notes":
            if not self.is_signed(body):
                return self.answer(401, {"message": "The signature is wrong."})
            return self.answer(201, {"stored": json.loads(body)["text"]})
        if self.path.startswith("/orders/"):
            return self.order(urlsplit(self.path))
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + body, policy=HTTP)
        if self.path != "/photos" or form.get_content_type() != "multipart/form-data":
            return self.answer(400, {"message": "Send a form with files to /photos."})
        return self.answer(200, {"stored": [self.part(part) for part in form.iter_parts()]})

    def is_signed(self, body):
        """The signature is over the time, the method, the path with its query, and the body."""
        text = (self.headers["X-Timestamp"] or "") + self.command + self.path
        expected = hmac.digest(b"a-secret", text.encode() + body, "sha256").hex()
        return self.headers["X-Key"] == "key-1" and hmac.compare_digest(expected, self.headers["X-Signature"] or "")

    def order(self, address):
        """The first request of an order comes too early."""
        key = self.headers["Idempotency-Key"]
        if key not in ORDERS:
            ORDERS.add(key)
            return self.answer(429, {"message": "Try again in a second."}, [("Retry-After", "1")])
        count = parse_qs(address.query)["count"][0]
        return self.answer(201, {"item": unquote(address.path.rsplit("/", 1)[1]), "count": int(count)})

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

    def answer(self, status, value, headers=()):
        self.send(status, "application/json", json.dumps(value), headers)

    def send(self, status, content_type, text, headers=()):
        body = text.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service)
    print(f"The service is at http://127.0.0.1:{sys.argv[1]}.", flush=True)
    server.serve_forever()
