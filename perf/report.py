"""The page of very many results: the time to write it, its size, and how soon it is usable.

The results are synthetic (numbers, samples and sources of realistic size, as a run stores them);
the store, the command and the browser are real.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opbench.case import Case
from opbench.result import Result, Sample, Warning
from opbench.store import RunRecord, Store

TITLE = "The page"
CODE = ("report", "store")

OPERATORS = 500
SAMPLES = 30
BATCH = 5_000
DAY = 86_400.0

MACHINE = {
    "system": {"machine_id": "a1b2c3d4"},
    "cpu": {"model": "synthetic", "logical_cores": 8},
    "git": {"dirty": False},
}

SETUP = """torch.set_num_threads(1)
torch.manual_seed(seed)
x = torch.rand({n}, {m}, dtype=torch.{dtype}) + 0.5
w = torch.rand({n}, {m}, dtype=torch.{dtype}) + 0.5"""


def cases(count: int) -> Iterator[Case]:
    """Operators at several sizes and dtypes, each with a different source."""
    yielded = 0
    for n in range(1, 10_000):
        for dtype in ("float32", "float64", "bfloat16", "float16"):
            for name in range(OPERATORS):
                if yielded == count:
                    return
                yielded += 1
                yield Case(
                    "ops",
                    f"operator_{name}",
                    ("forward", "forward_backward")[n % 2],
                    f"y = torch.operator_{name}(x, w)",
                    setup=SETUP.format(n=8 * n, m=16 * n, dtype=dtype),
                    globals="import torch",
                    labels=(("n", 8 * n), ("dtype", dtype)),
                    framework="torch",
                    dtype=dtype,
                    preload=("torch",),
                )


def result(case: Case, value: float, rng: random.Random, samples: int = SAMPLES) -> Result:
    taken = tuple(
        Sample(value * (1 + rng.gauss(0, 0.01)), index // 10, 0, index, 100, 1_000_000, 990_000)
        for index in range(samples)
    )
    detail = {
        "way": "repeatable", "stopped": "precision", "starts": 3, "sessions": 3, "design": "",
        "calls_per_block": [100, 100, 100], "first_call": [value * 3] * 3, "layout": 0.0115,
        "settled": True, "seconds": round(rng.uniform(0.5, 2), 3),
        "within": rng.uniform(0.001, 0.005), "between": rng.uniform(0.005, 0.02),
    }  # fmt: skip
    wide = rng.uniform(0.005, 0.03)
    warnings = (Warning("imprecise", f"±{wide:.1%} where ±2.0% was asked"),) if wide > 0.02 else ()
    return Result(
        case.hash, "time", "s", estimate=value, low=value * (1 - wide), high=value * (1 + wide),
        samples=taken, warnings=warnings, detail=detail, fingerprint="f1",
        policy="adaptive precision=0.02", created=DAY,
    )  # fmt: skip


def large_store(path: Path, count: int) -> None:
    """One run of that many results."""
    rng = random.Random(1)
    with Store.open(path) as store:
        store.add_environment("f1", {"interpreter": {"version": "3.12.1", "packages": {}}})
        store.begin_run(RunRecord("20261115-120000-0000", "large", created=DAY, machine=MACHINE))
        batch: list[tuple[Case, Result]] = []
        for case in cases(count):
            batch.append((case, result(case, 10 ** rng.uniform(-6, -2), rng)))
            if len(batch) == BATCH:
                store.add_results("20261115-120000-0000", batch)
                batch = []
        store.add_results("20261115-120000-0000", batch)
        store.finish_run("20261115-120000-0000")


def long_store(path: Path, runs: int, count: int) -> None:
    """That many runs of that many cases; the level of every tenth case changes once."""
    rng = random.Random(2)
    found = list(cases(count))
    levels = [10 ** rng.uniform(-6, -2) for _ in found]
    change = {index: rng.randrange(runs) for index in range(0, count, 10)}
    with Store.open(path) as store:
        store.add_environment("f1", {"interpreter": {"version": "3.12.1", "packages": {}}})
        for number in range(runs):
            run_id = f"{20200101 + number:08d}-120000-{number:04x}"
            store.begin_run(
                RunRecord(
                    run_id, "nightly", created=DAY * (1 + number), machine=MACHINE, version="0.1.0",
                    commit=f"{number:040x}",
                )
            )  # fmt: skip
            pairs = []
            for index, case in enumerate(found):
                value = levels[index] * (1.1 if number >= change.get(index, runs) else 1.0)
                value *= 1 + rng.gauss(0, 0.01)
                samples = SAMPLES if number == runs - 1 else 0
                pairs.append((case, result(case, value, rng, samples)))
            store.add_results(run_id, pairs)
            store.finish_run(run_id)


def written(store: Path, page: Path, *more: str) -> tuple[float, float]:
    """Seconds and megabytes of `opbench report`, interpreter start included."""
    began = time.monotonic()
    command = [sys.executable, "-m", "opbench.cli.main", "report", "last", "-o", str(page)]
    subprocess.run([*command, "--store", str(store), *more], check=True, capture_output=True)
    return time.monotonic() - began, page.stat().st_size / 1e6


def viewed(page: Path) -> dict[str, float] | None:
    """Milliseconds in Chromium: until the page is usable, then of a search, a sort, a scroll."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory() as profile:
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={profile}")
        opened = webdriver.Chrome(options=options, service=Service(driver))
        try:
            opened.set_script_timeout(120)
            opened.get("about:blank")
            opened.get(page.as_uri())
            found: dict[str, float] = opened.execute_async_script(VIEW)
        finally:
            opened.quit()
    return found


