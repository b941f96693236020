"""`opbench doctor`: facts about this machine, and what to fix before measuring.

Output is a list of sections; each row is one fact, flagged where there is advice about it. The
advice follows, each with what to do. The exit code is always 0.
"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from opbench.machine.advice import Advice
    from opbench.report.terminal.console import Console

#: What torch calls the library it was built with, and its name.
BLAS = {"open": "OpenBLAS", "mkl": "MKL", "accelerate": "Accelerate", "blis": "BLIS"}

#: Texts of rows that are neither good nor bad.
NEUTRAL = ("hidden", "unknown", "not installed")

#: Sections stand side by side from this width on.
WIDE = 110


class Row(NamedTuple):
    label: str
    text: str
    #: The facts it shows, named as in `Advice.about`: advice about one flags the row.
    about: tuple[str, ...] = ()


def doctor(
    json: bool = typer.Option(False, "--json", help="Print facts and advice as JSON instead."),
) -> None:
    """Show facts about this machine, and how to measure better."""
    from opbench.machine.advice import advice
    from opbench.report.terminal.console import Console

    # On the error stream, so that `--json` can be piped while a person sees the wait.
    with Console(stderr=True).status("Inspecting this machine …"):
        facts = gather()
    found = advice(facts)
    if json:
        page = {**facts, "advice": [vars(item) for item in found]}
        print(json_format.dumps(page, indent=2, ensure_ascii=False))
    else:
        show(Console(highlight=False), facts, found)


def gather() -> dict[str, Any]:
    """The machine's facts, torch's build, and the steal of the last seconds."""
    from opbench.machine import cpu_times, machine_facts, steal_share
    from opbench.machine.torch_build import torch_build

    facts = machine_facts()
    if "torch" in facts["python"]["packages"]:
        before = cpu_times()
        facts["torch"] = torch_build(sys.executable)
        recent = steal_share(before, cpu_times())
        if recent is not None:  # the last seconds say more than the time since boot
            facts["load"]["steal_share"] = recent
    return facts


def show(console: Console, facts: Mapping[str, Any], found: Sequence[Advice]) -> None:
    """Print everything; `facts` are those of `gather`."""
    from rich.console import Group
    from rich.table import Table

    left = [
        ("Processor", processor(facts)),
        ("Right now", right_now(facts)),
        ("System", system(facts)),
    ]
    right = [("Python", python(facts)), ("Tools", tools(facts)), ("GPU", gpus(facts))]
    console.print()
    if console.width >= WIDE:
        halves = Table.grid(padding=(0, 2))
        for _ in range(2):
            halves.add_column(width=console.width // 2 - 2)
        halves.add_row(Group(*_sections(left, found)), Group(*_sections(right, found)))
        console.print(halves)
    else:
        console.print(Group(*_sections(left + right, found)))
    _show_advice(console, found)


def processor(facts: Mapping[str, Any]) -> list[Row]:
    cpu = facts.get("cpu") or {}
    physical, logical = _or_dash(cpu.get("physical_cores")), _or_dash(cpu.get("logical_cores"))
    usable = f"{_or_dash(cpu.get('usable_cpus'))} CPUs"
    if cpu.get("quota_cpus"):
        usable += f", for {cpu['quota_cpus']:g} CPUs' worth of time"
    clock = [f"{cpu[key] / 1000:.2f}" for key in ("mhz_min", "mhz_max") if cpu.get(key)]
    return [
        Row("model", f"{cpu.get('model') or 'unknown'} ({cpu.get('architecture') or '?'})"),
        Row("cores", f"{physical} physical, {logical} logical"),
        Row("usable", usable, ("cpu.usable_cpus", "cpu.quota_cpus")),
        Row("threads per core", _switch(cpu.get("smt"), "SMT on", "SMT off"), ("cpu.smt",)),
        Row("governor", _or_hidden(cpu.get("governor")), ("cpu.governor",)),
        Row("turbo", _switch(cpu.get("turbo"), "on", "off"), ("cpu.turbo",)),
        Row("clock range", f"{' to '.join(clock)} GHz" if clock else "hidden"),
        Row("vector units", " ".join(cpu.get("isa") or ()) or "none known"),
        Row(
            "caches",
            ", ".join(f"{k} {v}" for k, v in (cpu.get("caches") or {}).items()) or "hidden",
        ),
    ]


def right_now(facts: Mapping[str, Any]) -> list[Row]:
    load, memory = facts.get("load") or {}, facts.get("memory") or {}
    averages = [load.get(key) for key in ("load_1m", "load_5m", "load_15m")]
    steal, mhz = load.get("steal_share"), load.get("mhz_now")
    free = f"{_bytes(load.get('memory_available'))} free of {_bytes(memory.get('total'))}"
    if memory.get("limit"):
        free += f", limited to {_bytes(memory['limit'])}"
    swap = f"{_bytes(load.get('swap_used'))} used of {_bytes(memory.get('swap_total'))}"
    return [
        Row("load", "  ".join(map(_decimal, averages)), ("load.load_1m",)),
        Row("steal", "unknown" if steal is None else f"{steal:.2%}", ("load.steal_share",)),
        Row("clock", "hidden" if mhz is None else f"{mhz / 1000:.2f} GHz"),
        Row("memory", free, ("load.memory_available",)),
        Row("swap", swap if memory.get("swap_total") else "none", ("load.swap_used",)),
    ]


def system(facts: Mapping[str, Any]) -> list[Row]:
    host, memory = facts.get("system") or {}, facts.get("memory") or {}
    machine = host.get("hypervisor")
    kind = (
        "bare metal" if not machine else "virtual" + (f" ({machine})" if machine != "yes" else "")
    )
    if host.get("container"):
        kind += f", in a container ({host['container']})"
    aslr = {0: "off", 1: "partly on", 2: "on"}.get(host.get("aslr", -1), "unknown")
    battery = host.get("on_battery")
    power = "mains (no battery)" if battery is None else _switch(battery, "battery", "mains")
    return [
        Row("os", f"{host.get('os') or 'unknown'}"),
        Row("kernel", f"{host.get('kernel') or 'unknown'}"),
        Row("machine", kind, ("system.hypervisor",)),
        Row("power", power, ("system.on_battery",)),
        Row("address layout", f"randomisation {aslr}", ("system.aslr",)),
        Row("huge pages", _or_hidden(memory.get("huge_pages"))),
    ]


def python(facts: Mapping[str, Any]) -> list[Row]:
    interpreter, torch = facts.get("python") or {}, facts.get("torch") or {}
    packages = interpreter.get("packages") or {}
    settings = {**(interpreter.get("threads") or {}), **(interpreter.get("kernels") or {})}
    version = f"{interpreter.get('implementation') or ''} {interpreter.get('version') or 'unknown'}"
    version = version.strip()
    rows = [Row("interpreter", version, ("python.version",))]
    rows += [Row(name, version) for name, version in packages.items()]
    if not packages:
        rows.append(Row("frameworks", "none", ("python.packages",)))
    if torch.get("error"):
        rows.append(Row("torch build", torch["error"]))
    elif torch:
        blas = (
            f"MKL {torch['mkl']}"
            if torch.get("mkl")
            else BLAS.get(torch.get("blas", ""), "unknown")
        )
        onednn = f", oneDNN {torch['onednn']}" if torch.get("onednn") else ""
        rows += [
            Row("torch BLAS", blas + onednn),
            Row("torch kernels", f"CPU capability {_or_hidden(torch.get('capability'))}"),
            Row(
                "torch threads",
                f"{_or_dash(torch.get('threads'))} by default ({torch.get('backend')})",
            ),
            Row("torch CUDA", torch.get("cuda") or "none (built for the CPU)"),
        ]
    if interpreter.get("numpy_blas"):
        rows.append(Row("numpy BLAS", interpreter["numpy_blas"]))
    variables = ", ".join(f"{name}={value}" for name, value in settings.items())
    rows.append(Row("variables", variables or "none set", ("python.threads", "python.kernels")))
    return rows


def tools(facts: Mapping[str, Any]) -> list[Row]:
    found, git = facts.get("tools") or {}, facts.get("git") or {}
    rows = [
        Row(name, found.get(name) or "not installed", (f"tools.{name}",))
        for name in ("valgrind", "g++", "clang")
    ]
    changed = " with changes" if git.get("dirty") else ""
    commit = str(git.get("commit") or "")[:12]
    return [*rows, Row("project", commit + changed if commit else "not a git repository")]


def gpus(facts: Mapping[str, Any]) -> list[Row]:
    rows = []
    for card in facts.get("gpus") or ():
        text = f"{card.get('name') or 'unknown'}, {_bytes(card.get('memory'))}"
        clock = f"{_or_dash(card.get('mhz_now'))} of {_or_dash(card.get('mhz_max'))} MHz"
        persistence = _switch(card.get("persistence"), "on", "off")
        rows += [
            Row(f"card {card.get('index', '')}".strip(), text, ("gpus",)),
            Row("driver", _or_hidden(card.get("driver"))),
            Row("clock", clock),
            Row("persistence", persistence),
        ]
    note = str(facts.get("gpu_note") or "").rstrip(".")
    return rows or [Row("card", f"none ({note})" if note else "none")]


def _sections(
    parts: Sequence[tuple[str, list[Row]]], found: Sequence[Advice]
) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    severity = {item.about: item.severity for item in reversed(found)}
    blocks: list[RenderableType] = []
    for title, rows in parts:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=3, justify="right")
        table.add_column(style="dim", width=16, no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            severities = {severity[fact] for fact in row.about if fact in severity}
            neutral = row.text in NEUTRAL
            if row.about and not severities and not neutral:
                severities = {"good"}
            style = "dim" if neutral else ""
            table.add_row(_symbol(severities), row.label, Text(row.text, style=style))
        blocks += [Text(f"  {title}", style="bold cyan"), table, Text()]
    return blocks


def _show_advice(console: Console, found: Sequence[Advice]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from opbench.errors import plural

    warnings = sum(item.severity == "warning" for item in found)
    if found:
        console.print(Text("  What to do", style="bold cyan"))
    for item in found:
        what = Text.assemble(_symbol({item.severity}), " ", _prose(item.what, "bold"))
        console.print(Padding(what, (0, 2, 0, 2), expand=False))
        console.print(Padding(_prose(item.why, "dim"), (0, 2, 0, 4), expand=False))
        console.print(Padding(_prose(f"→ {item.fix}", ""), (0, 2, 1, 4), expand=False))
    if warnings:
        console.print(f"  {plural(warnings, 'warning')}, {plural(len(found) - warnings, 'note')}.")
    else:
        console.print("  [green]Nothing here distorts measurements.[/green]")
    console.print("  [dim]The same facts are stored with every run.[/dim]\n")


def _prose(text: str, style: str) -> Text:
    """Text with `commands` in colour instead of backticks."""
    from rich.text import Text

    pieces = enumerate(text.split("`"))
    return Text.assemble(*((piece, "cyan" if place % 2 else style) for place, piece in pieces))


def _symbol(severities: set[str]) -> Text:
    from rich.text import Text

    if "warning" in severities:
        return Text("!", style="bold yellow")
    if "note" in severities:
        return Text("•", style="blue")
    return Text("✓", style="green") if "good" in severities else Text(" ")


def _or_dash(value: Any) -> str:
    return "–" if value is None else str(value)


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _or_hidden(value: Any) -> str:
    return str(value) if value else "hidden"


def _switch(value: bool | None, on: str, off: str) -> str:
    return "hidden" if value is None else on if value else off


def _bytes(value: float | None) -> str:
    return "?" if value is None else f"{value / (1 << 30):.1f} GiB"
