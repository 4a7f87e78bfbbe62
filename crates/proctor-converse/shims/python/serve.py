"""Serves conversations with an agent in Python: `serve.py TARGET`, started by Proctor with an open channel."""

import sys

if sys.version_info < (3, 9):
    sys.exit(
        "this is Python %d.%d at %s; agents need Python 3.9 or newer: say `interpreter: [/path/to/python3]`"
        % (sys.version_info[0], sys.version_info[1], sys.executable)
    )

from proctor_agent.server import serve  # noqa: E402

# The user's modules come first, as with `python -m`; the folder of this file is not for them.
sys.path[0] = ""

if __name__ == "__main__":
    serve(sys.argv[1])
