"""Plain agents: functions, methods, classes and factories, sync or async, with whole answers or streams."""

import inspect

from .answer import AgentProblem, of_mapping, of_value, type_name
from .frameworks import driver, read_result

# Parameters with these names get what they are called after.
GIVEN = ("messages", "conversation_id", "turn", "tools")
# Methods of an object that is not callable itself, in this order.
METHODS = ("chat", "ask", "respond", "run")


class Parameters:
    """Which arguments a function gets."""

    def __init__(self, function, source):
        self.text, self.given = None, []
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            self.text = 0  # a function in C
            return
        for place, parameter in enumerate(parameters):
            self._add(parameter, place, source)

    def _add(self, parameter, place, source):
        positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if parameter.kind == parameter.VAR_KEYWORD:
            return
        if parameter.name in GIVEN and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            self.given.append(parameter.name)
        elif parameter.kind == parameter.VAR_POSITIONAL:
            if self.text is None and not self.given:
                self.text = 0
        elif positional and self.text is None:
            self.text = 0 if place == 0 or parameter.kind == parameter.POSITIONAL_ONLY else parameter.name
        elif parameter.default is parameter.empty:
            raise AgentProblem(
                "%s needs `%s`, which is not known; an agent takes the user's text, and `messages`, `turn`, `tools` or `conversation_id` if it asks for them"
                % (source, parameter.name)
            )

    @property
    def is_factory(self):
        return self.text is None and not self.given

    def arguments(self, turn):
        named = {name: getattr(turn, name) for name in self.given}
        if self.text is None:
            return (), named
        if isinstance(self.text, str):
            named[self.text] = turn.text
            return (), named
        return (turn.text,), named


class PlainSession:
    """A conversation with a function."""

    def __init__(self, function, source, parameters=None):
        self.function, self.source = function, source
        self.parameters = parameters or Parameters(function, source)
        if self.parameters.is_factory:
            raise AgentProblem("%s takes no parameter for the user's text" % source)

    def answer(self, turn):
        if turn.text is None and "messages" not in self.parameters.given:
            raise AgentProblem(
                "%s asked for tools and is asked again with their results; it needs a parameter `messages` to see them" % self.source
            )
        positional, named = self.parameters.arguments(turn)
        value = self.function(*positional, **named)
        if inspect.isawaitable(value):
            value = turn.run(value)
        if inspect.isgenerator(value):
            return self._joined(value, turn)
        if hasattr(value, "__aiter__") and read_result(value) is None:
            return self._joined(turn.run(_all(value, turn)), turn)
        return of_value(value, self.source, read_result)

    def _joined(self, pieces, turn):
        """A streamed answer: texts are joined, mappings are added."""
        texts, answer, count = [], {}, 0
        for piece in pieces:
            count += 1
            turn.first_token()
            if isinstance(piece, str):
                texts.append(piece)
            elif isinstance(piece, dict):
                self._add(answer, texts, piece)
            else:
                raise AgentProblem("%s yielded %s; it may yield texts and mappings" % (self.source, type_name(piece)))
        if count == 0:
            raise AgentProblem("%s yielded nothing" % self.source)
        if texts:
            answer["text"] = "".join(texts)
        return of_mapping(answer, self.source)

    @staticmethod
    def _add(answer, texts, piece):
        for key, value in piece.items():
            if key == "text":
                texts.append(value if isinstance(value, str) else "")
                if not isinstance(value, str):
                    raise AgentProblem("a yielded `text` is %s" % type_name(value))
            elif isinstance(value, list) and isinstance(answer.get(key), list):
                answer[key] = answer[key] + value
            else:
                answer[key] = value


async def _all(stream, turn):
    pieces = []
    async for piece in stream:
        turn.first_token()
        pieces.append(piece)
    return pieces


def session_maker(target, source):
    """What begins a conversation: takes a function that runs coroutines, returns a session."""
    if inspect.isclass(target):
        check_no_parameters(target, source)
        return lambda run: session_of(made(target, run, source), "an instance of %s" % source)
    if driver(target) is None and callable(target):
        parameters = Parameters(target, source)
        if parameters.is_factory:
            return lambda run: session_of(made(target, run, source), "what %s returned" % source)
        return lambda run: PlainSession(target, source, parameters)
    session_of(target, source)  # A mistake is found before the first conversation.
    return lambda run: session_of(target, source)


def check_no_parameters(target, source):
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise AgentProblem(
            "%s is made anew for each conversation and needs `%s`; name a function without parameters that makes it"
            % (source, "`, `".join(needed))
        )


def made(maker, run, source):
    value = maker()
    if inspect.isawaitable(value):
        value = run(value)
    if value is None or isinstance(value, (str, dict, list)):
        raise AgentProblem(
            "%s takes no parameter, so it has to make an agent for each conversation, but it returned %s" % (source, type_name(value))
        )
    return value


def session_of(value, source):
    drive = driver(value)
    if drive is not None:
        return drive(value, source)
    if callable(value):
        return PlainSession(value, source)
    for name in METHODS:
        method = getattr(value, name, None)
        if callable(method):
            return PlainSession(method, "%s.%s" % (source, name))
    raise AgentProblem(
        "%s is %s, which is neither callable nor an agent of a known framework, and has none of the methods %s"
        % (source, type_name(value), ", ".join("`%s`" % name for name in METHODS))
    )
