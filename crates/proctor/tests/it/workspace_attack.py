"""A hostile orchestrator or hook: tries to leave its sandbox, names what worked, and exits with 7 if anything did."""

import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time

OUT, PORT, PID, MARK = "@OUT@", int("@PORT@"), int("@PID@"), "@ABSTRACT@"


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)


def change(path):
    with open(path, "r+") as file:
        file.write("changed")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def connect(family, address, words):
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(2)
        sock.connect(address)
        sock.sendall(words)


def link_in_workspace():
    os.symlink(OUT, "out")
    write("out/link_in_workspace")


def seen(name, found):
    if not found:
        raise OSError("not there")
    print("read:", name)


def trace():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, PID, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(PID, getattr(os, "__WALL", 0x40000000))
    libc.ptrace(17, PID, None, None)


def daemon():
    subprocess.Popen(["sleep", "300"], env={"LC_MARK": MARK, "PATH": os.environ["PATH"]}, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fork_bomb():
    children = []
    try:
        while len(children) < 1200:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def type_into_terminal():
    terminal = os.open("/dev/tty", os.O_RDWR)
    if os.getuid() == 0:
        fcntl.ioctl(terminal, 0x5412, b" ")


ATTEMPTS = {
    "write": lambda: write(f"{OUT}/write"),
    "shell": lambda: subprocess.run(["touch", f"{OUT}/shell"], check=True, stderr=subprocess.DEVNULL),
    "mkdir": lambda: os.mkdir(f"{OUT}/mkdir"),
    "symlink": lambda: os.symlink("/", f"{OUT}/symlink"),
    "hardlink": lambda: os.link(f"{OUT}/kept", f"{OUT}/hardlink"),
    "hardlink_in": lambda: os.link(f"{OUT}/kept", "kept"),
    "fifo": lambda: os.mkfifo(f"{OUT}/fifo"),
    "delete": lambda: os.unlink(f"{OUT}/doomed"),
    "rename": lambda: os.rename(f"{OUT}/moved", f"{OUT}/moved-away"),
    "truncate": lambda: os.truncate(f"{OUT}/cut", 0),
    "chmod": lambda: os.chmod(f"{OUT}/mode", 0o777),
    "utime": lambda: os.utime(f"{OUT}/time", (1, 1)),
    "root_link": lambda: write(f"/proc/self/root{OUT}/root_link"),
    "other_root_link": lambda: write(f"/proc/{PID}/root{OUT}/other_root_link"),
    "link_in_workspace": link_in_workspace,
    "inherited": lambda: os.write(9, b"x"),
    "secret": lambda: seen("secret", b"marker-" in read(f"{OUT}/secret")),
    "environ": lambda: seen("environ", b"marker-environment" in read(f"/proc/{PID}/environ")),
    "memory": lambda: open(f"/proc/{PID}/mem", "rb").close(),
    "shared_memory": lambda: change(f"/dev/shm/{MARK}"),
    "trace": trace,
    "tcp": lambda: connect(socket.AF_INET, ("127.0.0.1", PORT), b"tcp\n"),
    "unix": lambda: connect(socket.AF_UNIX, f"{OUT}/socket", b"unix\n"),
    "abstract": lambda: connect(socket.AF_UNIX, "\0" + MARK, b"abstract\n"),
    "terminal": type_into_terminal,
    "fork_bomb": fork_bomb,
    "kill": lambda: os.kill(PID, signal.SIGTERM),
}

worked = []
for name, attempt in ATTEMPTS.items():
    try:
        attempt()
    except Exception:
        continue
    worked.append(name)
# Judged by what is found on the host: a file of a private /tmp, and a process that is killed with the sandbox, do no harm.
write(f"/tmp/{os.path.basename(OUT)}-tmp")
daemon()
print("worked:", " ".join(worked))
sys.exit(7 if worked else 0)
