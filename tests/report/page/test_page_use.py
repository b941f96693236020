"""What a reader can do with the page, and whether everybody can read it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("selenium", reason="needs selenium, as the extra `dev` brings it")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_page_in_browser import clean_console, click, css, names, one, search, text, texts, wait

__all__ = ["clean_console"]  # holds for the tests of this file too

pytestmark = pytest.mark.timeout(600)


CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8")


def check(browser, name: str):
    """The answer of one of the functions of checks.js."""
    return browser.execute_script(f"{CHECKS}\nreturn {name}()")


def hash_of(browser) -> str:
    return unquote(browser.execute_script("return location.hash"))


# ------------------------------------------------------------------ the address


def test_what_is_looked_at_stands_in_the_address(visit):
    browser = visit()
    search(browser, "softmax torch")
    click(browser, "[data-column='1']")
    click(browser, "#tab-ratios")
    assert hash_of(browser) == "#q=softmax torch&sort=-time&tab=ratios"
    shown = names(browser)
    again = visit("operators", browser.execute_script("return location.hash"))
    assert one(again, "#search").get_attribute("value") == "softmax torch"
    assert names(again) == shown
    assert one(again, "#tab-ratios").get_attribute("aria-selected") == "true"
    assert css(again, "[role=columnheader]")[1].get_attribute("aria-sort") == "descending"


def test_a_filter_is_in_the_address(visit):
    browser = visit("operators", "#verdict=slower")
    assert text(browser, "#shown") == "5 of 64 cases"
    click(browser, "#clear")
    assert hash_of(browser) == ""


def test_back_closes_a_case_and_forward_opens_it_again(visit):
    browser = visit()
    search(browser, "exp numpy")
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#copy-script') !== null")
    assert "&case=ops/exp[" in hash_of(browser)
    browser.back()
    wait(browser, "!document.querySelector('#case').open")
    assert hash_of(browser) == "#q=exp numpy"
    assert len(names(browser)) == 5
    browser.forward()
    wait(browser, "document.querySelector('#case').open")
    click(browser, "#case-close")
    wait(browser, "!document.querySelector('#case').open && !location.hash.includes('case=')")


def test_the_address_names_the_side_of_a_case(visit):
    """Both sides of a comparison have the same cases."""
    browser = visit("sides")
    assert texts(browser, "#grid-body .environment") == ["HEAD~1", "HEAD"] * 2
    click(browser, "#line-1")
    wait(browser, "document.querySelector('#copy-script') !== null")
    assert hash_of(browser) == "#case=ops/library[group=softmax]/forward&at=HEAD"
    facts = text(visit("sides", browser.execute_script("return location.hash")), ".case-facts")
    assert "environment HEAD" in facts.split(" · ")
    one(browser, "#case").send_keys("k")
    wait(browser, "location.hash.endsWith('at=HEAD~1')")
    wait(browser, "document.querySelector('.case-facts').textContent.endsWith('HEAD~1')")
    one(browser, "#case").send_keys("j")
    wait(browser, "location.hash.endsWith('at=HEAD')")


def test_an_address_of_the_case_alone_opens_its_first_row(visit):
    browser = visit("sides", "#case=ops/written_out[group=softmax]/forward")
    wait(browser, "document.querySelector('.case-facts') !== null")
    assert text(browser, ".case-facts").endswith("environment HEAD~1")


def test_an_address_that_means_nothing_does_no_harm(visit):
    for fragment in (
        "#case=no such case",
        "#%E0%A4%A=1&q=%",
        "#sort=nothing&tab=none&verdict",
        "#cases",
    ):
        assert text(visit("operators", fragment), "#shown") == "64 cases"


# --------------------------------------------------------------------- the table


def test_what_is_the_same_in_every_case_is_said_once(visit):
    browser = visit("layers")
    name, title = browser.execute_script(
        "const n = document.querySelector('#grid-body .name'); return [n.textContent, n.title]"
    )
    assert "forward_backward" not in name
    assert title.startswith("layers/")
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#case').open")
    assert text(browser, "#case-title").startswith("layers/")


def test_rows_are_counted_as_rows_where_a_case_has_several(visit):
    browser = visit("sides")
    assert text(browser, "#shown") == "4 rows"
    search(browser, "library")
    assert text(browser, "#shown") == "2 of 4 rows"


def test_the_table_is_no_higher_than_its_rows(visit):
    browser = visit("sides")
    height = "document.querySelector('#grid-body').clientHeight"
    assert browser.execute_script(f"return {height}") == 4 * 40
    search(browser, "library")
    assert browser.execute_script(f"return {height}") == 4 * 40, "a search moves nothing"
    many = visit()
    assert many.execute_script(f"return {height}") > 400


def test_each_metric_has_its_own_change(visit):
    browser = visit("layers")
    titles = texts(browser, "[role=columnheader]")
    assert titles == ["Case", "time", "Time change", "memory", "Memory change"]
    search(browser, "lstm hooks batch_size=16")
    line = text(browser, "#grid-body .line")
    assert "slower" in line
    assert "larger" in line


def test_the_rows_are_saved_as_csv_as_they_are_shown(visit):
    browser = visit("layers")
    search(browser, "lstm")
    check(browser, "keepSaved")
    click(browser, "#csv")
    lines = wait(browser, "window.saved[0]")
    saved = list(csv.DictReader(io.StringIO(lines)))
    assert [row["case"] for row in saved] == names(browser)
    row = next(r for r in saved if r["mode"] == "hooks" and r["batch_size"] == "16")
    assert float(row["time (s)"]) == pytest.approx(4e-5 * 4 * 6.2 * 1.003, rel=1e-3)
    assert row["Memory change: verdict"] == "slower"


# -------------------------------------------------------------------- the charts


def test_scaling_is_the_first_picture_with_a_line_for_each_implementation(visit):
    browser = visit()
    click(browser, "#tab-scaling")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")
    legend = texts(browser, "#chart .role-legend-label text")
    assert legend == ["framework=jax", "framework=numpy", "framework=torch"]
    assert "dtype" not in text(browser, "#chart")


def test_a_line_of_the_legend_is_picked(visit):
    browser = visit()
    click(browser, "#tab-scaling")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")
    assert check(browser, "dimmed") == 0
    label = css(browser, "#chart .role-legend-label text")[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", label)
    ActionChains(browser).move_to_element(label).click().perform()
    assert check(browser, "dimmed") == 10
    ActionChains(browser).click(label).perform()
    assert check(browser, "dimmed") == 0


def test_a_chart_of_few_rows_leaves_no_empty_space(visit):
    browser = visit("sides")
    click(browser, "#tab-ratios")
    wait(browser, "document.querySelectorAll('#chart .mark').length > 1")
    assert texts(browser, "#chart .role-legend-label text") == ["slower"]
    sizes = "['#chart', '#chart svg'].map((e) => document.querySelector(e).clientHeight)"
    box, drawn = browser.execute_script(f"return {sizes}")
    assert box - drawn < 20


def test_the_wheel_with_shift_zooms(visit):
    browser = visit()
    click(browser, "#tab-scaling")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")
    before = one(browser, "#chart svg").get_attribute("innerHTML")
    mark = css(browser, "#chart .mark")[7]
    browser.execute_script(
        """arguments[0].scrollIntoView({block: 'center'});
        const box = arguments[0].getBoundingClientRect();
        const at = { clientX: box.x + 3, clientY: box.y + 3, bubbles: true, cancelable: true };
        const turn = new WheelEvent('wheel', { ...at, deltaY: -300, shiftKey: true });
        arguments[0].dispatchEvent(turn);""",
        mark,
    )
    WebDriverWait(browser, 300).until(
        lambda _: one(browser, "#chart svg").get_attribute("innerHTML") != before
    )


def test_the_scales_are_logarithmic_or_linear(visit):
    browser = visit()
    click(browser, "#tab-scaling")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")
    field = next(f for f in css(browser, "#chart-controls select") if "linear" in f.text)
    Select(field).select_by_value("linear")
    wait(browser, "document.querySelector('#chart-note').textContent === 'Both scales are linear.'")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")


def test_all_benchmarks_are_a_grid_that_leads_to_each(visit):
    browser = visit()
    click(browser, "#tab-multiples")
    wait(browser, "document.querySelectorAll('#chart .multiple polyline').length === 12")
    click(browser, ".multiples li:last-child .multiple")
    wait(browser, "document.querySelector('#tab-scaling').getAttribute('aria-selected') === 'true'")
    wait(browser, "document.querySelectorAll('#chart .mark').length === 15")


# ------------------------------------------------------------------- everybody


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_stands_out_from_its_background(visit, theme):
    browser = visit()
    browser.execute_script(f"document.documentElement.dataset.theme = '{theme}'")
    for tab in ("scaling", "multiples", "ratios", "history"):
        click(browser, f"#tab-{tab}")
        wait(browser, "document.querySelectorAll('#chart svg').length > 0")
        seen, pale = check(browser, "pale")
        assert seen > 100
        assert pale == [], tab
    search(browser, "script")  # the case with warnings
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#copy-script') !== null")
    assert check(browser, "pale")[1] == []


@pytest.mark.parametrize("page", ["operators", "layers"])
def test_whatever_can_be_used_has_a_name_and_is_reached_by_tab(visit, page):
    browser = visit(page)
    click(browser, "#tab-scaling")
    wait(browser, "document.querySelectorAll('#chart .mark').length > 3")
    assert check(browser, "nameless") == []
    assert check(browser, "unreached") == []
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert check(browser, "repeatedIds") == []


PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}


@pytest.mark.parametrize("page", ["operators", "layers", "sides"])
def test_a_phone_shows_the_changes(visit, page):
    browser = visit(page)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        wait(browser, "document.querySelector('#line-0').clientHeight === 73")
        widths = """return [...document.querySelectorAll('#grid-body .ratio')]
            .filter((each) => each.textContent).map((each) => each.clientWidth)"""
        found = browser.execute_script(widths)
        assert found
        assert all(width > 40 for width in found)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("page", ["operators", "layers"])
def test_nothing_is_wider_than_a_phone(visit, page):
    browser = visit(page)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        browser.refresh()
        wait(browser, "document.documentElement.dataset.ready === 'yes'")
        for tab in [each.get_attribute("id") for each in css(browser, "[role=tab]")]:
            click(browser, f"#{tab}")
            wait(browser, "document.querySelectorAll('#chart svg').length > 0")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, tab
            assert check(browser, "cutOff") == [], tab
        click(browser, "#tab-scaling")
        wait(browser, "document.querySelectorAll('#chart .pickable').length === 3")
        assert check(browser, "cutOff") == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
