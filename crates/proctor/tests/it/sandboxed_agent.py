"""An agent that tries to leave its sandbox and answers with what worked. Reads what to try on from facts.json."""

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
    if words == "die":
        print("the agent gives up", file=sys.stderr)
        sys.exit(126)
    return private_folders()


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