VIEW = """
const done = arguments[arguments.length - 1];
const frame = () => new Promise(go => requestAnimationFrame(() => setTimeout(go, 0)));
const timed = async (act) => { const began = performance.now(); act(); await frame(); return performance.now() - began; };
(async () => {
  while (!performance.getEntriesByName('opbench-ready').length) await new Promise(go => setTimeout(go, 10));
  const usable = performance.getEntriesByName('opbench-ready')[0].startTime;
  const field = document.getElementById('search');
  const type = (text) => () => { field.value = text; field.dispatchEvent(new Event('input')); };
  const first = await timed(type('operator_12 float16'));
  const search = await timed(type('operator_13 float16'));
  await timed(type(''));
  const sort = await timed(() => document.querySelector('[data-column="1"]').click());
  const body = document.getElementById('grid-body');
  const scroll = await timed(() => { body.scrollTop = body.scrollHeight / 2; });
  const open = await timed(() => document.querySelector('#grid-body .line').click());
  while (!document.getElementById('copy-script')) await new Promise(go => setTimeout(go, 5));
  done({usable, first, search, sort, scroll, rows: document.getElementById('grid').getAttribute('aria-rowcount') - 1});
})();
"""  # noqa: E501


def one_history(store: Path) -> float:
    """Seconds for the history of one case, in a process that has read another one before."""
    code = (
        "import sys, time, json\n"
        "from opbench.analyse.history import history\n"
        "from opbench.store import Store\n"
        "with Store.open(sys.argv[1], create=False) as store:\n"
        "    ids = sorted(store.case_ids(store.find_run('last')))\n"
        "    history(store, ids[0])\n"
        "    times = []\n"
        "    for id in ids[1:200:20]:\n"
        "        began = time.perf_counter(); history(store, id)\n"
        "        times.append(time.perf_counter() - began)\n"
        "print(json.dumps(sorted(times)))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(store)], check=True, capture_output=True, text=True
    )
    times = json.loads(shown.stdout)
    return float(times[len(times) // 2])


def measure(quick: bool = False) -> str:
    large, runs, count = (5_000, 50, 50) if quick else (100_000, 1_000, 1_000)
    lines = ["| figure | measured | target |", "|---|--:|--:|"]

    def line(name: str, value: str, target: str) -> None:
        lines.append(f"| {name} | {value} | {target} |")

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        large_store(place / "large.db", large)
        seconds, size = written(place / "large.db", place / "large.html")
        line(f"page of {large:,} results: to write", f"{seconds:.1f} s", "20 s")
        line("its size", f"{size:.1f} MB", "25 MB")
        view = viewed(place / "large.html")
        if view is None:
            line("first usable view", "no Chromium here", "3 s")
        else:
            line("first usable view in Chromium", f"{view['usable'] / 1000:.2f} s", "3 s")
            for name in ("search", "sort", "scroll"):
                line(f"{name} among {view['rows']:,.0f} rows", f"{view[name]:.0f} ms", "")
        (place / "large.db").unlink()
        long_store(place / "long.db", runs, count)
        what = f"{runs:,} runs × {count:,} cases"
        line(f"{what}: history of one case", f"{one_history(place / 'long.db'):.3f} s", "0.2 s")
        seconds, size = written(place / "long.db", place / "long.html")
        line(f"{what}: the page with history", f"{seconds:.1f} s", "30 s")
        line("its size", f"{size:.1f} MB", "")
    return "\n".join(lines) + "\n\n" + describe()


def describe() -> str:
    """How the figures were measured."""
    text = (
        f"The results are synthetic: {SAMPLES} samples each, {OPERATORS} operators at several "
        "sizes and dtypes, a different source per case. Times to write include the start of the "
        "interpreter. The first view is timed from the start of navigation until the page reports "
        "that its table is usable. The history of one case is the median of ten, in one process."
    )
    return re.sub(r"\s+", " ", text)


def sizes(page: Path) -> dict[str, Any]:
    """Bytes of each kind of data block in a page."""
    found: dict[str, int] = {}
    text = page.read_text(encoding="utf-8")
    for kind, data in re.findall(r'id="data-([a-z]+)[^"]*">([^<]*)<', text):
        found[kind] = found.get(kind, 0) + len(data)
    return found
