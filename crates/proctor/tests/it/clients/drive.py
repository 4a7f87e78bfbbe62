"""Drives Proctor's tools with the official Python SDK: PROGRAM PROJECT MODE PART.

PROGRAM is the binary, spoken to as `proctor mcp` on standard streams, or the address of `/mcp` (token in PROCTOR_TOKEN).

Prints one JSON object with what it saw; the Rust test that started it judges. Results are checked against each tool's
output schema by the SDK itself, which raises if one does not fit.
"""

import asyncio
import json
import os
import sys
import time

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

PROGRAM, PROJECT, MODE, PART = sys.argv[1:5]


def server():
    if PROGRAM.startswith("http://"):
        headers = {"Authorization": f"Bearer {os.environ['PROCTOR_TOKEN']}"}
        return streamable_http_client(PROGRAM, http_client=httpx2.AsyncClient(headers=headers, timeout=120))
    return StdioServerParameters(
        command=PROGRAM, args=["--root", PROJECT, "mcp", "--tools", "all", "--structured"], cwd=PROJECT, env=dict(os.environ)
    )


class Caller:
    """Calls tools and remembers how long the longest call took."""

    def __init__(self, client):
        self.client = client
        self.longest = 0.0

    async def __call__(self, name, /, progress=None, **arguments):
        began = time.monotonic()
        result = await self.client.call_tool(name, arguments, progress_callback=progress)
        self.longest = max(self.longest, time.monotonic() - began)
        if result.is_error:
            return json.loads(result.content[0].text)
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content


async def journal(call, seen):
    """A belief, its change, its end; and the mistakes a model makes."""
    entry = {
        "domain": "debugging",
        "strategy": "read-the-error",
        "goal": "fix the flaky cache test",
        "hypothesis": "an earlier test leaves its cache behind",
        "action": "clear the cache after every test",
        "prediction": "ten runs in random order pass",
    }
    seen["created"] = await call("ghap_create", **entry)
    seen["twice"] = await call("ghap_create", **entry)
    seen["wrong"] = await call("ghap_create", **{**entry, "domain": "cooking"})
    seen["updated"] = await call("ghap_update", note="seen on Linux only")
    seen["resolved"] = await call(
        "ghap_resolve",
        status="falsified",
        result="three of ten failed",
        surprise="the cache was not involved",
        root_cause="wrong-assumption",
        because="the test reads the clock",
        lesson="freeze the clock",
    )
    seen["again"] = await call("ghap_create", **entry)
    seen["found"] = await call("ghap_search", query="flaky cache")
    seen["stats"] = await call("ghap_stats")
    seen["current"] = await call("ghap_current")
    seen["session"] = await call("ghap_session", action="id")
    seen["orphan"] = await call("ghap_orphan", action="show")
    seen["abandoned"] = await call("ghap_abandon", reason="the test is over")


async def runs(call, seen):
    """A run from its start to its results, polled by cursor."""
    seen["examples"] = await call("list_examples")
    seen["unknown"] = await call("run_status", run_id="nothing-like-it")
    started = await call("run_start")
    seen["started"] = started
    run, cursor, failures, polls, news = started["run_id"], None, [], 0, []

    async def progress(done, total, message):
        news.append([done, total, message])

    while polls < 60:
        polls += 1
        answer = await call("run_wait", progress=progress, run_id=run, cursor=cursor)
        failures += [result["title"] for result in answer["results"]]
        cursor = answer["cursor"]
        if answer["run"]["state"] in ("finished", "interrupted"):
            break
    seen["progress"] = news
    seen["ended"] = answer["run"]
    seen["failures"] = failures
    seen["results"] = await call("run_results", run_id=run, statuses=["all"])
    seen["shown"] = await call("show_example", run_id=run, example="fails")
    seen["untrusted"] = await call(
        "show_example", run_id=run, example="fails", include_untrusted=True
    )
    second = await call("run_start")
    while (await call("run_wait", run_id=second["run_id"], include="none"))["run"]["state"] != "finished":
        pass
    seen["compared"] = await call("run_compare", before=run, after=second["run_id"])
    seen["late"] = await call("run_cancel", run_id=run)


async def workspaces(call, seen):
    """The example scenario of the specification: the planner creates build.task on task.start."""
    workspace = f"planner_test_{os.getpid()}"
    seen["setup"] = await call("test_setup", workspace_id=workspace, scratchpad="## Plan\n(empty)")
    seen["taken"] = await call("test_setup", workspace_id=workspace)
    seen["mock"] = await call(
        "test_mock_backend",
        workspace_id=workspace,
        responses=[{"hat": "planner", "output": '<event topic="build.task">build it</event>'}],
    )
    news = []

    async def progress(done, total, message):
        news.append(message)

    seen["run"] = await call(
        "test_run",
        progress=progress,
        workspace_id=workspace,
        task="Implement user authentication",
        backend="mock",
        max_iterations=1,
    )
    seen["asserted"] = await call(
        "test_assert",
        workspace_id=workspace,
        assertions=[
            {"type": "exit_code", "expected": 2},
            {"type": "event_occurred", "topic": "build.task"},
            {"type": "event_sequence", "topics": ["task.start", "build.task"]},
        ],
    )
    seen["inspected"] = await call("test_inspect", workspace_id=workspace, format="timeline")
    seen["snapshot"] = await call("test_snapshot", workspace_id=workspace, omit_contents=True)
    seen["diff"] = await call("test_diff", workspace_id=workspace, baseline="initial", compare_to="current")
    seen["unknown"] = await call("test_inspect", workspace_id="never-made")
    seen["cleanup"] = await call("test_cleanup", workspace_id=workspace)
    seen["progress"] = news


async def leave(call, seen):
    """Starts a run and goes away while it runs."""
    seen["started"] = await call("run_start")


async def main():
    seen = {}
    async with Client(server(), mode=MODE) as client:
        listed = (await client.list_tools()).tools
        seen["tools"] = [tool.name for tool in listed]
        seen["version"] = client.protocol_version
        call = Caller(client)
        await globals()[PART](call, seen)
        seen["longest_call"] = call.longest
    print(json.dumps(seen))


asyncio.run(main())
