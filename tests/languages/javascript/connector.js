// The connector of the tests in JavaScript. `tests/languages/python/connector.py` is the same in Python.

import {
  Fault, File, Request, USERINFO, clock, connector, get, integer, log, oauth2, read, send, sendAll, storage, string, userinfo, write,
} from "@connector-gateway/sdk";

export default connector({
  identifier: "javascript",
  version: "1.0.0",
  title: "JavaScript",
  auth: oauth2({ provider: "acme", scopes: ["read"], identity: USERINFO }),
  upstreams: { api: "https://api.acme.example" },
  settings: { version: string({ default: "2026-01", doc: "Version of the service's API." }) },
  headers: { "X-Api-Version": "{settings.version}" },
  operations: {
    note: get("api", "/notes/{id}", {
      doc: "A note.",
      fields: { "page?": integer({ min: 1, as: "pageNumber" }) },
      example: { id: "a b", page: 2 },
    }),
    both: read(both, { doc: "Two notes.", fields: { first: string(), second: string() } }),
    count: write(count, { doc: "Counts its calls." }),
    saved: read(saved, { doc: "A file.", answers: "file" }),
    userinfo: read(account, { doc: "The connected user." }),
    broken: read(broken, { doc: "Has a defect." }),
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

/** The errors of what would otherwise do nothing, or end the call without a reason. */
function unavailable() {
  return [() => setTimeout(() => {}, 1), () => setInterval(() => {}, 1)].map((attempt) => {
    try {
      return `the value ${attempt()}`;
    } catch (error) {
      return `${error.name}: ${error.message}`;
    }
  });
}
