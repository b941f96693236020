"""The page as a reader has it: a real Chromium, opened from disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.report.page.conftest import POLL

from opbench.report.page.contents import gather
from opbench.report.page.page import save
from opbench.result import Warning
from opbench.store import Store
from page_store import NASTY, NASTY_REASON

pytest.importorskip("selenium", reason="needs selenium, as the extra `dev` brings it")

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.timeout(600)


def css(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements(By.CSS_SELECTOR, selector)


def one(browser: Any, selector: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, selector)


def click(browser: Any, selector: str) -> None:
    """In the middle of the screen: at its edge the page's head may lie above it. Again where the
    element was drawn anew in between: rows are, and a chart that appears moves what is below it."""

    def clicked(_: Any) -> bool:
        found = one(browser, selector)
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()
        return True

    gone = (StaleElementReferenceException, ElementClickInterceptedException)
    WebDriverWait(browser, 300, POLL, ignored_exceptions=gone).until(clicked)


def texts(browser: Any, selector: str) -> list[str]:
    """What a reader sees of each. Again where one was drawn anew while it was read: the table
    draws its rows once more when its height changes, a moment after a search."""

    def read(_: Any) -> tuple[list[str]]:
        return ([found.text for found in css(browser, selector)],)

    gone = (StaleElementReferenceException,)
    return WebDriverWait(browser, 300, POLL, ignored_exceptions=gone).until(read)[0]


def text(browser: Any, selector: str) -> str:
    return texts(browser, selector)[0]


def names(browser: Any) -> list[str]:
    """Ids of the rows in view, from top to bottom."""
    script = """return [...document.querySelectorAll('#grid-body .line')]
        .map(line => line.querySelector('.name').title)"""
    return browser.execute_script(script)


def search(browser: Any, text: str) -> None:
    field = one(browser, "#search")
    field.clear()
    field.send_keys(text)


def wait(browser: Any, script: str) -> Any:
    return WebDriverWait(browser, 300, POLL).until(lambda d: d.execute_script(f"return {script}"))


@pytest.fixture(autouse=True)
def clean_console(request: pytest.FixtureRequest) -> Any:
    """Whatever a test does, the page has nothing to complain about."""
    yield
    if "visit" in request.fixturenames:
        browser = request.getfixturevalue("chromium")
        logged = browser.get_log("browser")
        bad = [entry["message"] for entry in logged if entry["level"] in ("SEVERE", "WARNING")]
        assert bad == []


def test_the_summary_stands_there_without_any_script(visit):
    browser = visit()
    assert text(browser, "h1") == "night 11"
    assert "64" in text(browser, ".tiles")
    verdicts = text(browser, ".verdicts")
    assert "night 10" in verdicts
    assert "slower" in verdicts
    assert "Failed" in texts(browser, ".card h2")


def test_a_name_is_text_whatever_it_holds(visit):
    browser = visit()
    assert browser.title == "night 11 · opbench"
    search(browser, "script")
    assert names(browser) == [f'ops/{NASTY}[<b>axis</b>="><svg onload=alert(3)>]/call']
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#copy-script') !== null")
    assert NASTY in text(browser, "#case-title")
    assert "<i>quiet</i> the machine" in text(browser, "#case-body")
    # Nothing of it became an element, in the page or in the panel.
    assert css(browser, "main img, dialog img, main script, dialog script, svg[onload]") == []
    browser.execute_script("document.querySelector('#case').close()")
    search(browser, "fails")
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#case-body pre') !== null")
    assert NASTY_REASON in text(browser, "#case-body")


def test_only_the_page_s_own_script_may_run(visit):
    """The policy in the page refuses any script but its own, even one that got into the DOM."""
    browser = visit()
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.intruder = 1';"
        "document.body.append(s)"
    )
    assert browser.execute_script("return window.intruder") is None
    refused = browser.get_log("browser")
    assert any("Content Security Policy" in entry["message"] for entry in refused)


def test_sorting_by_a_column_and_back(visit):
    browser = visit()
    as_measured = names(browser)
    click(browser, "[data-column='1']")
    script = """return [...document.querySelectorAll('#grid-body .line')]
        .map(line => Number(line.dataset.row))"""
    down = browser.execute_script(script)
    heads = css(browser, "[role=columnheader]")
    assert heads[1].get_attribute("aria-sort") == "descending"
    assert "matmul[n=1024" in browser.execute_script(
        "return document.querySelector('#grid-body .line .name').textContent"
    ).replace(", ", ",")
    click(browser, "[data-column='1']")
    assert browser.execute_script(script) != down
    click(browser, "[data-column='1']")
    assert names(browser) == as_measured
    click(browser, "[data-column='0']")
    ordered = [name for name in names(browser) if name.startswith("ops/add[")]
    assert ordered[0].startswith("ops/add[n=64")
    assert ordered[-1].startswith("ops/add[n=1024")


def test_searching_and_filtering(visit):
    browser = visit()
    search(browser, "softmax torch -n=64")
    assert text(browser, "#shown") == "4 of 64 cases"
    assert all("softmax" in name and "n=64," not in name for name in names(browser))
    click(browser, "#clear")
    assert text(browser, "#shown") == "64 cases"
    click(browser, "[data-filter='verdict:slower']")
    assert text(browser, "#shown") == "5 of 64 cases"
    assert all(name.startswith("ops/add[") for name in names(browser))
    click(browser, "#clear")
    search(browser, "no such case")
    assert "No case fits." in text(browser, "#grid-body")


def test_a_tile_opens_as_many_rows_as_it_says(visit):
    """On a page with two comparisons, of times and of memory."""
    browser = visit("layers")
    tiles = css(browser, "[data-comparison] [data-filter]")
    assert any("memory: larger" in tile.text for tile in tiles)
    for number, tile in enumerate(tiles):
        said = int(tile.text.split()[0 if tile.text[0].isdigit() else 1].replace(",", ""))
        browser.execute_script("arguments[0].click()", tile)
        shown = text(browser, "#shown")
        assert shown.split()[0] == str(said), (number, tile.text, shown)


def test_a_case_tells_all_that_is_known_of_it(visit):
    browser = visit("layers")
    search(browser, "lstm hooks batch_size=64")
    click(browser, "#grid-body .line")
    wait(browser, "document.querySelector('#case-samples svg') !== null")
    body = text(browser, "#case-body")
    assert "± 1.0 %" in body
    assert "32 samples" in body
    assert "slower" in body
    assert "against mode=baseline" in body
    assert "per sample gradients" in body
    assert "worker starts" in body
    assert len(css(browser, "#case-samples .sample")) == 32
    script = text(browser, "#case-script pre")
    assert "loss.backward()" in script
    assert "def _main():" in script


def test_the_script_is_copied(visit):
    browser = visit("layers", "#case=layers/linear[mode=hooks,batch_size=16]/forward_backward")
    wait(browser, "document.querySelector('#copy-script') !== null")
    click(browser, "#copy-script")
    assert wait(browser, "document.querySelector('#copy-script').textContent === 'Copied'")


def test_the_keyboard_is_enough(visit):
    browser = visit()
    body = one(browser, "body")
    body.send_keys("/")
    assert browser.switch_to.active_element.get_attribute("id") == "search"
    browser.switch_to.active_element.send_keys("exp", Keys.ARROW_DOWN)
    active = browser.switch_to.active_element
    assert active.get_attribute("id") == "grid-body"
    active.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
    wait(browser, "document.querySelector('#copy-script') !== null")
    third = browser.execute_script("return document.querySelector('#case-title').textContent")
    browser.switch_to.active_element.send_keys("j")
    wait(browser, f"document.querySelector('#case-title').textContent !== {third!r}")
    browser.switch_to.active_element.send_keys("k")
    wait(browser, f"document.querySelector('#case-title').textContent === {third!r}")
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert wait(browser, "!document.querySelector('#case').open")
    assert browser.switch_to.active_element.get_attribute("id") == "grid-body"


def test_switching_the_theme(visit):
    browser = visit()
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(f"return {paper}")
    click(browser, "#theme")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert browser.execute_script(f"return {paper}") != light
    one(browser, "body").send_keys("t")
    assert browser.execute_script(f"return {paper}") == light


@pytest.mark.parametrize(
    ("page", "tabs"),
    [
        ("operators", ["scaling", "ratios", "frameworks", "roofline", "history"]),
        ("layers", ["scaling", "ratios", "factors"]),
    ],
)
def test_every_chart_draws_its_marks(visit, page, tabs):
    browser = visit(page)
    offered = [tab.get_attribute("id")[4:] for tab in css(browser, "[role=tab]")]
    assert [name for name in offered if name != "multiples"] == tabs
    for name in tabs:
        click(browser, f"#tab-{name}")
        wait(browser, "document.querySelectorAll('#chart svg.plot .mark').length > 3")
        assert "NaN" not in one(browser, "#chart").get_attribute("innerHTML")


def test_a_history_shows_where_the_level_changed(visit):
    browser = visit()
    click(browser, "#tab-history")
    wait(browser, "document.querySelectorAll('#chart .change').length > 0")
    assert "+12 %" in text(browser, "#chart .changes")
    assert "only the commit changed" in text(browser, "#chart .changes")


def test_a_mark_leads_to_its_case(visit):
    browser = visit()
    click(browser, "#tab-frameworks")
    wait(browser, "document.querySelector('#chart .mark') !== null")
    browser.execute_script(
        "document.querySelector('#chart .mark').dispatchEvent(new MouseEvent('click'))"
    )
    assert wait(browser, "document.querySelector('#case').open")


def test_a_phone_sees_everything_without_scrolling_sideways(visit):
    browser = visit()
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 380, "height": 780, "deviceScaleFactor": 2, "mobile": True},
    )
    try:
        browser.refresh()
        wait(browser, "document.documentElement.dataset.ready === 'yes'")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 380
        click(browser, "#grid-body .line")
        wait(browser, "document.querySelector('#case').open")
        width = "document.querySelector('#case').getBoundingClientRect().width"
        assert browser.execute_script(f"return {width}") == 380
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_all_columns_of_two_compared_metrics_fit_a_laptop(visit, filled, pages, tmp_path):
    """Notes are the last column: they were cut where the table was wider than the screen."""
    with Store.open(filled, create=False) as store:
        contents = gather(store, "layers")
    noted = [
        replace(each, result=replace(each.result, warnings=(Warning("imprecise", "wide"),)))
        if at % 3 == 0
        else each
        for at, each in enumerate(contents.results)
    ]
    pages["noted"] = tmp_path / "noted.html"
    save(replace(contents, results=noted), pages["noted"])
    browser = visit("noted")
    # The window of the tests is narrower than 1300 pixels.
    assert "! imprecise" in texts(browser, "#grid-body .notes")
    body = "document.querySelector('#grid-body')"
    assert browser.execute_script(f"return {body}.scrollWidth <= {body}.clientWidth")


def test_only_rows_in_view_exist(visit):
    browser = visit()
    assert len(css(browser, "#grid-body .line")) < 40
    browser.execute_script("document.querySelector('#grid-body').scrollTop = 1e6")
    wait(browser, "document.querySelector('[aria-rowindex=\"65\"]') !== null")
    assert len(css(browser, "#grid-body .line")) < 40
