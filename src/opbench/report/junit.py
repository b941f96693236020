"""A comparison as JUnit XML: CI systems show each case as a test, a blamed one as a failure."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

from opbench.analyse.compare import Comparison, Row
from opbench.report.comparison import ratio_text, word


def as_junit(comparison: Comparison, fails: Callable[[Row], bool]) -> str:
    """`fails` says which rows break the gate; unknown ones are marked as skipped."""
    rows = comparison.rows
    suite = ElementTree.Element(
        "testsuite",
        name=f"opbench {comparison.base} → {comparison.new}",
        tests=str(len(rows)),
        failures=str(sum(fails(row) for row in rows)),
        skipped=str(sum(row.verdict == "unknown" for row in rows)),
        errors="0",
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"opbench.{row.metric}", name=row.case_id
        )
        if fails(row):
            failure = ElementTree.SubElement(
                case, "failure", message=f"{word(row)}: {ratio_text(row)}"
            )
            failure.text = f"{row.metric} of {row.case_id}: ratio {ratio_text(row)}"
        elif row.verdict == "unknown":
            ElementTree.SubElement(case, "skipped", message=row.reason or "unknown")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
