"""Writes the figures of one section to docs/performance.md; other sections stay unchanged."""

from __future__ import annotations

import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from opbench.machine import machine_facts

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"

INTRODUCTION = """# Measured figures

Every figure on this page was produced by the command above it, on the machine described next to it.
Absolute times on a shared machine vary; ratios were measured side by side, interleaved, in one run.
A target that was missed is shown as missed. `python -m perf --stale` lists the sections whose
code has changed since they were measured.
"""


def machine_line() -> str:
    facts = machine_facts()
    cpu, load, python = facts["cpu"], facts["load"], facts["python"]
    memory = (facts["memory"].get("total") or 0) / 2**30
    virtual = facts["system"].get("virtualisation") or facts["system"].get("hypervisor")
    packages = python.get("packages") or {}
    versions = ", ".join(
        f"{name} {packages[name]}" for name in ("torch", "numpy") if name in packages
    )
    load_now = load.get("load_1m", "?")
    return (
        f"{cpu.get('model')}, {cpu.get('logical_cores')} cores, {memory:.0f} GiB"
        f"{f', virtual ({virtual})' if virtual else ''}; Python {python.get('version')}; "
        f"{versions}; load at the end {load_now}"
    )


def commit() -> str:
    """The commit that was measured: figures outlive the code."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=PAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return f" at commit {done.stdout.strip()}" if done.returncode == 0 else ""


def write(name: str, title: str, command: str, body: str, page: Path = PAGE) -> None:
    """Replace the section `name`, or add it at the end."""
    text = page.read_text(encoding="utf-8") if page.exists() else INTRODUCTION
    when = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    section = (
        f"<!-- begin {name} -->\n## {title}\n\n"
        f"`{command}`{commit()}, {when}. {machine_line()}.\n\n"
        f"{body.strip()}\n<!-- end {name} -->\n"
    )
    pattern = re.compile(rf"<!-- begin {name} -->.*?<!-- end {name} -->\n", re.S)
    if pattern.search(text):
        text = pattern.sub(lambda _: section, text)
    else:
        text = f"{text.rstrip()}\n\n{section}"
    page.write_text(text, encoding="utf-8")
