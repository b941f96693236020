"""`ob.versus`: functions to be compared with each other, as benchmarks of one group."""

from __future__ import annotations

from .addresses import BenchError, place_of_caller
from .bench import entry_of, registered

#: Options of a run, which are no axes; a test compares them with the schema of the options. Several
#: devices or numbers of threads are an axis.
RUN_OPTIONS = (
    "shapes", "keep", "metrics", "clock", "baseline", "device", "environments", "top", "imports",
    "seed", "precision", "budget", "max_time_per_case", "timeout", "max_starts", "num_runs",
    "num_repeats", "number", "repeats", "threads", "cpus", "pool", "jobs", "on", "slots",
    "replicate_on", "require", "retries", "store", "name", "cont", "save",
)  # fmt: skip


def compared(*functions, **given):
    """(benchmarks as plain data, options of the run) of the functions; the first is the base.

    `functions` may be one dict, by name: so lambdas have one.
    """
    named = functions[0] if len(functions) == 1 and isinstance(functions[0], dict) else {}
    pairs = list(named.items()) or [(name_of(each), each) for each in functions]
    if len(pairs) < 2:
        raise BenchError(
            "ob.versus compares two functions or more: ob.versus(naive, flash, inputs=qkv, n=[64])"
        )
    several = [name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1]
    if several:
        raise BenchError(
            f"ob.versus has two functions called {several[0]}; give names: "
            'ob.versus({"first": …, "second": …})'
        )
    options = {
        name: given.pop(name)
        for name in RUN_OPTIONS
        if name in given and not (name in ("threads", "device") and several_values(given[name]))
    }
    given.setdefault("group", next_group())
    return [entry_of(each, **{**given, "name": name}) for name, each in pairs], options


def next_group():
    """`versus`; in a file that compares more than once, then `versus2`. No function's name is in
    it: ids are chosen by what they contain."""
    module, _ = place_of_caller()
    taken = {entry["group"] for entry in registered() if entry["registered_in"] == module}
    group, number = "versus", 2
    while group in taken:
        group, number = f"versus{number}", number + 1
    return group


def name_of(function):
    if not callable(function):
        raise BenchError(
            "ob.versus takes functions, one after the other, or one dict of them by name, "
            f"not an object of type {type(function).__name__}: ob.versus(naive, flash, …)"
        )
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise BenchError(
            "ob.versus has a function without a name; give it one: "
            'ob.versus({"mine": lambda x: …, "other": …})'
        )
    return name


def several_values(value):
    return hasattr(value, "__iter__") and not isinstance(value, str)
