"""Pass rates at their boundary. The agent passes in the turns of the plan, counted over all conversations; one conversation at a time."""

from model import situation, truth
from situations.agents import COMMAND, HEAD

ONE_AT_A_TIME = ("--concurrency", "1")


def rate(name, plan, wanted, outcome, exit=0, args=(), both=None, **more):
    """`plan`: p passes, f fails, e the agent dies, t a host's tool is missing; one letter for each repetition."""
    chat = ("n = self.count()\nplan = %r\nnow = plan[n] if n < len(plan) else 'f'\nif now == 'e': os._exit(0)\nreturn {'text': 'Hello' if now == 'p' else 'Oops'}" % plan)
    body = "".join(f"        {line}\n" for line in chat.splitlines())
    # `flaky` lists what gave both outcomes; a rate that is settled early may not have come to the second.
    both = both or ("any" if len(set(plan)) > 1 else None)
    files = {"agent.py": f"{HEAD}class Mine(Agent):\n    def chat(self, message):\n{body}\nMine().main()\n",
             "t.scenario.yaml": f"describe: T\nagent: {{ {COMMAND} }}\nexamples:\n  - it: odd\n    repeat: {len(plan)}\n    pass_rate: {wanted}\n"
                                "    steps: [{user: hi, expect: [{match: Hello}]}]\n  - it: ok\n    steps: [{user: hi, expect: [{not: {match: Nope}}]}]\n"}
    files["t.scenario.yaml"] = files["t.scenario.yaml"].rpartition("  - it: ok")[0]
    situation(f"rate/{name}", truth(exit, {"T > odd": outcome}, both_outcomes=both), files, [*ONE_AT_A_TIME, *args], **more)


rate("4-of-5-at-0.8", "ppfpp", 0.8, "within_rate", short=True, all_views=True, extra=("mcp", "list only-failures"))
rate("3-of-5-at-0.8", "fpfpp", 0.8, "failed", 1, short=True, all_views=True, extra=("mcp", "list only-failures"))
rate("5-of-5-at-0.8", "ppppp", 0.8, "passed")
rate("0-of-3-at-0.5", "fff", 0.5, "failed", 1)
rate("fails-first-then-passes", "fpppp", 0.8, "within_rate")
rate("fails-last", "ppppf", 0.8, "within_rate|passed")
rate("1-of-3-at-0.333", "ffp", 0.333, "within_rate")
rate("1-of-3-at-0.334", "ffp", 0.334, "failed", 1)
rate("2-of-3-at-0.66", "fpp", 0.66, "within_rate")
rate("2-of-3-at-0.67", "fpp", 0.67, "failed", 1)
rate("7-of-125-at-0.056", "f" * 118 + "p" * 7, 0.056, "within_rate", short=True, timeout=60)
rate("6-of-125-at-0.056", "f" * 119 + "p" * 6, 0.056, "failed", 1, timeout=60)
rate("3-of-10-at-0.3", "fffffffppp", 0.3, "within_rate")
rate("29-of-50-at-0.58", "f" * 21 + "p" * 29, 0.58, "within_rate", timeout=60)
rate("28-of-50-at-0.58", "f" * 22 + "p" * 28, 0.58, "failed", 1, timeout=60)
rate("rate-one-missed", "ppf", 1.0, "failed", 1)
rate("rate-one-reached", "ppp", 1.0, "passed")
rate("rate-nearly-zero", "fff", 0.01, "failed", 1)
rate("single-at-half", "f", 0.5, "failed", 1)
rate("early-settled-pass", "fpfpppppff", 0.3, "within_rate")
rate("early-settled-fail", "ffffffpppp", 0.9, "failed", 1)
rate("agent-dies-once", "ppepp", 0.8, "within_rate")
rate("agent-dies-twice", "pepep", 0.8, "failed", 1)
rate("agent-always-dies", "eee", 0.5, "failed|errored", 1)
rate("with-flaky-fail", "ppfpp", 0.8, "within_rate", 0, args=("--flaky", "fail"))
rate("with-fail-fast", "fpppp", 0.8, "within_rate", 0, args=("--fail-fast",))
rate("missed-with-fail-fast", "ffppp", 0.8, "failed", 1, args=("--fail-fast",))
# Whether a repetition under a rate is tried again is nowhere said: the surfaces must agree with each other.
rate("retries-beside-a-rate", "fpppp", 1.0, "flaky|within_rate|passed|failed", (0, 1), args=("--retries", "1"))

JUDGED = ("describe: T\nagent: { %s }\nmodels: { judge: { command: ['@PYTHON@', '${root}/judge.py'] } }\njudge: { retries: 0 }\n"
          "examples:\n  - it: odd\n    repeat: %d\n    pass_rate: %s\n    steps: [{user: hi, expect: [{satisfy: polite enough}]}]\n")


def judged(name, plan, wanted, outcome, exit=0, args=(), **more):
    """The same with a judge: p satisfied, f not, i an answer that nobody can use."""
    judge = ("import sys, os\nsys.path.insert(0, '@PROGRAMS@')\nfrom judge import *\nn = int(open('@ROOT@/j').read()) if os.path.exists('@ROOT@/j') else 0\n"
             f"open('@ROOT@/j', 'w').write(str(n + 1))\nnow = ({plan!r} + 'i' * 99)[n]\nprint('I cannot say' if now == 'i' else honest(now == 'p'))\n")
    situation(f"rate/{name}", truth(exit, {"T > odd": outcome}, both_outcomes="any" if len(set(plan) - {"i"}) > 1 else None), {"judge.py": judge, "t.scenario.yaml": JUDGED % ("script: [{when: hi, say: Hello, then: repeat}]", len(plan), wanted)},
              [*ONE_AT_A_TIME, *args], **more)


judged("judge-invalid-in-between", "fippp", 0.75, "within_rate", short=True)
# Three of three passed: the last one cannot change that the rate is reached, and is not run.
judged("judge-invalid-settles-early", "pippf", 0.75, "passed", short=True)
judged("judge-invalid-in-between-missed", "pifpf", 0.75, "failed", 1)
judged("judge-all-invalid", "iii", 0.5, "inconclusive", 1, short=True)
judged("judge-all-invalid-ok", "iii", 0.5, "inconclusive", 0, args=("--inconclusive", "ok"))
judged("judge-one-valid-pass", "iip", 0.5, "passed|within_rate")
judged("judge-one-valid-fail", "iif", 0.5, "failed", 1)
