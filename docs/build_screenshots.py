"""Takes the pictures of README.md and docs/report.md from real pages in a real browser.

    python docs/build_screenshots.py              # all; some five minutes, on a quiet machine
    python docs/build_screenshots.py readme       # that of the README: its file is measured
    python docs/build_screenshots.py STORE.db     # those of report.md, from the latest run there

Without a store, the tour is measured twice for report.md. Needs chromium and chromium-driver.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import build_pages

IMAGES = Path(__file__).resolve().parent / "images"
#: Part of the id of the case that is opened.
CASE = "linear[batch=64]/forward_backward"
QUALITY = 78


def measured(folder: Path) -> Path:
    store = folder / "results.db"
    for name in ("monday", "tuesday"):
        command = [sys.executable, "-m", "opbench.cli.main", "run", "tour", "--name", name]
        more = ["--metric", "time,memory", "--max-time-per-case", "3s", "--store", str(store)]
        subprocess.run([*command, *more], cwd=folder, check=True)
    return store


def browser(folder: Path) -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--hide-scrollbars")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    return webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))


def screen(opened: Any, width: int, height: int, scale: float = 1.0) -> None:
    opened.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600},
    )


def load(opened: Any, page: Path) -> None:
    opened.get("about:blank")
    opened.get(page.as_uri())
    for _ in range(200):
        if opened.execute_script("return document.documentElement.dataset.ready") == "yes":
            return
        time.sleep(0.05)
    sys.exit("the page did not become ready")


def take(opened: Any, name: str) -> None:
    time.sleep(0.4)  # until animations have ended
    options = {"format": "webp", "quality": QUALITY}
    data = opened.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / f"{name}.webp").write_bytes(base64.b64decode(data))
    print(f"{name}.webp: {(IMAGES / f'{name}.webp').stat().st_size / 1000:.0f} kB")


def open_case(opened: Any, part: str) -> None:
    opened.execute_script(
        "const field = document.getElementById('search'); field.value = arguments[0];"
        "field.dispatchEvent(new Event('input'));"
        "document.querySelector('#grid-body .line').click()",
        part,
    )
    time.sleep(0.8)


def written(folder: Path, store: Path | str = ".opbench/results.db") -> Path:
    """The page of the latest run."""
    page = folder / "report.html"
    command = [sys.executable, "-m", "opbench.cli.main", "report", "last", "-o", str(page)]
    subprocess.run([*command, "--store", str(store)], check=True, cwd=folder)
    return page


def take_readme(opened: Any, folder: Path) -> None:
    """The page of the file that the README shows, measured as it says."""
    reader = build_pages.Reader(folder)
    for block in build_pages.blocks(build_pages.PAGES["README"].read_text(encoding="utf-8")):
        if block.kind == "file":
            reader.write(block)
        for command in block.commands:
            if command.startswith("opbench run"):
                reader.run(command).check_returncode()
    reader.close()
    screen(opened, 1180, 1040)
    load(opened, written(folder))
    take(opened, "readme-page")


def take_report(opened: Any, folder: Path, store: Path) -> None:
    page = written(folder, store)
    screen(opened, 1180, 820)
    load(opened, page)
    take(opened, "report-summary")
    opened.execute_script("document.getElementById('charts').scrollIntoView()")
    take(opened, "report-ratios")
    opened.execute_script("document.getElementById('cases').scrollIntoView()")
    take(opened, "report-cases")
    open_case(opened, CASE)
    take(opened, "report-case")
    screen(opened, 390, 780, 1.5)
    load(opened, page)
    opened.execute_script("document.getElementById('theme').click()")
    opened.execute_script("document.getElementById('cases').scrollIntoView()")
    take(opened, "report-phone")


def main(wanted: list[str]) -> None:
    store = next((Path(word).resolve() for word in wanted if word != "readme"), None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened = browser(folder)
        try:
            if not wanted or "readme" in wanted:
                (folder / "readme").mkdir()
                take_readme(opened, folder / "readme")
            if not wanted or store:
                take_report(opened, folder, store or measured(folder))
        finally:
            opened.quit()


if __name__ == "__main__":
    main(sys.argv[1:])
