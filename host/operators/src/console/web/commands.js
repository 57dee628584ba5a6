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

/** Names of tools and of arguments that agents can use as they are. The gateway gives others a similar name, which `tools/list` tells. */
const [toolName, argumentName] = [/^[\w.-]{1,47}$/, /^[\w.-]{1,64}$/];

/** The message with which an agent calls the operation as a tool; nothing if a name in it is another one there. */
export function toolCall(connector, operation, body, account) {
  const name = `${connector}__${operation}`;
  if (!toolName.test(name) || !Object.keys(body ?? {}).every((each) => argumentName.test(each))) return null;
  const params = { name, arguments: { ...body, ...(account && { account }) } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
}

const isPlain = (text) => /^[\x20-\x7e]*$/.test(text);

/**
 * The program that calls the operation, in JavaScript. `body` is JSON, which the program sends as it is: numbers keep their digits.
 * Node.js sends each character of a header as a byte, so that other texts are encoded first.
 */
export function javascript(session, connector, operation, body, headers = {}) {
  const value = (text) => (isPlain(text) ? JSON.stringify(text) : `Buffer.from(${JSON.stringify(text)}).toString("latin1")`);
  const all = Object.entries({ "Content-Type": "application/json", ...headers }).map(([name, text]) => `${JSON.stringify(name)}: ${value(text)}`);
  return `const answer = await fetch(${JSON.stringify(`${callerRoot(session)}/connectors/${connector}/${operation}`)}, {
  method: "POST",
  headers: { Authorization: \`Bearer \${process.env.GATEWAY_KEY}\`, ${all.join(", ")} },
  body: ${JSON.stringify(body)},
});
console.log(answer.status, await answer.text());`;
}

/** The program that calls the operation, in Python without further packages. It sends the text of the body as it is, too. */
export function python(session, connector, operation, body, headers = {}) {
  const value = (text) => (isPlain(text) ? JSON.stringify(text) : `${JSON.stringify(text)}.encode().decode("latin-1")`);
  const all = Object.entries({ "Content-Type": "application/json", ...headers }).map(([name, text]) => `${JSON.stringify(name)}: ${value(text)}`);
  return `import os, urllib.error, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${callerRoot(session)}/connectors/${connector}/${operation}`)},
    data=${JSON.stringify(body)}.encode(),
    headers={"Authorization": "Bearer " + os.environ["GATEWAY_KEY"], ${all.join(", ")}},
)
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.status, answer.read().decode())`;
}
