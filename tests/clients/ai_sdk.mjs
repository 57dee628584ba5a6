// Runs the client of the AI SDK against a gateway.
//
// Arguments: the URL, and an API key. Each line of standard input is a command, and each line of standard output is the answer to it.
// The answer to a call is the value that the SDK gives for the result, once the schema of the tool's answers has accepted it. The
// program ends with its input.
import { createInterface } from "node:readline";

import { createMCPClient } from "@ai-sdk/mcp";
import { jsonSchema } from "ai";
import { fromJSONSchema } from "zod";

const [url, key] = process.argv.slice(2);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const client = await createMCPClient({ transport: { type: "http", url, headers: { authorization: `Bearer ${key}` } } });

const commands = {
  list: async () => (await client.listTools()).tools,
  call: async ({ name, arguments: given }) => {
    const { tools } = await client.listTools();
    const { inputSchema, outputSchema } = tools.find((tool) => tool.name === name);
    const schemas = { [name]: { inputSchema: jsonSchema(inputSchema), outputSchema: fromJSONSchema(outputSchema) } };
    const tool = (await client.tools({ schemas }))[name];
    return tool.execute(given, { toolCallId: "1", messages: [] });
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    say({ result: await commands[command.do](command) });
  } catch (error) {
    say({ error: { message: error.message } });
  }
}
await client.close();
