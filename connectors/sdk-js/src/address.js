// Parts of accounts' addresses, which base URLs have in braces: `https://{subdomain}.example.com`.

import { Mistake, only } from "./mistake.js";

const PART = ["title", "form", "max", "from"];

/** The forms of a value, and the longest value that each allows. */
const FORMS = { label: 63, host: 253, segment: 253 };

/** The most parts of an address. */
const MOST_PARTS = 8;

/** The parts of a table, in the form of the contract. */
export function partsOf(declared, upstreams) {
  const parts = Object.entries(declared).map(([name, part]) => partOf(name, part, upstreams));
  if (parts.length > MOST_PARTS) throw new Mistake(`an address has at most ${MOST_PARTS} parts`);
  return parts;
}

function partOf(name, declared, upstreams) {
  const place = `part \`${name}\` of the address`;
  const wrong = (rule) => new Mistake(`${place}: ${rule}`);
  only(declared, PART, place);
  const { title, form = "label", max = FORMS[form], from = "user" } = declared;
  if (!/^[a-z0-9_]{1,64}$/.test(name) || name === "client_id") throw wrong("a name is 1 to 64 of `a-z`, `0-9` and `_`, and not `client_id`");
  if (name in upstreams) throw wrong("an upstream has this name, and base URLs have both in braces; use another name");
  if (typeof title !== "string" || title === "") throw wrong("say in `title`, in a few words, what the user gives or what it is");
  if (!Object.hasOwn(FORMS, form)) throw wrong("`form` is `label`, `host` or `segment`");
  if (!Number.isInteger(max) || max < 1 || max > FORMS[form]) throw wrong(`\`max\` is 1 to ${FORMS[form]} characters`);
  if (from !== "user" && !from.startsWith("/")) throw wrong("`from` is `user`, or a JSON Pointer into the service's answer about the account");
  return { name, title, form, maxLength: max, source: from === "user" ? { tag: "user" } : { tag: "account", val: from } };
}

/** The names in braces in a URL, without the upstream that it may begin with. */
const namesIn = (url) => [...url.replace(/^\{[^}]*\}/, "").matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);

/** Checks the names in braces in the base URL of an upstream, and its site. */
export function checkUrl(url, site, parts) {
  for (const name of namesIn(url)) {
    if (!parts.some((part) => part.name === name)) throw new Mistake(`there is no part \`${name}\`; declare it in \`address\` of the table`);
  }
  const host = /^https?:\/\/([^/]*)/.exec(url)?.[1] ?? "";
  const differs = host.includes("{");
  if (differs && site === undefined) throw new Mistake("its host has a part of the account's address; say in `site` which domain the hosts of all accounts are below");
  if (!differs && site !== undefined) throw new Mistake("its host has no part of the account's address, so it needs no `site`");
  if (differs && !url.startsWith("https://")) throw new Mistake("a URL whose host has a part of the account's address is `https`");
  const isWhole = parts.some((part) => part.form === "host" && host === `{${part.name}}`);
  if (differs && !isWhole && !host.endsWith(`.${site}`)) throw new Mistake(`its host is below \`${site}\`, and has no port`);
}
