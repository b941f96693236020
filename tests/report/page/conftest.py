"""Pages of a made-up store, and a real browser to look at them with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import page_store
from opbench.report.page.contents import gather
from opbench.report.page.page import save
from opbench.result import Warning
from opbench.store import Store
from synthetic import add_run, case, timed

#: Seconds between two looks; selenium's own half a second would be most of the time spent here.
POLL = 0.02


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "results.db"
    page_store.fill(path)
    return path


@pytest.fixture(scope="session")
def two_sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `opbench ab` leaves of two functions of a group, on two days; HEAD is slower."""
    path = tmp_path_factory.mktemp("ab") / "results.db"
    commits = {"aaaa11112222": "a" * 40, "bbbb11112222": "b" * 40}
    with Store.open(path) as store:
        request = {
            "baseline": "name=library",
            "commits": ["HEAD~1", "HEAD"],
            "sides": [["aaaa11112222", "HEAD~1"], ["bbbb11112222", "HEAD"]],
        }
        held = (Warning("throttled", "the GPU was held back"),)
        results = [
            timed(
                case(name, group="softmax"),
                value * slow,
                environment=place,
                fingerprint=place,
                warnings=held,
            )
            for name, value in (("library", 1e-5), ("written_out", 2e-5))
            for place, slow in (("aaaa11112222", 1), ("bbbb11112222", 1.5))
        ]
        for day in range(2):
            add_run(store, day, "", *results, request=request)
        for place, commit in commits.items():
            store.add_environment(place, {"interpreter": {"commit": commit}})
    return path


@pytest.fixture(scope="session")
def pages(filled: Path, two_sides: Path) -> dict[str, Path]:
    """`operators`: a night of operators beside earlier ones; `layers`: a run with a baseline;
    `sides`: the two of `opbench ab`."""
    found = {}
    runs = ((filled, "operators", "night 11"), (filled, "layers", "layers"))
    for path, name, run in (*runs, (two_sides, "sides", "last")):
        with Store.open(path, create=False) as store:
            found[name] = filled.parent / f"{name}.html"
            save(gather(store, run), found[name])
    return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless, with an empty profile; skipped where there is none."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    profile = tmp_path_factory.mktemp("profile")
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    opened.set_script_timeout(300)
    yield opened
    opened.quit()


@pytest.fixture
def visit(chromium: Any, pages: dict[str, Path]) -> Callable[..., Any]:
    """Opens a page and waits until it is ready; at the end nothing may be on the console."""
    from selenium.webdriver.support.ui import WebDriverWait

    def open_page(name: str = "operators", fragment: str = "") -> Any:
        chromium.get("about:blank")
        chromium.get_log("browser")
        chromium.get(f"{pages[name].as_uri()}{fragment}")
        WebDriverWait(chromium, 300, POLL).until(
            lambda d: d.execute_script("return document.documentElement.dataset.ready") == "yes"
        )
        return chromium

    return open_page
