"""Runs the official Python client of the Model Context Protocol against a gateway.

Arguments: the mode of the client (`auto` or `legacy`), the URL, and an API key. Each line of standard input is a command, and each line
of standard output is the answer to it. When the gateway asks the user, a line has the question, and the next line of standard input is
the user's answer. The program ends with its input.
"""

import asyncio
import json
import sys

from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitResult


async def following():
    line = await asyncio.to_thread(sys.stdin.readline)
    return json.loads(line) if line else None


def say(message):
    print(json.dumps(message), flush=True)


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def asked(_context, params):
    say({"question": plain(params)})
    return ElicitResult.model_validate(await following())


async def run(client, command):
    match command["do"]:
        case "list":
            return [plain(tool) for tool in (await client.list_tools(cache_mode="refresh")).tools]
        case "call":
            return plain(await client.call_tool(command["name"], command["arguments"]))


async def main():
    mode, url, key = sys.argv[1:]
    http = create_mcp_http_client(headers={"authorization": f"Bearer {key}"})
    transport = streamable_http_client(url, http_client=http)
    async with Client(transport, mode=mode, elicitation_callback=asked) as client:
        say({"revision": client.protocol_version})
        while command := await following():
            try:
                say({"result": await run(client, command)})
            except MCPError as error:
                say({"error": plain(error.error)})


asyncio.run(main())
