"""Coding agents as functions of Proctor: each runs its program in `work/NAME`, where `hours.txt` stands, and returns what the program says.

The programs find the model endpoint in their own settings; what they keep of themselves goes to `home/NAME`, new for each conversation.
"""

import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = pathlib.Path(os.environ["CODING_AGENTS"])


def folder(*names):
    made = HERE.joinpath(*names)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    return made


def run(name, command, settings):
    work, home = folder("work", name), folder("home", name)
    (work / "hours.txt").write_text("The shop opens at nine.\n")
    environment = dict(os.environ, HOME=str(home), XDG_CONFIG_HOME=str(home), XDG_DATA_HOME=str(home), NO_COLOR="1", **settings)
    ran = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    print(ran.stderr)
    if ran.returncode != 0:
        raise RuntimeError("%s ended with %d: %s" % (name, ran.returncode, (ran.stdout + ran.stderr)[-600:]))
    return ran.stdout.strip()


def claude(text):
    program = PACKAGES / "@anthropic-ai/claude-code-linux-x64/claude"
    options = ["--print", "--model", "claude-sonnet-4-5", "--permission-mode", "acceptEdits", "--strict-mcp-config", "--no-session-persistence"]
    settings = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CONFIG_DIR": str(HERE / "home/claude")}
    # One way to sign in: the program warns of two.
    os.environ.pop("ANTHROPIC_AUTH_TOKEN", None)
    return run("claude", [program, *options, text], settings)


def codex(text):
    program = next(PACKAGES.glob("codex-linux-x64/vendor/*/bin/codex"))
    provider = 'model_providers.endpoint={name="endpoint",base_url="%s",env_key="OPENAI_API_KEY",wire_api="responses"}' % os.environ["OPENAI_BASE_URL"]
    options = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--model", "gpt-5.1-codex", "-c", "model_provider=endpoint", "-c", provider]
    return run("codex", [program, *options, text], {"CODEX_HOME": str(HERE / "home/codex")})


def opencode(text):
    program = PACKAGES / "opencode-linux-x64/bin/opencode"
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"edit": "allow", "bash": "allow"},
        "provider": {
            "endpoint": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": os.environ["OPENAI_BASE_URL"], "apiKey": os.environ["OPENAI_API_KEY"]},
                "models": {"model": {"tool_call": True}},
            }
        },
    }
    settings = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return run("opencode", [program, "run", "--model", "endpoint/model", "--title", "hours", text], settings)
