"""Flame graphs: frames as wide as what they executed, nothing counted twice."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from opbench.analyse.function_counts import InstructionStats, NotKept
from opbench.counting import Function, Profile
from opbench.report.flame import flame_graph, frames

MAIN, WORK, INNER, OTHER = (Function(n, "x.so") for n in ("main", "work", "inner", "<other> & co"))
PROFILE = Profile(
    {MAIN: 100, WORK: 300, INNER: 600, OTHER: 1000},
    {},
    {(MAIN, WORK): 600, (MAIN, OTHER): 1300, (WORK, INNER): 300, (OTHER, INNER): 300},
)


def test_a_function_called_from_two_places_is_divided_between_them():
    (main,) = frames(PROFILE)
    assert (main.function, main.count) == (MAIN, 2000)
    other, work = main.inner
    assert (other.function, other.count) == (OTHER, 1300)
    assert (work.function, work.count) == (WORK, 600)
    assert [(each.function, each.count) for each in work.inner] == [(INNER, 300)]
    assert [(each.function, each.count) for each in other.inner] == [(INNER, 300)]


def test_functions_that_call_each_other_end():
    circle = Profile({WORK: 10, INNER: 20}, {}, {(MAIN, WORK): 30, (WORK, INNER): 30,
                                                 (INNER, WORK): 25})  # fmt: skip
    (main,) = frames(circle)
    assert main.depth <= 5


def test_an_interpreter_that_calls_itself_shows_what_it_calls():
    # As Callgrind sees a generator: the evaluation sends to it, which evaluates its frame.
    evaluate, send, text = (Function(name) for name in ("evaluate", "send", "text"))
    profile = Profile(
        {evaluate: 100, send: 10, text: 890},
        {},
        {(evaluate, send): 1000, (send, evaluate): 990, (evaluate, text): 890},
    )
    (bottom,) = frames(profile)
    assert (bottom.function, bottom.count) == (evaluate, 1000)
    (sent,) = bottom.inner
    (again,) = sent.inner
    assert (sent.function, again.function) == (send, evaluate)
    assert [(each.function, round(each.count)) for each in again.inner] == [(text, 881)]


def test_it_is_an_image_whose_names_are_text():
    image = ElementTree.fromstring(flame_graph(InstructionStats(PROFILE, 10), "<case> & more"))
    titles = [each.text for each in image.iter("{http://www.w3.org/2000/svg}title")]
    assert "<other> & co [x.so]: 130 per call, 65.0%" in titles
    texts = [each.text for each in image.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "<case> & more: 200 instructions per call, allocators included"


def test_without_calls_it_says_why():
    with pytest.raises(NotKept, match="Arm"):
        flame_graph(InstructionStats(Profile({MAIN: 1}), 1), "case")
