"""Comparisons as JUnit XML: each case is a test, which fails where the gate does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from opbench.analyse.compare import Comparison
from opbench.analyse.gate import Gate
from opbench.report.comparison.tables import ratio_text

#: What XML 1.0 cannot hold, not even escaped; a case may raise with any text.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(comparisons: Sequence[Comparison], gate: Gate) -> str:
    """Rows that break the gate are failures, those it cannot judge because they were not measured
    are errors, other unknown ones are skipped."""
    root = ElementTree.Element("testsuites")
    root.extend(_suite(comparison, gate) for comparison in comparisons)
    ElementTree.indent(root)
    # Written here, because the library would declare the encoding of the locale.
    declaration = '<?xml version="1.0" encoding="utf-8"?>\n'
    return declaration + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(comparison: Comparison, gate: Gate) -> ElementTree.Element:
    rows = comparison.rows
    unmeasured = set(map(id, gate.unmeasured(comparison)))
    failed = sum(map(gate.fails, rows))
    skipped = sum(row.verdict == "unknown" and not gate.fails(row) for row in rows)
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"opbench {comparison.base} → {comparison.new}"),
        tests=str(len(rows)),
        failures=str(failed),
        skipped=str(skipped - len(unmeasured)),
        errors=str(len(unmeasured)),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(f"opbench.{row.metric}"), name=_clean(row.case_id)
        )
        if gate.fails(row):
            message = _clean(f"{row.word}: {row.reason or ratio_text(row)}")
            failure = ElementTree.SubElement(case, "failure", message=message)
            failure.text = _clean(f"{row.metric} of {row.case_id}: ratio {ratio_text(row)}")
        elif id(row) in unmeasured:
            ElementTree.SubElement(case, "error", message=_clean(row.reason))
        elif row.verdict == "unknown":
            ElementTree.SubElement(case, "skipped", message=_clean(row.reason or "unknown"))
    return suite


def _clean(text: str) -> str:
    return FORBIDDEN.sub("�", text)
