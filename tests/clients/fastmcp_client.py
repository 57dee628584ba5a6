"""Runs the client of FastMCP against a gateway.

Arguments: the URL, and an API key. Each line of standard input is a command, and each line of standard output is the answer to it. The
answer to a call is the object that FastMCP makes of the result, with the types of the schema of the tool's answers. The program ends
with its input.
"""

import asyncio
import dataclasses
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError


async def run(client, command):
    match command["do"]:
        case "list":
            return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in await client.list_tools()]
        case "call":
            result = await client.call_tool(command["name"], command["arguments"])
            # FastMCP leaves `data` empty if it cannot make the type.
            return dataclasses.asdict(result.data)


async def main():
    url, key = sys.argv[1:]
    transport = StreamableHttpTransport(url, headers={"authorization": f"Bearer {key}"})
    async with Client(transport) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                answer = {"result": await run(client, json.loads(line))}
            except ToolError as error:
                answer = {"error": {"message": str(error)}}
            print(json.dumps(answer), flush=True)


asyncio.run(main())
