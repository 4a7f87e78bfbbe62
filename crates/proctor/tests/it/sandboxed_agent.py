"""A program that tries to leave its sandbox and answers with what worked. Reads what to try on from facts.json.

It is an agent, a tool server (`mcp`), a tool (`tool`), a model (`model`) or an HTTP server (`http PORT`).
"""

import http.server
import json
import os
import socket
import subprocess
import sys

FACTS = json.load(open("facts.json"))
HOME = FACTS["home"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path):
    with open(path, "w") as file:
        file.write("written by the agent")


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        sock.connect(address)


def daemon():
    path = f"{HOME}/other/daemon.txt"
    subprocess.run(["setsid", "sh", "-c", f"echo late > {path}"], check=True, stderr=subprocess.DEVNULL)
    read(path)


def secret_in_environment():
    if b"ESCAPE_MARK" not in read(f"/proc/{FACTS['pid']}/environ"):
        raise OSError("not there")


ATTEMPTS = {
    "write outside": lambda: write(f"{HOME}/other/outside.txt"),
    "write into the project": lambda: write("victim.txt"),
    "read a key": lambda: read(f"{HOME}/.ssh/id_rsa"),
    "read another project": lambda: read(f"{HOME}/other/secret.txt"),
    "list recordings": lambda: os.listdir(".proctor/runs")[0],
    "connect to loopback": lambda: connect(socket.AF_INET, ("127.0.0.1", FACTS["port"])),
    "connect to a unix socket": lambda: connect(socket.AF_UNIX, f"{HOME}/host.sock"),
    "signal a process": lambda: os.kill(FACTS["pid"], 0),
    "read an environment": secret_in_environment,
    "change a mode": lambda: os.chmod(f"{HOME}/other/secret.txt", 0o666),
    "delete a file": lambda: os.unlink(f"{HOME}/other/doomed.txt"),
    "leave a daemon": daemon,
}


def succeeded():
    done = []
    for name, attempt in ATTEMPTS.items():
        try:
            attempt()
        except Exception:
            continue
        done.append(name)
    return done


def private_folders():
    write(f"{HOME}/private.txt")
    write("/tmp/proctor-sandboxed-agent.txt")
    return "private folders work"


def answer(words):
    if words == "escape":
        return "escaped: " + ", ".join(succeeded())
    if words.startswith("fill"):
        return fill(int(words.split()[1]))
    if words == "die":
        print("the agent gives up", file=sys.stderr)
        sys.exit(126)
    return private_folders()


def fill(count):
    os.makedirs("out", exist_ok=True)
    for number in range(count):
        write(f"out/{number}")
    return f"made {count} files"


def summary():
    done = succeeded()
    return "got out: " + ", ".join(done) if done else "nothing got out"


def be_agent():
    sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
    incoming, outgoing = sock.makefile("r"), sock.makefile("w")
    for line in incoming:
        message = json.loads(line)
        reply = {"reply_to": message.get("id")}
        if message.get("action") == "hello":
            reply |= {"protocol": 1, "name": "escapist", "version": "1", "pid": os.getpid(), "capabilities": []}
        elif message.get("action") == "agent.chat":
            reply |= {"text": answer(message["messages"][-1]["content"])}
        outgoing.write(json.dumps(reply) + "\n")
        outgoing.flush()
        if message.get("action") == "__shutdown__":
            break


def be_tool_server():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, parameters = message["method"], message.get("params") or {}
        result = {}
        if method == "initialize":
            result = {
                "protocolVersion": parameters["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "escapist", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": [{"name": "escape", "description": "Tries", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": summary()}], "isError": False}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply("ready")

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.reply(summary())

    def reply(self, text):
        body = json.dumps({"reply": text}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


kind = sys.argv[1] if len(sys.argv) > 1 else "agent"
if kind == "mcp":
    be_tool_server()
elif kind == "tool":
    sys.stdin.read()
    print(json.dumps(summary()))
elif kind == "model":
    sys.stdin.read()
    print(summary())
elif kind == "http":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
else:
    be_agent()
