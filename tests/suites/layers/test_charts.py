"""Charts and the figure: one colour per mode everywhere, published values as open marks."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import pytest

from opbench.errors import UserError
from opbench.suites.layers import figure
from opbench.suites.layers.charts import charts, save
from opbench.suites.layers.factors import Factor, LayerRow
from opbench.suites.layers.factors_published import published

BATCHES = (16, 32, 64, 128, 256, 512)
LAYERS = ("linear", "conv", "layernorm", "embedding", "dpmha", "dplstm")


def row(layer, mode, batch, metric="time", factor=2.0):
    known = Factor(factor, factor * 0.9, factor * 1.1)
    return LayerRow(layer, mode, batch, "forward_backward", "cpu", metric, "s", estimate=1e-3,
                    low=1e-3, high=1e-3, factor=known, factor_nn=known)  # fmt: skip


ROWS = [row(layer, mode, batch) for layer in LAYERS for mode in ("hooks", "functorch", "ghost")
        for batch in BATCHES]  # fmt: skip


def colours(chart):
    """mode → colour, wherever a chart draws modes."""
    found = {}
    for panel in chart.spec["concat"]:
        for mark in panel["layer"]:
            scale = mark["encoding"].get("color", {}).get("scale")
            if scale:
                found.update(zip(scale["domain"], scale["range"]))
    return found


def test_a_mode_has_one_colour_in_every_picture():
    one = colours(figure.figure(ROWS, "time"))
    few = [each for each in ROWS if each.mode == "ghost"]
    assert colours(figure.figure(few, "time")) == {"ghost": one["ghost"]}
    for chart in charts([*ROWS, replace(ROWS[0], mode="mine")]).values():
        found = colours(chart)
        assert {mode: found[mode] for mode in one if mode in found}.items() <= one.items()
        assert len(set(found.values())) == len(found)


def test_an_own_mode_is_not_drawn_in_a_colour_like_that_of_hooks():
    mine = [*ROWS, replace(ROWS[0], mode="mine")]
    found = colours(figure.figure(mine, "time"))
    assert found["hooks"] == "var(--c1)"
    assert found["mine"] not in ("var(--c5)", "var(--c6)")  # vermilion and olive beside amber


def test_published_factors_are_open_marks():
    against = published()
    (mark,) = (m for m in charts(ROWS, against)["factor_time"].spec["concat"][0]["layer"]
               if m["mark"].get("filled") is False)  # fmt: skip
    values = {each["layer"]: each["published"] for each in mark["data"]["values"]}
    # 0.666322 ms over 0.385688 ms at batch size 16, of the shipped figures.
    assert values["linear"] == pytest.approx(0.666322 / 0.385688)
    (mark,) = (m for m in charts(ROWS)["factor_time"].spec["concat"][0]["layer"]
               if m["mark"].get("filled") is False)  # fmt: skip
    assert mark["data"]["values"] == []


def sized(layer, batch, note, factor):
    return replace(row(layer, "hooks", batch, factor=factor), note=note)


SIZED = [sized("lora", batch, note, factor) for batch in (8, 32)
         for note, factor in (("rank 4", 2.0), ("rank 16", 5.0))]  # fmt: skip


def test_every_size_of_a_layer_has_its_own_panel():
    drawn = figure.figure(SIZED, "time").spec["concat"]
    assert [panel["title"]["text"] for panel in drawn] == [["lora", "rank 4"], ["lora", "rank 16"]]
    assert [{p["factor"] for p in panel["layer"][-1]["data"]["values"]} for panel in drawn] == [
        {2.0}, {5.0}
    ]  # fmt: skip
    found = charts(SIZED)
    assert {"layer_lora (rank 4)", "layer_lora (rank 16)"} < set(found)
    by_layer = {p["layer"]: p["factor"] for p in found["factor_time"].points}
    assert by_layer == {"lora (rank 4)": 2.0, "lora (rank 16)": 5.0}


def test_sizes_are_in_the_order_people_count_in():
    assert [each.note for each in sorted(SIZED, key=lambda row: row.place)][::2] == [
        "rank 4", "rank 16"
    ]  # fmt: skip


def test_an_interval_that_reaches_zero_ends_at_the_edge_of_its_chart():
    wide = [replace(each, low=-2e-3, high=4e-3) for each in SIZED]
    (panel,) = charts(wide)["layer_lora (rank 4)"].spec["concat"]
    scale = panel["layer"][0]["encoding"]["y"]["scale"]
    assert scale["domain"] == [pytest.approx(1 / 1.15), pytest.approx(4 * 1.15)]
    assert {each["low"] for each in panel["layer"][0]["data"]["values"]} == {scale["domain"][0]}


def test_the_figure_says_what_its_marks_mean(tmp_path):
    def text(rows, against=None):
        figure.save(rows, tmp_path / "f.svg", against=against)
        return (tmp_path / "f.svg").read_text()

    assert "circles: torch.nn; diamonds: DP; open: published" in text(ROWS, published())
    assert "circles: torch.nn; diamonds: DP<" in text(ROWS)
    linear = [each for each in ROWS if each.layer == "linear"]
    assert "circles" not in text(linear)
    # A single panel is as wide as three: what is printed on it is no larger.
    widths = [re.search(r'viewBox="0 0 (\d+)', text(rows))[1] for rows in (ROWS, linear)]
    assert float(widths[1]) == pytest.approx(float(widths[0]), rel=0.2)


def test_points_sit_on_their_tick():
    for panel in charts(ROWS)["factor_time"].spec["concat"]:
        assert all("xOffset" not in mark["encoding"] for mark in panel["layer"])


def test_pictures_have_the_shape_of_a_page(tmp_path):
    save(ROWS, tmp_path, ("png",))
    width, height = struct.unpack(">II", (tmp_path / "factor_time.png").read_bytes()[16:24])
    assert width / height < 2.5


def test_the_figure_is_a_vector_of_the_width_of_a_column(tmp_path):
    figure.save(ROWS, tmp_path / "new" / "f.svg", against=published())
    assert 'width="85mm"' in (tmp_path / "new" / "f.svg").read_text()[:400]
    figure.save(ROWS, tmp_path / "f.pdf", against=published())
    content = (tmp_path / "f.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    box = re.search(rb"MediaBox \[0 0 ([\d.]+) ", content)
    assert float(box[1]) == pytest.approx(85 / 25.4 * 72, abs=0.5)


def test_what_cannot_be_drawn_is_said(tmp_path):
    with pytest.raises(UserError, match=r"a figure is written as \.svg or \.pdf"):
        figure.save(ROWS, tmp_path / "f.png")
    with pytest.raises(UserError, match="no factors of memory over"):
        figure.save(ROWS, tmp_path / "f.svg", "memory")
