// Runs an official client of the Model Context Protocol against a gateway.
//
// Arguments: the client (`client`, `client-with-initialize` or `sdk`), the URL, and an API key. Each line of standard input is a
// command, and each line of standard output is the answer to it. When the gateway asks the user, a line has the question, and the
// next line of standard input is the user's answer. The program ends with its input.
import { createInterface } from "node:readline";

const [kind, url, key] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => {
  const { value, done } = await lines.next();
  return done ? undefined : JSON.parse(value);
};
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const info = { name: "gateway-tests", version: "1" };
const capabilities = { elicitation: { url: {}, form: {} } };
const asked = async (request) => {
  say({ question: request.params });
  return next();
};
const requestInit = { headers: { authorization: `Bearer ${key}` } };

let client, transport;
if (kind === "sdk") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, asked);
  transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
} else {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = kind === "client" ? "auto" : "legacy";
  client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", asked);
  transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
}
await client.connect(transport);
say({ revision: transport.protocolVersion ?? client.getNegotiatedProtocolVersion() });

const commands = {
  list: async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools,
  call: ({ name, arguments: given }) => client.callTool({ name, arguments: given }),
};
for (let command; (command = await next()); ) {
  try {
    say({ result: await commands[command.do](command) });
  } catch (error) {
    say({ error: { code: error.code, message: error.message, data: error.data } });
  }
}
await client.close();
