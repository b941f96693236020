"""Grouped definitions: what they expand to, and what they refuse where it is written."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.snippets import (
    GroupedBenchmark,
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    Language,
    RuntimeMode,
    SnippetError,
    TimerArgs,
    flatten,
    materialize,
    parse_stmts,
)
from opbench.suites.snippets.definition import definitions_of
from opbench.worker.stub.snippets.variants import variants

HERE = Path(__file__).parent
XW = GroupedSetup("x = torch.ones(4)\nw = torch.ones(4)", "auto x = 1;\nauto w = 2;")


def cases_of(snippet, label=("s",), **options):
    return expand(definitions_of("t", [(label, snippet)]), **options)


def text_of(case) -> str:
    parts = {"prelude": case.prelude, "globals": case.globals, "setup": case.setup}
    shown = "".join(f"-- {k}\n{v}\n" for k, v in parts.items() if v.strip())
    return f"==== {case.id}\n{shown}-- stmt\n{case.stmt}\n"


def golden(name: str, text: str) -> None:
    """Compare with the golden file; UPDATE_GOLDEN=1 writes it anew."""
    path = HERE / "golden" / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_documents_own_example_gives_eight_cases():
    cases = expand(targets_from(HERE / "documented.py").definitions)
    assert len(cases) == 8
    golden("documented.txt", "".join(map(text_of, cases)))


def test_and_eight_for_each_number_of_threads():
    snippet = GroupedStmts(
        "y = x * w", "auto y = x * w;", XW, "f(x, w) -> y", True, True, num_threads=(1, 2, 4)
    )
    cases = cases_of(snippet)
    assert len(cases) == 24
    assert {case.threads for case in cases} == {1, 2, 4}
    assert len({case.hash for case in cases}) == 24


def test_definitions_of_the_original_run_after_their_import_line():
    cases = expand(targets_from(HERE / "original_style.py").definitions)
    golden("original_style.txt", "".join(map(text_of, cases)))


def test_properties_keep_their_names():
    snippet = GroupedModules("model = f", "auto model = f;", XW, "f(x, w) -> y")
    assert snippet.py_fwd_stmt == "y = model(x, w)"
    assert snippet.cpp_fwd_stmt == "auto y = model->forward(x, w);"
    assert snippet.setup.py_setup == XW.py_setup
    assert (snippet.signature_args, snippet.signature_output) == (("x", "w"), "y")
    assert isinstance(snippet, GroupedBenchmark)


def test_global_setup_reaches_the_case():
    setup = GroupedSetup("", "int x = f();", "int f() { return 3; }")
    (case,) = cases_of(GroupedStmts(cpp_stmt="x = 3;", setup=setup))
    assert case.globals == "int f() { return 3; }"
    assert (case.language, case.framework, case.preload) == ("cpp", "python", ())


def test_several_outputs():
    snippet = GroupedStmts(
        "y = x * w\nz = x + w",
        "auto y = x * w;\nauto z = x + w;",
        XW,
        "f(x, w) -> y, z",
        torchscript=True,
        autograd=True,
    )
    golden("two_outputs.txt", "".join(map(text_of, cases_of(snippet))))


def test_compile_is_one_more_runtime_of_python():
    snippet = GroupedStmts("y = x * w", None, XW, "f(x, w) -> y", compile=True, autograd=True)
    assert [case.axes["runtime"] for case in cases_of(snippet)] == ["eager", "eager"] + [
        "compile"
    ] * 2
    (case,) = cases_of(snippet, axes={"runtime": ["compile"]}, stages=["forward"])
    assert "compiled_model = torch.compile(model)" in case.setup
    assert case.stmt == "y = compiled_model(x, w)"


def test_device_and_dtype_are_axes_and_names_in_both_languages():
    setup = GroupedSetup(
        "x = torch.ones(4, dtype=dtype, device=device)", "auto x = torch::ones({4}, dtype);"
    )
    snippet = GroupedStmts(
        "y = x + 1", "auto y = x + 1;", setup, dtype=("float32", "bfloat16"), device="cpu"
    )
    cases = cases_of(snippet)
    assert [(c.axes["language"], c.dtype) for c in cases] == [
        ("python", "float32"), ("python", "bfloat16"), ("cpp", "float32"), ("cpp", "bfloat16"),
    ]  # fmt: skip
    assert "dtype = torch.bfloat16" in cases[1].setup
    assert "const auto dtype = torch::kBFloat16;" in cases[3].setup
    assert all('evice("cpu")' in case.setup for case in cases)


def test_a_snippet_that_never_asks_for_a_device_is_unsupported_elsewhere():
    (case,) = cases_of(GroupedStmts("torch.empty(())"), device="cuda")
    assert "does not use `device`" in case.unsupported


def test_axes_filter_what_a_snippet_has():
    both = GroupedStmts("y = x * w", "auto y = x * w;", XW, "f(x, w) -> y", torchscript=True)
    assert len(cases_of(both, axes={"language": ["cpp"]})) == 2
    assert len(cases_of(both, axes={"runtime": ["torchscript"], "language": ["python"]})) == 1


def test_labels_become_names_that_an_id_can_hold():
    snippets = {("Indexing", "[0, 0]"): GroupedStmts("1"), ("Indexing", "[0 0]"): GroupedStmts("2")}
    names = [d.name for d in definitions_of("t", snippets.items())]
    assert names == ["Indexing.0_0", "Indexing.0_0_2"]


def test_variants_are_one_benchmark_per_line():
    found = GroupedVariants("# @setup\nx = 1\n# @a\nx + 1\nx + 2\n# @b\nx", "// @b\nx;")
    assert list(found) == [("a", "Case:  0"), ("a", "Case:  1"), ("b",)]
    assert found[("b",)].cpp_fwd_stmt == "x;"
    assert found[("a", "Case:  1")].py_fwd_stmt == "x + 2"


def test_a_line_left_blank_in_one_language_keeps_its_place():
    """As in the original: the second C++ line belongs to the third of Python."""
    found = GroupedVariants(
        """
            # @a
            first(x)

            third(x)
            # only in Python
            fifth(x)

        """,
        """
            // @a
            first(x);
            second(x);
            third(x);
        """,
    )
    pairs = [(each.py_fwd_stmt, each.cpp_fwd_stmt) for each in found.values()]
    assert pairs == [
        ("first(x)", "first(x);"),
        (None, "second(x);"),
        ("third(x)", "third(x);"),
        ("fifth(x)", None),
    ]


def test_what_the_original_accepts_is_accepted():
    """An argument that is not used, one with a type, one made in global_setup."""
    setup = GroupedSetup("x = 1\nw = 2", "auto x = 1;", "static int w = 2;")
    unused = GroupedStmts("y = x", "auto y = x;", setup, "f(x, w) -> y", torchscript=True)
    assert unused.signature_args == ("x", "w")
    typed = GroupedStmts("y = x * w", None, setup, "f(x: Tensor, w: int) -> y", torchscript=True)
    assert typed.signature_args == ("x", "w")
    assert "def model(x, w: int):" in (typed.py_model_setup or "")
    listed = GroupedStmts(
        "y = x", None, setup, "f(x: Dict[str, int], w: List[int]) -> y", torchscript=True
    )
    assert listed.signature_args == ("x", "w")
    compile(listed.py_model_setup or "", "model", "exec")


def test_side_by_side_columns():
    python, cpp = parse_stmts("""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        y = f(                                   | auto y = f(
            x | w)                               |     x | w);
                                                 | g();
    """)
    assert python == "y = f(\n    x | w)"
    assert cpp == "auto y = f(\n    x | w);\ng();"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GroupedStmts(), "needs py_stmt, cpp_stmt or both"),
        (lambda: GroupedStmts("y = x", signature="x -> y"), "'f(x, w) -> y', not 'x -> y'"),
        (lambda: GroupedStmts("y = x", setup=XW, signature="f(x, x) -> y"), "a name twice"),
        (lambda: GroupedStmts("y = x", torchscript=True), "torchscript=True needs a signature"),
        (
            lambda: GroupedStmts("x.add_(1)", setup=XW, signature="f(x) -> None", autograd=True),
            "not -> None",
        ),
        (
            lambda: GroupedStmts("a = 1\nz = x * w", setup=XW, signature="f(x, w) -> y"),
            "never assigns y (line 2: `z = x * w`)",
        ),
        (
            lambda: GroupedStmts("y = x * q", setup=XW, signature="f(x, q) -> y"),
            "setup does not define q; it defines w, x",
        ),
        (
            lambda: GroupedStmts(
                "a = x\ny = a * w", setup=XW, signature="f(x) -> y", torchscript=True
            ),
            "line 2 of the statement uses w, which is not one of its arguments: `y = a * w`",
        ),
        (
            lambda: GroupedStmts(cpp_stmt="auto z = x;", setup=XW, signature="f(x) -> y"),
            "the C++ statement never mentions y (line 1: `auto z = x;`)",
        ),
        (lambda: GroupedModules("model = 1"), "a model needs a signature"),
        (lambda: GroupedModules("net = 1", signature="f() -> y"), "does not define `model`"),
        (lambda: GroupedStmts("1", num_threads=(1, 1)), "each number of threads once"),
        (lambda: GroupedStmts("1", num_threads=0), "not a positive integer"),
        (lambda: TimerArgs("1", language="fortran"), "neither python nor c++"),
        (lambda: TimerArgs("1", global_setup="#include <x>"), "belongs to C++"),
        (lambda: parse_stmts("Python | C++\n--- | ---\na | b"), "the header must be"),
        (lambda: flatten({"a": 3}), "expected a snippet"),
        (lambda: GroupedStmts(lambda: 1), "a lambda has no name"),
    ],
)
def test_mistakes_are_reported_where_they_are_written(make, says):
    with pytest.raises(SnippetError) as caught:
        make()
    assert says in str(caught.value)


def test_a_statement_with_a_syntax_error_is_left_to_the_run():
    snippet = GroupedStmts("y = (", setup=XW, signature="f(x) -> y")
    assert cases_of(snippet)[0].stmt == "y = ("


def test_a_mistake_in_a_users_file_names_the_line(tmp_path):
    path = tmp_path / "bench.py"
    path.write_text(
        "from opbench.snippets import GroupedStmts\n\nb = GroupedStmts('y = x', signature='f')\n"
    )
    with pytest.raises(Exception, match=r"bench.py line 3: a signature is written 'f\(x, w\)"):
        targets_from(path)


def test_timer_args_take_torchs_language_and_give_timers_arguments():
    class Torchs:
        name = "CPP"

    args = TimerArgs("x;", language=Torchs(), label="l")
    assert args.language is Language.CPP
    assert args.as_dict == {
        "stmt": "x;", "setup": "", "num_threads": 1, "language": "c++", "label": "l",
    }  # fmt: skip


def test_definitions_survive_the_way_through_json():
    import json

    snippet = GroupedStmts("y = x * w", "auto y = x * w;", XW, "f(x, w) -> y", True, True, (1, 2))
    assert GroupedBenchmark.from_dict(json.loads(json.dumps(snippet.to_dict()))) == snippet


def test_plain_functions_are_called_as_the_signature_says(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from opbench.snippets import GroupedSetup, GroupedStmts\n"
        "def double(x):\n    return x * 2\n"
        "b = GroupedStmts(double, setup=GroupedSetup('x = 21'), signature='f(x) -> y')\n"
    )
    (case,) = expand(targets_from(path).definitions)
    assert case.stmt == "y = double(x)"
    assert "from mine import double" in case.setup
    assert case.module is not None


def test_the_original_api_materializes_labelled_timer_args():
    snippets = {"add": GroupedStmts("y = x * w", "auto y = x * w;", XW, num_threads=(1, 2))}
    found = materialize(snippets)
    assert [label for label, _, _ in found] == [("add",)] * 4
    assert [(labels.as_dict["language"], args.num_threads) for _, labels, args in found] == [
        ("Python", 1), ("Python", 2), ("C++", 1), ("C++", 2),
    ]  # fmt: skip
    assert all(labels.runtime is RuntimeMode.EAGER for _, labels, _ in found)


def test_the_standard_set_is_broad_half_cpp_and_valid():
    from opbench.define.suites import load

    cases = expand(load("snippets"))
    assert 170 <= len(cases) <= 190
    assert sum(case.language == "cpp" for case in cases) * 2 == len(cases)
    for case in cases:
        if case.language == "python":
            ast.parse(case.setup)
            ast.parse(case.stmt)
    topics = {case.name.split(".")[0] for case in cases}
    assert topics == {
        "empty", "math", "movement", "reduction", "indexing", "views", "nn", "training",
        "inference",
    }  # fmt: skip


def test_every_variant_of_the_example_is_spelled_once():
    snippet = GroupedStmts("y = x * w", "auto y = x * w;", XW, "f(x, w) -> y", True, True)
    labels = [variant.labels for variant in variants(snippet)]
    assert len(labels) == len(set(labels)) == 8
