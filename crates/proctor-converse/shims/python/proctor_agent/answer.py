"""What an agent returned, as an answer of the worker protocol. What cannot be read is an error with a name, never an empty answer."""

import dataclasses
import json

# The members of a mapping that an agent may return.
MEMBERS = (
    "text",
    "tool_calls",
    "pending_tool_calls",
    "metadata",
    "cost_usd",
    "duration_ms",
    "first_token_ms",
    "ends_turn",
)


class AgentProblem(Exception):
    """A mistake in what the agent is or returns; the message says what is wrong and the way out."""


def type_name(value):
    if value is None:
        return "None"
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else "%s.%s" % (kind.__module__, kind.__qualname__)


def shown(value):
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def plain(value):
    """The value as JSON has it; what JSON has no form for becomes its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


def output_text(value, source):
    """The text of a final output: itself, or structured output as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        raise AgentProblem("%s ended without an output" % source)
    return json.dumps(plain(value), ensure_ascii=False)


def call(name, arguments, call_id=None, **more):
    """One tool call. Arguments that are no object are kept, under a name that says so."""
    if not isinstance(name, str) or not name.strip():
        raise AgentProblem("a tool call without a name: %s" % shown({"name": name, "arguments": arguments}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError:
            more.setdefault("error", "its arguments are not JSON")
            arguments = {"unreadable": arguments}
    arguments = plain(arguments if arguments is not None else {})
    if not isinstance(arguments, dict):
        arguments = {"value": arguments}
    made = {"name": name, "arguments": arguments}
    if call_id:
        made["id"] = str(call_id)
    made.update((key, plain(value)) for key, value in more.items())
    return made


def usage(input_tokens, output_tokens, **more):
    """Metadata about the tokens that a turn took, as far as they are known."""
    counted = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    counted.update(more)
    return {key: value for key, value in counted.items() if value is not None}


def of_mapping(value, source):
    unknown = [key for key in value if key not in MEMBERS]
    if unknown:
        raise AgentProblem(
            "%s returned a mapping with %s, which is not known; the members are %s"
            % (source, ", ".join("`%s`" % key for key in unknown), ", ".join("`%s`" % name for name in MEMBERS))
        )
    if not value:
        raise AgentProblem("%s returned an empty mapping; return a text or `{\"text\": …}`" % source)
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        raise AgentProblem("`text` of what %s returned is %s, not a text" % (source, type_name(text)))
    if text is None and not value.get("tool_calls") and not value.get("pending_tool_calls"):
        raise AgentProblem("%s returned a mapping without `text`" % source)
    answer = dict(value)
    for name in ("tool_calls", "pending_tool_calls"):
        if value.get(name) is not None:
            answer[name] = listed_calls(value[name], name, source)
    if "metadata" in answer:
        answer["metadata"] = plain(answer["metadata"])
    return {key: inner for key, inner in answer.items() if inner is not None}


def listed_calls(value, name, source):
    """Calls in the shape that is documented; Proctor reads the shapes of some providers, too, and refuses others."""
    if not isinstance(value, (list, tuple)):
        raise AgentProblem("`%s` of what %s returned is %s, not a list" % (name, source, type_name(value)))
    for index, entry in enumerate(value):
        if not isinstance(entry, dict) and not hasattr(entry, "model_dump"):
            raise AgentProblem(
                "call %d of `%s` that %s returned is %s; a call is a mapping with `name`, `arguments` and, once it was made, `result` or `error`"
                % (index + 1, name, source, type_name(entry))
            )
    return plain(list(value))


def of_value(value, source, read_result):
    """The answer in a value that an agent returned; `read_result` knows the results of frameworks."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, dict):
        return of_mapping(value, source)
    read = read_result(value)
    if read is not None:
        return read
    if value is None:
        raise AgentProblem("%s returned None instead of a text; does a branch lack its `return`?" % source)
    raise AgentProblem(
        "%s returned %s, which is no answer: %s; return a text, or `{\"text\": …, \"tool_calls\": […]}`"
        % (source, type_name(value), shown(value))
    )
