// The same call as a command and as a call of a tool.

import { root } from "./api.js";

/** A text as one word of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The address at which callers reach the gateway. Operations are not served at `admin_listen`. */
export const callerRoot = (session) => (session.public_url || root.href).replace(/\/$/, "");

/** The command that calls an operation. `body` is JSON, or `null` if it is not known. */
export function curl(session, connector, operation, body, headers = {}) {
  const lines = [`curl -X POST ${quoted(`${callerRoot(session)}/connectors/${connector}/${operation}`)}`];
  const all = { "Content-Type": "application/json", ...headers };
  lines.push(`-H "Authorization: Bearer $GATEWAY_KEY"`);
  for (const [name, value] of Object.entries(all)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  lines.push(body === null ? "--data @body.json" : `--data ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

/** A name that agents can use as it is. The gateway gives others a similar name, which `tools/list` tells. */
const plain = /^[\w.-]{1,64}$/;

/** The message with which an agent calls the operation as a tool; nothing if a name in it is another one there. */
export function toolCall(connector, operation, body, account) {
  const name = `${connector}__${operation}`;
  if (![name, ...Object.keys(body ?? {})].every((each) => plain.test(each))) return null;
  const params = { name, arguments: { ...body, ...(account && { account }) } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
}

/** The program that calls the operation, in JavaScript. */
export function javascript(session, connector, operation, body, headers = {}) {
  const options = { method: "POST", headers: { Authorization: "KEY", "Content-Type": "application/json", ...headers } };
  const shown = JSON.stringify(options, null, 2).replace('"KEY"', "`Bearer ${process.env.GATEWAY_KEY}`").replace(/\n}$/, "");
  return `const answer = await fetch(${JSON.stringify(`${callerRoot(session)}/connectors/${connector}/${operation}`)}, ${shown},
  "body": JSON.stringify(${JSON.stringify(body)})
});
console.log(answer.status, await answer.json());`;
}

/** The program that calls the operation, in Python without further packages. */
export function python(session, connector, operation, body, headers = {}) {
  const all = Object.entries({ "Content-Type": "application/json", ...headers });
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${callerRoot(session)}/connectors/${connector}/${operation}`)},
    data=json.dumps(json.loads(${JSON.stringify(JSON.stringify(body))})).encode(),
    headers={"Authorization": "Bearer " + os.environ["GATEWAY_KEY"], ${all.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(", ")}},
)
with urllib.request.urlopen(request) as answer:
    print(answer.status, answer.read().decode())`;
}
