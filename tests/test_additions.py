"""Where a new thing goes: each row of CONTRIBUTING.md's table, tried on a copy of the code.

The copy gets the files that the row names and no other change; then the thing is there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grown import SOURCE, copied, python

SUITE = '''
from rich.text import Text

from opbench.define.definition import Axis, Definition
from opbench.define.program import Program
from opbench.define.suite import Command, Suite


def greet() -> None:
    """Greet from a suite."""
    print("the command of tiny")


class Tiny(Suite):
    about = "a suite that a test adds"
    options = {"max_time_per_case": 0.2, "max_starts": 1}

    def definitions(self):
        yield Definition(
            "tiny", "sum", lambda point, context: Program(f"y = sum(range({point['n']}))"),
            {"n": Axis.of((10, 100))}, framework="python",
        )

    def tables(self, run):
        return [Text(f"the table of tiny: {len(run.results)} results")]

    def charts(self, contents):
        from opbench.report.charts.chart import DOT, Chart, layer, quantity

        points = [{"n": stored.case.axes["n"]} for stored in contents.results]
        spec = layer(DOT, x=quantity("n", "n"))
        return {"tiny_sizes": Chart({**spec, "datasets": {"points": points}})}

    def after_run(self, run, targets, *, store, cont):
        yield f"the end of tiny: {targets}"

    def commands(self):
        yield Command("tiny", greet)
        yield Command("tiny", greet, group="report")


SUITE = Tiny()
'''

METRIC = """
from ..watch import Watch

DESCRIBE = {"unit": "s", "description": "of a test", "sampled": True}


def block(session, n):
    with Watch() as watch:
        spent = session.timed("time", n)
    return watch.sample(spent / n / 1e9, n)
"""

MEASURED = """
DESCRIBE = {"unit": "count", "description": "of a test"}


def measure(session, options):
    session.run("calls", 1)
    return {"results": {"letters": {"samples": [len(session.case["stmt"])]}}}
"""

FRAMEWORK = """
from dataclasses import dataclass

from opbench.frameworks.python import Python


@dataclass(frozen=True)
class Abacus(Python):
    def imports(self):
        return "import random, abacus"


FRAMEWORK = Abacus("abacus", module="abacus")
"""
#: The framework itself, as somebody has installed it.
ABACUS = {
    "abacus.py": "from fractions import Fraction as bead\n",
    "abacus-2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: abacus\nVersion: 2.1\n\n",
}
#: A user's file that imports it, and NumPy as well.
OWN = """
import numpy

import abacus
import opbench as ob

half = abacus.bead(1, 2)


@ob.bench
def halves():
    return half + half
"""

EXPORTER = '''"""Names only."""


def write(results, runs, stream):
    stream.writelines(f"name: {stored.case.name}\\n" for stored in results)
'''

IMPORTER = '''"""Lines of a name and its seconds."""

from opbench.imports.imported import Imported, imported_case, sampled

TOOL = "stopwatch"


def reads(data):
    return isinstance(data, dict) and "stopwatch" in data


def read(data, path):
    case = imported_case(TOOL, data["stopwatch"])
    result = sampled(case, [data["seconds"]], metric="time", unit="s")
    return Imported(TOOL, 0.0, "", machine={}, environment={}, pairs=[(case, result)])
'''

COMMAND = '''
def hello() -> None:
    """Greet from a file of cli/."""
    print("the command of cli")
'''

#: By the row of the table: new files with their text, and lines put before a line of a known file.
NEW = {
    "a suite": {"suites/tiny/__init__.py": "", "suites/tiny/suite.py": SUITE},
    "a metric": {"worker/metrics/loop_time.py": METRIC},
    "a metric that is not sampled": {"worker/metrics/letters.py": MEASURED},
    "a framework": {"frameworks/abacus.py": FRAMEWORK},
    "an export format": {"report/export/names.py": EXPORTER},
    "an import format": {"imports/formats/stopwatch.py": IMPORTER},
    "a command": {"cli/hello.py": COMMAND},
}
LINES = {
    "an operator": {
        "suites/ops/catalogue/elementwise/rounding.py": (
            "trunc   =",
            "toward_zero  trunc  trunc  -  trunc  trunc  -100..100\n",
        )
    },
    "a command": {
        "cli/main.py": (
            'app.command("init")',
            'from opbench.cli.hello import hello\n\napp.command("hello")(hello)\n',
        )
    },
}

RUN_FILE = """
[[benchmark]]
name = "beads"
framework = "abacus"
setup = "half = abacus.bead(1, 2)"
stmt = "y = half + half"
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Path:
    """A folder with the copy, everything added to it, and the file of a run."""
    root = tmp_path_factory.mktemp("grown")
    copied(root)
    for files in NEW.values():
        for name, text in files.items():
            path = root / "opbench" / name
            assert not path.exists(), name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    for files in LINES.values():
        for name, (before, line) in files.items():
            path = root / "opbench" / name
            text = path.read_text()
            assert text.count(before) == 1
            path.write_text(text.replace(before, line + before))
    for name, text in {**ABACUS, "beads.toml": RUN_FILE, "own.py": OWN}.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return root


