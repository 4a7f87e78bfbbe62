"""Finding the agent: `module:name` or `path/file.py:name`, from the project's root."""

import importlib
import importlib.util
import os
import sys
import traceback

from .answer import AgentProblem, type_name


def interpreter():
    environment = " in the virtual environment %s" % sys.prefix if sys.prefix != sys.base_prefix else ""
    return "Python %d.%d.%d at %s%s" % (sys.version_info[:3] + (sys.executable, environment))


def last_place(error):
    """The last place in the user's code, for the end of a sentence."""
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    frames = [frame for frame in frames if not frame.filename.startswith("<")]
    inside = [frame for frame in frames if is_project_file(frame.filename)]
    if not frames:
        return ""
    frame = (inside or frames)[-1]
    return " (%s:%d in %s)" % (relative(frame.filename), frame.lineno or 0, frame.name)


def is_project_file(path):
    return "site-packages" not in path and os.path.abspath(path).startswith(os.getcwd() + os.sep)


def relative(path):
    path = os.path.abspath(path)
    root = os.getcwd() + os.sep
    return path[len(root) :] if path.startswith(root) else path


def summary(error):
    """The last line of the traceback, and where it came from."""
    lines = [line for line in traceback.format_exception_only(type(error), error) if line.strip()]
    if isinstance(error, SyntaxError):
        return "%s (%s:%s)" % (lines[-1].strip(), relative(error.filename or "?"), error.lineno)
    return "".join(lines).strip() + last_place(error)


def load(target):
    """The object that the target names, and what messages call it."""
    module_name, _, path = target.rpartition(":")
    module_name, path = module_name.strip(), path.strip()
    is_file = module_name.endswith(".py") or "/" in module_name
    try:
        module = load_file(module_name) if is_file else load_module(module_name)
    except AgentProblem:
        raise
    except ModuleNotFoundError as error:
        raise AgentProblem(not_found(module_name, error, is_file))
    except SystemExit as error:
        raise AgentProblem("`%s` exits when it is imported, with %r%s" % (module_name, error.code, last_place(error)))
    except BaseException as error:
        raise AgentProblem("`%s` cannot be imported: %s" % (module_name, summary(error)))
    return attribute(module, module_name, path), "`%s`" % target.strip()


def load_module(name):
    root = os.getcwd()
    for folder in (os.path.join(root, "src"), root):
        if folder not in sys.path and os.path.isdir(folder):
            sys.path.insert(0, folder)
    return importlib.import_module(name)


def load_file(name):
    path = os.path.abspath(name)
    if not os.path.isfile(path):
        raise AgentProblem("there is no file %s" % path)
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    parts = [stem]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, part = os.path.split(folder)
        parts.insert(0, part)
    for place in (os.getcwd(), folder):
        if place not in sys.path:
            sys.path.insert(0, place)
    dotted = ".".join(parts)
    if len(parts) > 1:
        return importlib.import_module(dotted)
    # Not by name: the file may be called like a module that is loaded.
    name = dotted if dotted not in sys.modules else "proctor_agent_" + dotted
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def not_found(module_name, error, is_file):
    missing = error.name or str(error)
    asked = module_name.split(".")
    if not is_file and missing in [".".join(asked[: count + 1]) for count in range(len(asked))]:
        return "there is no module `%s` in %s, nor for %s; the target is `module:name` from the project's root, or a path as in `${here}/app.py:agent`" % (
            missing,
            os.getcwd(),
            interpreter(),
        )
    return "`%s` cannot be imported: it needs the module `%s`%s, which is not installed for %s; install it there, or name another interpreter: `interpreter: [/path/to/python]`" % (
        module_name,
        missing,
        last_place(error),
        interpreter(),
    )


def attribute(module, module_name, path):
    value, reached = module, module_name
    for part in path.split("."):
        if not hasattr(value, part):
            file = getattr(module, "__file__", None)
            raise AgentProblem(
                "`%s`%s has no `%s`%s" % (reached, " (%s)" % relative(file) if file else "", part, candidates(value))
            )
        value, reached = getattr(value, part), "%s.%s" % (reached, part)
    if value is None or isinstance(value, (str, bytes, int, float, list, tuple, dict, set)):
        raise AgentProblem("`%s` is %s, not a function, class or agent" % (reached, type_name(value)))
    return value


def candidates(module):
    """What could have been meant, for the end of a sentence."""
    name = getattr(module, "__name__", None)
    own = [
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not isinstance(value, type(os)) and getattr(value, "__module__", name) == name
        and not isinstance(value, (str, bytes, int, float, list, tuple, dict, set))
    ] if hasattr(module, "__dict__") else []
    return "; it has %s" % ", ".join("`%s`" % key for key in own[:8]) if own else ""
