"""What the fake models of all frameworks answer, so that the same scenarios have the same results."""


def decide(users, result):
    """The next step: `("call", tool, arguments)` or `("say", text)`. `result` is that of the last tool, None after a message of the user."""
    last = users[-1]
    if result is not None:
        return "say", "It is %s" % (result,)
    if last.startswith("weather in "):
        return "call", "weather", {"city": last[len("weather in ") :]}
    if last.startswith("broken in "):
        return "call", "broken", {"city": last[len("broken in ") :]}
    if last == "fail":
        raise RuntimeError("the model is down")
    return "say", "%d: %s" % (len(users), " ".join(users))
