"""What the readers of all frameworks need: names of types, and calls whose results may come later."""

from .answer import call, plain


def is_a(value, package, *names):
    """Whether the type of the value, or one that it is derived from, has this name in this package."""
    return any(
        kind.__name__ in names and (kind.__module__ == package or kind.__module__.startswith(package + "."))
        for kind in type(value).__mro__
    )


class Calls:
    """Tool calls in order, whose results may come later."""

    def __init__(self):
        self._calls = []
        self._by_id = {}

    def add(self, name, arguments, call_id, **more):
        made = call(name, arguments, call_id, **more)
        self._calls.append(made)
        if call_id is not None:
            self._by_id[call_id] = made

    def finish(self, call_id, **more):
        made = self._by_id.get(call_id)
        if made is not None:
            made.update((key, plain(value)) for key, value in more.items())

    def made(self, but=()):
        return [made for made in self._calls if made.get("id") not in but]

    def without_result(self):
        return [made for made in self._calls if "result" not in made and "error" not in made]
