// The connector of the tests in JavaScript. `tests/languages/python/connector.py` is the same in Python.

import {
  Fault, File, Request, USERINFO, clock, connector, ended_codes, file, get, integer, list, log, oauth2, pages, post, read, send, sendAll, storage,
  string, userinfo, write,
} from "@connector-gateway/sdk";

export default connector({
  identifier: "javascript",
  version: "1.0.0",
  title: "JavaScript",
  auth: oauth2({ provider: "acme", scopes: ["read"], identity: USERINFO }),
  auth_additions: [ended_codes(["grant_is_gone"])],
  address: { member: { title: "Number of the user", form: "segment", from: "/data/id" } },
  upstreams: { api: "https://api.acme.example", own: "https://own.acme.example/{member}" },
  settings: { version: string({ default: "2026-01", doc: "Version of the service's API." }) },
  headers: { "X-Api-Version": "{settings.version}" },
  operations: {
    note: get("api", "/notes/{id}", {
      doc: "A note.",
      fields: { "page?": integer({ min: 1, as: "pageNumber" }) },
      example: { id: "a b", page: 2 },
    }),
    charges: get("api", "/charges", {
      doc: "Charges, by the last item of a page.",
      fields: { "after?": string() },
      pages: { items: "/data", last: "/id", while: "/has_more", into: "/after" },
    }),
    upload: post("api", "/photos", {
      doc: "Uploads photos.",
      fields: { title: string(), photo: file(), "more?": list(file(), { as: "more[]" }) },
      multipart: true,
    }),
    checked: post("api", "/photos/{album}", {
      doc: "Uploads photos to an album that a function checks.",
      fields: { photo: file(), "title?": string() },
      multipart: true,
      check({ title }) {
        if (title === "") throw Fault.invalidInput("/title", "Give a title with letters.");
      },
    }),
    through: get("api", "/notes/{id}", { doc: "The title of a note.", via: title }),
    report: write(report, { doc: "Sends a form that a function makes.", fields: { photo: file() } }),
    walk: read(walk, { doc: "Walks pages.", fields: { limit: integer() } }),
    prints: read(prints, { doc: "Prints." }),
    both: read(both, { doc: "Two notes.", fields: { first: string(), second: string() } }),
    count: write(count, { doc: "Counts its calls." }),
    saved: read(saved, { doc: "A file.", answers: "file" }),
    userinfo: read(account, { doc: "The connected user." }),
    broken: read(broken, { doc: "Has a defect." }),
    hoard: read(hoard, { doc: "Takes memory without end." }),
    refused: read(refused, { doc: "Finds nothing." }),
    random: read(random, { doc: "Takes random values." }),
    wait: read(wait, { doc: "Sleeps." }),
    unavailable: read(unavailable, { doc: "Tries what a connector does not have." }),
  },
});

function both({ first, second }) {
  const requests = [first, second].map((id) => Request.get("api", "/notes").segment("id", id));
  const [left, right] = sendAll(requests).map((response) => response.successful().document());
  return { first: left.string("/title"), second: right.value(), at: Date.now() > 1_700_000_000_000 };
}

function title(request) {
  return { title: send(request).successful().document().string("/title") };
}

function report({ photo }) {
  const bytes = Uint8Array.of(97, 44, 98);
  const parts = [
    { name: "title", text: "Report" },
    { name: "report", file_name: "report.csv", content_type: "text/csv", bytes },
    { name: "photo", ...photo },
  ];
  return send(Request.post("api", "/photos").multipart(parts)).successful().document();
}

function walk({ limit }) {
  const found = pages(Request.get("api", "/list"), { items: "/notes", cursor: "/next", parameter: "page", limit });
  return { notes: [...found].map((note) => note.value()), more: found.hasMore };
}

function prints() {
  console.log("a printed", "line");
  console.error("an error");
  return { printed: true };
}

function count() {
  const calls = Number(storage.get("calls") ?? "0") + 1;
  storage.set("calls", String(calls));
  log.info(`call ${calls}`);
  return { calls };
}

function saved() {
  return new File("ü", { file_name: "note.txt", content_type: "text/plain", members: { lines: 1 }, max_bytes: 2 });
}

function account() {
  const { id, email } = send(Request.get("api", "/me")).successful().json();
  return userinfo({ id, email });
}

function broken() {
  const notes = undefined;
  return notes.title;
}

function hoard() {
  const blocks = [];
  for (;;) blocks.push(new Uint8Array(1 << 20).fill(1));
}

function refused() {
  throw Fault.notFound("There is no such note. Try another one.", { candidates: ["a"] });
}

function random() {
  return { values: [Math.random(), crypto.getRandomValues(new Uint32Array(2)).join(), crypto.randomUUID()], uuid: crypto.randomUUID() };
}

function wait() {
  const began = Date.now();
  clock.sleep(50);
  return { waited: Date.now() - began >= 49, date: new Date().getTime() - began >= 49 };
}

/**
 * The errors of what would otherwise do nothing, or end the call without a reason. The build refuses timers in a connector's own
 * files, but a package may call them under another name.
 */
function unavailable() {
  const timers = ["Timeout", "Interval"].map((kind) => () => globalThis[`set${kind}`](() => {}, 1));
  return [...timers, () => fetch("https://a.example")].map((attempt) => {
    try {
      return `the value ${attempt()}`;
    } catch (error) {
      return `${error.name}: ${error.message}`;
    }
  });
}