def opbench(folder: Path, *words: str) -> str:
    return python(folder, "-m", "opbench", *words)


@pytest.fixture(scope="module")
def measured(grown) -> str:
    """What a run of the new suite with the new metric prints; its store stays in the folder."""
    return opbench(grown, "run", "tiny", "--metric", "time,loop_time", "--precision", "50%")


def rows() -> dict[str, str]:
    text = (SOURCE.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Where a new thing goes")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (an? .+?) \| (.+) \|$", table, re.MULTILINE))


@pytest.mark.parametrize("what", [*NEW, "an operator"])
def test_a_row_names_the_files_that_were_touched(what):
    named = re.findall(r"`([\w/]+\.py)`", rows()[what.removesuffix(" that is not sampled")])
    touched = [*NEW.get(what, ()), *LINES.get(what, ())]
    assert len(named) == len(touched)
    for pattern, name in zip(named, touched):
        assert re.fullmatch(re.sub("NAME|GROUP|CATEGORY", r"\\w+", pattern), name)


def test_a_suite_has_definitions_a_table_and_the_end_of_a_run(grown, measured):
    assert "tiny  " in opbench(grown, "list")
    assert "tiny/sum[…]/forward" in measured
    assert "n=100" in measured
    assert "the table of tiny: 4 results" in measured
    assert measured.splitlines()[-1] == "the end of tiny: ['tiny']"


def test_a_suite_has_commands(grown):
    assert opbench(grown, "tiny") == "the command of tiny\n"
    assert opbench(grown, "report", "tiny") == "the command of tiny\n"


@pytest.mark.usefixtures("measured")
def test_a_suite_has_charts(grown):
    opbench(grown, "report", "--charts", "charts", "--no-history")
    assert (grown / "charts" / "tiny_sizes.svg").is_file()


def test_an_operator_is_a_case_in_each_framework_that_spells_it(grown):
    listed = opbench(grown, "list", "ops", "-k", "toward_zero", "-a", "framework=torch,numpy")
    assert [line.partition("[")[0] for line in listed.splitlines()] == ["ops/toward_zero"] * 2


def test_a_metric_is_measured(measured):
    assert "loop_time" in measured
    assert "2 ok" not in measured, "two cases, two metrics"
    assert "4 ok" in measured


def test_a_metric_that_is_not_sampled_is_measured(grown):
    printed = opbench(grown, "run", "beads.toml", "--no-save", "--metric", "letters")
    assert re.search(r"beads.* 15 *$", printed, re.MULTILINE), "y = half + half"
    assert "1 ok" in printed


def test_a_framework_runs_a_statement(grown):
    printed = opbench(grown, "run", "beads.toml", "--no-save", "--max-time-per-case", "0.2s")
    assert "beads" in printed
    assert "1 ok" in printed


def test_a_framework_is_known_by_the_file_that_imports_it(grown):
    opbench(grown, "run", "own.py", "--max-time-per-case", "0.2s", "--store", "own.db")
    stored = json.loads(opbench(grown, "export", "--format", "json", "--store", "own.db"))
    (case,) = stored["cases"].values()
    assert case["framework"] == "abacus", "it imports NumPy too"


def test_the_version_of_a_framework_is_a_fact_of_the_interpreter(grown):
    facts = json.loads(opbench(grown, "doctor", "--json"))
    assert facts["python"]["packages"]["abacus"] == "2.1"


def test_operators_may_be_spelled_in_a_framework(grown):
    printed = opbench(grown, "ops", "--framework", "abacus")
    assert printed.split()[:3] == ["operator", "category", "abacus"]


@pytest.mark.usefixtures("measured")
def test_an_export_format_writes(grown):
    assert opbench(grown, "export", "--format", "names").splitlines() == ["name: sum"] * 4


def test_an_import_format_is_read(grown):
    (grown / "lap.json").write_text('{"stopwatch": "lap", "seconds": [1.5, 1.6]}')
    printed = opbench(grown, "import", "lap.json", "--store", "laps.db")
    assert "lap.json: imported 1 benchmark of stopwatch as run" in printed


def test_a_command_is_listed_and_runs(grown):
    assert "Greet from a file of cli/." in opbench(grown, "--help")
    assert opbench(grown, "hello") == "the command of cli\n"
