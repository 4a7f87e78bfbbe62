"""A client of `/ws` that shares no code with the server: the `websockets` package of PyPI.

Usage: stream.py HOST:PORT TOKEN RUN. The run goes on and logs lines until the file `go` exists in the current folder; this program
follows it in pieces, breaks off, resumes, lets it end, and prints what it saw as one object of JSON.
"""

import json
import pathlib
import sys

from websockets.exceptions import ConnectionClosedOK, InvalidStatus
from websockets.sync.client import connect

address, token, run = sys.argv[1:4]
PATIENCE = 60


def stream(query, **more):
    more.setdefault("additional_headers", {"Authorization": f"Bearer {token}"})
    # Without a limit on its queue: it breaks off with messages unread.
    return connect(f"ws://{address}/ws?{query}", open_timeout=PATIENCE, max_queue=None, **more)


def take(socket, count):
    return [json.loads(socket.recv(timeout=PATIENCE)) for _ in range(count)]


def rest(socket):
    events = []
    try:
        while True:
            events.append(json.loads(socket.recv(timeout=PATIENCE)))
    except ConnectionClosedOK as end:
        return events, end.rcvd.code, end.rcvd.reason


def refused(query, **more):
    try:
        with stream(query, **more):
            return None
    except InvalidStatus as status:
        return status.response.status_code


seen = {
    "no_token": refused(f"run={run}", additional_headers={}),
    "wrong_token": refused(f"run={run}", additional_headers={"Authorization": "Bearer wrong"}),
    "foreign_origin": refused(f"run={run}", origin="http://evil.example"),
    "null_origin": refused(f"run={run}", origin="null"),
    "second_host": refused(f"run={run}", additional_headers={"Authorization": f"Bearer {token}", "Host": "evil.example"}),
    "no_such_run": refused("run=nobody"),
    "own_origin": refused(f"run={run}", origin=f"http://{address}"),
    "token_in_query": refused(f"run={run}&token={token}", additional_headers={}),
}

# Pieces of the stream while it goes on, each from where the one before broke off.
flat, breaks = [], 0
while len(flat) < 120:
    since = flat[-1]["seq"] if flat else 0
    with stream(f"run={run}&since={since}") as socket:
        flat += take(socket, 7 + breaks % 5)
    breaks += 1

with stream(f"run={run}&since={flat[-1]['seq']}") as socket, stream("type=ExampleFinished,SuiteFinished") as unnamed:
    # Without a name the stream is about whatever happens here: this run, as long as it goes on.
    ended = take(unnamed, 1)
    # From here on the run may end.
    pathlib.Path("go").touch()
    more, code, reason = rest(socket)
    flat += more
    while ended[-1]["event_type"] != "SuiteFinished":
        ended += take(unnamed, 1)

with stream(f"run={run}&format=envelope") as socket:
    envelope, _, _ = rest(socket)
example = next(event["example_id"] for event in flat if event["event_type"] == "ExampleFinished" and event["status"] == "failed")
with stream(f"run={run}&example={example}") as socket:
    of_example, _, _ = rest(socket)
with stream(f"run={run}&type=ExampleFinished") as socket:
    of_type, _, _ = rest(socket)
middle = len(flat) // 2
with stream(f"run={run}&format=envelope&since={flat[middle]['seq']}") as socket:
    resumed, _, _ = rest(socket)

seen |= {
    "breaks": breaks,
    "flat": flat,
    "close": [code, reason],
    "unnamed": [event["event_type"] for event in ended],
    "envelope": envelope,
    "resumed_is_the_rest": resumed == envelope[middle + 1:],
    "of_example": [event["event_type"] for event in of_example if event.get("example_id") == example],
    "of_example_only": all(event.get("example_id") == example for event in of_example),
    "of_type": [event["event_type"] for event in of_type],
}
print(json.dumps(seen))
