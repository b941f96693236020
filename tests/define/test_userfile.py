"""Users' files, read for real: each test starts the short-lived process that imports one."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from opbench.case import Case
from opbench.define.bench import bench
from opbench.define.collecting import UserFileError
from opbench.define.expand import expand
from opbench.define.userfile import targets_from
from opbench.plan.groups import Baseline, groups


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def cases(path: Path, **options) -> list[Case]:
    return expand(targets_from(path).definitions, **options)


def run(case: Case, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Execute a case in this process, as a worker's child would."""
    assert case.module is not None
    monkeypatch.setitem(sys.modules, "opbench", SimpleNamespace(bench=bench, versus=print))
    monkeypatch.delitem(sys.modules, case.module.module, raising=False)
    monkeypatch.syspath_prepend(case.module.root)
    names: dict = {"seed": case.seed}
    for source in (case.globals, case.setup, case.before, case.stmt):
        exec(source, names)
    return names


def test_a_plain_function_is_called_with_its_axes_as_literals(tmp_path):
    path = write(
        tmp_path,
        "plain.py",
        "import opbench as ob\n"
        "@ob.bench(n=[1, 2], mode=['it\\'s'], axes={'fast': [True], 'x': [0.5, None]})\n"
        "def f(n, mode, fast, x): pass\n"
        "@ob.bench\n"
        "def g(): pass\n",
    )
    found = cases(path)
    assert [case.id for case in found] == [
        "plain/f[n=1,mode=it's,fast=true,x=0.5]/call",
        "plain/f[n=1,mode=it's,fast=true,x=none]/call",
        "plain/f[n=2,mode=it's,fast=true,x=0.5]/call",
        "plain/f[n=2,mode=it's,fast=true,x=none]/call",
        "plain/g/call",
    ]
    assert found[0].stmt == 'f(n=1, mode="it\'s", fast=True, x=0.5)'
    assert "from plain import f" in found[0].globals
    assert found[0].framework == "python"
    assert found[0].preload == ()
    assert found[0].module is not None
    assert found[0].module.root == str(tmp_path)


def test_a_generator_sets_up_and_yields_what_is_called(tmp_path, monkeypatch):
    path = write(
        tmp_path,
        "generators.py",
        "import opbench as ob\n"
        "@ob.bench(axes={'n': [3]})\n"
        "def call(n):\n"  # a name that the set-up uses itself
        "    seen = []\n"
        "    yield lambda: seen.append(n) or seen\n",
    )
    (case,) = cases(path)
    assert case.setup.endswith("_gen = call_(n=3)\ncall = next(_gen)")
    assert case.stmt == "call()"
    assert run(case, monkeypatch)["call"]() == [3, 3]


@pytest.mark.parametrize(
    ("body", "stmt"),
    [
        ("return n, n", "f(*args)"),
        ("return {'a': n, 'b': n}", "f(**args)"),
        ("return dict(a=n, b=n)", "f(**args)"),
        ("pair = (n, n)\n    return pair", "f(*args, **kwargs)"),
        ("pair = {'b': n, 'a': n}\n    return pair", "f(*args, **kwargs)"),
    ],
)
def test_inputs_are_made_untimed_and_unpacked_as_they_are(tmp_path, monkeypatch, body, stmt):
    path = write(
        tmp_path,
        f"inputs_{abs(hash(body))}.py",
        f"import opbench as ob\nseen = []\ndef make(n):\n    {body}\n"
        "@ob.bench(axes={'n': [7]}, inputs=make)\ndef f(a, b): seen.append((a, b))\n",
    )
    (case,) = cases(path)
    assert case.stmt == stmt
    names = run(case, monkeypatch)
    assert names["f"].__globals__["seen"] == [(7, 7)]


def test_relative_imports_resolve_and_every_module_of_the_project_counts(tmp_path):
    write(tmp_path, "pkg/__init__.py", "")
    helper = write(tmp_path, "pkg/helper.py", "VALUE = 1\n")
    write(tmp_path, "pkg/unused.py", "raise SystemError\n")
    write(tmp_path, "pkg/sub/__init__.py", "")
    path = write(
        tmp_path,
        "pkg/sub/speed.py",
        "import opbench as ob\nfrom ..helper import VALUE\n@ob.bench\ndef f(): return VALUE\n",
    )
    (before,) = cases(path)
    assert before.module is not None
    assert before.module.module == "pkg.sub.speed"
    assert before.module.root == str(tmp_path)
    assert cases(path)[0].hash == before.hash
    helper.write_text("VALUE = 22\n")
    assert cases(path)[0].hash != before.hash


def test_the_same_project_in_another_folder_is_the_same_case(tmp_path):
    text = "import opbench as ob\nimport helper\n@ob.bench\ndef f(): pass\n"
    found = []
    for place in ("here", "there"):
        write(tmp_path, f"{place}/helper.py", "A = 1\n")
        found += cases(write(tmp_path, f"{place}/bench.py", text))
    assert found[0].module.root != found[1].module.root
    assert found[0].hash == found[1].hash


def test_libraries_below_the_project_folder_do_not_count(tmp_path):
    library = write(tmp_path, "env/lib/site-packages/lib_below.py", "A = 1\n")
    path = write(
        tmp_path,
        "bench.py",
        "import sys, os, opbench as ob\n"
        "sys.path.append(os.path.dirname(os.path.abspath(__file__)) + '/env/lib/site-packages')\n"
        "import lib_below\n@ob.bench\ndef f(): pass\n",
    )
    before = cases(path)[0].hash
    library.write_text("A = 2\n")
    assert cases(path)[0].hash == before


def test_run_at_top_level_does_nothing_and_prints_do_not_mix_in(tmp_path):
    path = write(
        tmp_path,
        "noisy.py",
        "import os, sys\nimport opbench as ob\nprint('{\"error\": 1}')\n"
        "sys.stderr.write('noise')\nos.write(1, b'raw')\n"
        "@ob.bench\ndef f(): pass\n"
        "table = ob.run(axes={'n': [1]})\nprint(table.frame['x'].median() * 1e6, len(table))\n"
        "for row in ob.load(): print(row)\n"
        "with ob.anything() as t: t[1] = 2\n",
    )
    assert [case.id for case in cases(path)] == ["noisy/f/call"]


def test_benchmarks_of_an_imported_file_stay_its_own(tmp_path):
    write(tmp_path, "other.py", "import opbench as ob\n@ob.bench\ndef f(): pass\n")
    text = "import opbench as ob\nfrom other import f\n@ob.bench\ndef g(): f()\n"
    path = write(tmp_path, "mine.py", text + "ob.bench(f, name='theirs')\n")
    found = cases(path)
    assert [case.name for case in found] == ["g", "theirs"]
    assert "from other import f" in found[1].globals


def test_a_file_whose_name_is_no_identifier_still_works(tmp_path, monkeypatch):
    path = write(tmp_path, "bench-gemm.py", "import opbench as ob\n@ob.bench\ndef f(): return 5\n")
    (case,) = cases(path)
    assert case.suite == "bench-gemm"
    run(case, monkeypatch)


MISTAKES = {
    "syntax": ("def f(:\n", "line 1: SyntaxError: invalid syntax"),
    "import": ("import opbench\nimport no_such_thing\n", "line 2: ModuleNotFoundError: No module"),
    "relative": ("from . import x\n", "__init__.py"),
    "exit": ("import sys\nsys.exit(3)\n", "line 2: called sys.exit(3) while being imported; put"),
    "raises": ("x = 1\nraise ValueError('bad\\nworse')\n", "line 2: ValueError: bad"),
    "nothing": ("import opbench\n", "defines no benchmark; decorate a function with @ob.bench"),
    "lambda": ("import opbench as ob\nob.bench(lambda: 1)\n", "line 2: a lambda has no name; give"),
    "nested": (
        "import opbench as ob\ndef outer(k):\n  @ob.bench\n  def f(): return k\n"
        "outer(open(__file__))\n",
        "its source does not suffice: it uses `k`, an object of type TextIOWrapper",
    ),
    "method": ("import opbench as ob\nclass A:\n  @ob.bench\n  def f(self): pass\n", "is a method"),
    "bound inputs": (
        "import opbench as ob\n@ob.bench(inputs='abc'.upper)\ndef f(x): pass\n",
        "f (the inputs function of f) has no name to import it by; wrap it in a function",
    ),
    "class": ("import opbench as ob\n@ob.bench\nclass A: pass\n", "not a torch.nn.Module"),
    "two-yields": (
        "import opbench as ob\n@ob.bench\ndef f():\n    yield int\n    yield float\n",
        "line 2: f yields more than once",
    ),
    "async": ("import opbench as ob\n@ob.bench\nasync def f(): pass\n", "is asynchronous"),
    "values": (
        "import opbench as ob\n@ob.bench(n={'a': object()})\ndef f(n): pass\n",
        "f: axis n has a value that a fresh process cannot make: an object of type object; use",
    ),
    "nameless values": (
        "import opbench as ob\n@ob.bench(n=[lambda: 1])\ndef f(n): pass\n",
        'which has no name; give it one: n={"name": …}',
    ),
    "values of one name": (
        "import opbench as ob, math, cmath\n@ob.bench(f=[math.sqrt, cmath.sqrt])\n"
        "def call(f): pass\n",
        "axis f has the value 'sqrt' twice; give them names",
    ),
    "inputs": (
        "import opbench as ob\nob.versus(min, max, inputs=[1, 2], n=[1])\n",
        "min: inputs= must be a function that returns the arguments, not an object of type list",
    ),
    "a list of functions": (
        "import opbench as ob\nob.versus([len, sum], [max])\n",
        "ob.versus takes functions, one after the other, or one dict of them by name, not an "
        "object of type list",
    ),
    "one side": ("import opbench as ob\nob.versus(len)\n", "ob.versus compares two functions"),
    "group twice": (
        "import opbench as ob\n@ob.bench(group='a', axes={'group': [1]})\ndef f(group): pass\n",
        "f: group is given twice",
    ),
    "not a list": (
        "import opbench as ob\n@ob.bench(axes={'n': 'abc'})\ndef f(n): pass\n",
        "axis n needs a list of values, not 'abc'",
    ),
    "unknown axis": (
        "import opbench as ob\n@ob.bench(axes={'m': [1]})\ndef f(): pass\n",
        "f: the axis m is not a parameter of f",
    ),
    "unknown parameter": (
        "import opbench as ob\n@ob.bench\ndef f(n): pass\n",
        "the parameter n of f has no value; give it values, @ob.bench(n=[...])",
    ),
    "stage": (
        "import opbench as ob\n@ob.bench(stages=['backward'])\ndef f(): pass\n",
        "a function has the stages call, forward, not 'backward'; backward stages need inputs=",
    ),
    "option": (
        "import opbench as ob\n@ob.bench(input=len)\ndef f(): pass\n",
        "f: unknown option input; did you mean inputs=?",
    ),
    "stage as an axis": (
        "import opbench as ob\n@ob.bench(stage=['forward'])\ndef f(): pass\n",
        "did you mean stages=?",
    ),
    "twice": (
        "import opbench as ob\n@ob.bench\ndef f(): pass\n@ob.bench\ndef f(): pass\n",
        "both define f; give one a name=",
    ),
    "renamed": (
        "import opbench as ob\n@ob.bench\ndef f(): pass\ndel f\n",
        "keep the function under its own name",
    ),
    "written over": (
        "import opbench as ob\nfor k in (1, 2):\n    @ob.bench(name=f'f{k}')\n"
        "    def f(): return k\n",
        "registers f1: a fresh process would import `f` of mistaken, which is another function",
    ),
    "wrapped in passing": (
        "import functools\nimport opbench as ob\ndef f(n): return n\n"
        "ob.versus({'plain': f, 'cached': functools.lru_cache(f)}, n=[1])\n",
        "registers cached: a fresh process would import `f` of mistaken, which is another",
    ),
    "inputs wrapped in passing": (
        "import functools\nimport opbench as ob\ndef make(n): return (n,)\n"
        "@ob.bench(n=[1], inputs=functools.lru_cache(make))\ndef f(n): pass\n",
        "registers f (its inputs): a fresh process would import `make` of mistaken",
    ),
    "crash": ("import os\nprint('last words')\nos.abort()\n", "SIGABRT): last words"),
    "leaves": ("import os\nos._exit(7)\n", "importing it ended Python (exit code 7)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line(tmp_path, mistake):
    text, expected = MISTAKES[mistake]
    path = write(tmp_path, "mistaken.py", text)
    with pytest.raises(UserFileError) as caught:
        targets_from(path)
    message = str(caught.value)
    assert expected in message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_a_file_that_hangs_is_given_up(tmp_path):
    path = write(tmp_path, "hangs.py", "import time\ntime.sleep(600)\n")
    began = time.monotonic()
    with pytest.raises(UserFileError, match="did not end within 1 s"):
        targets_from(path, timeout=1)
    assert time.monotonic() - began < 300


def test_what_a_file_starts_does_not_keep_us_waiting(tmp_path):
    text = (
        "import os, time, threading, opbench as ob\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "if os.fork() == 0: time.sleep(600)\n"
        "@ob.bench\ndef f(): pass\n"
    )
    began = time.monotonic()
    assert len(cases(write(tmp_path, "starts.py", text))) == 1
    assert time.monotonic() - began < 300


def test_a_missing_file_a_taken_name_and_a_missing_interpreter(tmp_path):
    with pytest.raises(UserFileError, match="file not found"):
        targets_from(tmp_path / "nowhere.py")
    taken = write(tmp_path, "json.py", "")
    with pytest.raises(UserFileError, match="the name of the file is taken"):
        targets_from(taken)
    with pytest.raises(UserFileError, match="cannot start /no/python"):
        targets_from(taken, python="/no/python")


def test_a_torch_module_has_the_stages_of_training_and_moves_to_a_device(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    path = write(
        tmp_path,
        "modules.py",
        "import opbench as ob, torch\n"
        "def make(batch, device): return (torch.randn(batch, 4, device=device),)\n"
        "@ob.bench(axes={'batch': [2], 'width': [3], 'threads': [1]}, inputs=make)\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(4, width)\n"
        "    def forward(self, x): return self.layer(x)\n"
        "@ob.bench\n"
        "def f(): return torch.zeros(1)\n",
    )
    found = cases(path)
    assert [case.stage for case in found] == ["forward", "backward", "forward_backward", "call"]
    assert {case.framework for case in found} == {"torch"}
    assert "torch" in found[0].preload
    assert "net = Net(width=3)" in found[0].setup
    assert "args = make(batch=2, device='cpu')" in found[0].setup
    names = run(found[1], monkeypatch)
    assert found[1].timing_mode == "each"
    assert names["net"].layer.weight.grad.shape == (3, 4)
    run(found[2], monkeypatch)
    on_gpu = expand(targets_from(path).definitions, device="cuda")
    assert '.to("cuda")' in on_gpu[0].setup
    assert not on_gpu[0].unsupported
    assert not on_gpu[-1].unsupported  # it may know where to put its tensors


def test_the_inputs_of_a_module_that_is_moved_have_to_be_asked_for_there(tmp_path):
    path = write(
        tmp_path,
        "bench_net.py",
        "import torch\n"
        "import opbench as ob\n"
        "def make(): return torch.zeros(2, 4)\n"
        "@ob.bench(inputs=make)\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x): return x\n",
    )
    for device, reason in (("cpu", ""), ("cuda", "make has no parameter `device`")):
        found = expand(targets_from(path).definitions, device=device)
        assert found
        assert all(reason in case.unsupported for case in found)
        assert all(bool(case.unsupported) is bool(reason) for case in found)


def test_an_axis_reaches_the_function_as_well_as_its_inputs(tmp_path, monkeypatch):
    path = write(
        tmp_path,
        "both.py",
        "import opbench as ob\nseen = []\n"
        "def double(x): return 2 * x\ndef triple(x): return 3 * x\n"
        "def shown(n): return n, n + 1\n"
        "def hidden(n):\n    made = n, n + 1\n    return made\n"
        "def named(n): return dict(a=n, b=n + 1)\n"
        "def positional(n, b): return n, b\n"
        "def call(a, b, impl, n=0): seen.append((a, b, impl(a), n))\n"
        "for make in (shown, hidden, named):\n"
        "    ob.bench(call, name=make.__name__, n=[5], impl=[double, triple], inputs=make)\n"
        "@ob.bench(n=[5], b=[7], inputs=positional)\n"
        "def filled(a, b): seen.append((a, b))\n",
    )
    found = cases(path)
    assert [case.id for case in found[:2]] == [
        "both/shown[n=5,impl=double]/call",
        "both/shown[n=5,impl=triple]/call",
    ]
    for case, expected in zip(found, [(5, 6, 10, 5), (5, 6, 15, 5)] * 3):
        assert run(case, monkeypatch)["call_"].__globals__["seen"] == [expected]
    # What the inputs fill is not passed again, although an axis has its name.
    assert found[-1].stmt == "filled(*args)"
    assert run(found[-1], monkeypatch)["filled"].__globals__["seen"] == [(5, 7)]


def test_values_of_axes_may_be_tuples_functions_classes_and_members_of_enumerations(
    tmp_path, monkeypatch
):
    path = write(
        tmp_path,
        "values.py",
        "import opbench as ob, enum, math, functools\nfrom fractions import Fraction\n"
        "class Mode(enum.Enum):\n    FAST = 1\n"
        "def half(x): return x / 2\n"
        "@ob.bench(shape=[(2, 3)], f=[math.sqrt, half], kind=[Fraction], mode=[Mode.FAST],\n"
        "          named={'third': lambda x: x / 3, 'inf': math.inf})\n"
        "def g(shape, f, kind, mode, named): return shape, f(4), kind(1, 2), mode.value, named\n",
    )
    found = cases(path)
    assert [case.axes for case in found[:2]] == [
        {"shape": "2x3", "f": "sqrt", "kind": "Fraction", "mode": "FAST", "named": "third"},
        {"shape": "2x3", "f": "sqrt", "kind": "Fraction", "mode": "FAST", "named": "inf"},
    ]
    # As `-a f=half` says it.
    (case,) = cases(path, axes={"f": ["half"], "named": ["inf"]})
    names = run(case, monkeypatch)
    shape, value, kind, mode, named = eval(case.stmt, names)
    assert (shape, value, str(kind), mode, named) == ((2, 3), 2.0, "1/2", 1, float("inf"))
    (case,) = cases(path, axes={"f": ["half"], "named": ["third"]})
    assert eval(case.stmt, run(case, monkeypatch))[4](9) == 3


def test_lambdas_and_nested_functions_are_known_by_their_source(tmp_path, monkeypatch):
    path = write(
        tmp_path,
        "sources.py",
        "import opbench as ob, math\nSCALE = 3\n"
        "def helper(x): return SCALE * x\n"
        "def outer(k):\n"
        "    @ob.bench(n=[2], inputs=lambda n: (n, n))\n"
        "    def inner(a, b): return helper(a) + k + math.floor(b)\n"
        "outer(100)\n"
        "ob.bench(lambda n: n * SCALE, name='times', n=[4])\n",
    )
    inner, times = cases(path)
    assert inner.id == "sources/inner[n=2]/call"
    names = run(inner, monkeypatch)
    assert eval(inner.stmt, names) == 6 + 100 + 2
    assert times.id == "sources/times[n=4]/call"
    assert eval(times.stmt, run(times, monkeypatch)) == 12


def test_what_a_wrapper_returns_is_measured_and_not_what_is_inside_it(tmp_path, monkeypatch):
    # `functools.wraps`, `torch.compile` and `jax.jit` keep the name of the function inside.
    write(tmp_path, "work.py", "def work(): return 'inside'\n")
    path = write(
        tmp_path,
        "wrapped.py",
        "import functools\nimport opbench as ob\nfrom work import work\n"
        "def wrap(function):\n"
        "    @functools.wraps(function)\n"
        "    def inside(): return 'around', function()\n"
        "    return inside\n"
        "wrapped = wrap(work)\n"
        "ob.versus({'work': work, 'wrapped': wrapped})\n"
        "@wrap\n@ob.bench\ndef above(): return 'mine'\n"
        "def nameless(function): return lambda: function()\n"
        "@nameless\n@ob.bench\ndef below(): return 'mine'\n",
    )
    found = {case.name: case for case in cases(path)}
    names = run(found["wrapped"], monkeypatch)
    assert names["wrapped"]() == ("around", "inside")
    assert run(found["work"], monkeypatch)["work"]() == "inside"
    # A decorator above ours belongs to the function under its name.
    assert run(found["above"], monkeypatch)["above"]() == ("around", "mine")
    assert "below" in found


def test_functions_of_a_group_are_compared_with_the_first_of_it(tmp_path):
    path = write(
        tmp_path,
        "grouped.py",
        "import opbench as ob\ndef make(n): return (n,)\n"
        "def plain(x): pass\n"
        "@ob.bench(group='attention', n=[1, 2], inputs=make)\ndef naive(x): pass\n"
        "@ob.bench(group='attention', n=[1, 2], inputs=make)\ndef flash(x): pass\n"
        "@ob.bench(group=[4, 8])\ndef conv(group): pass\n"
        "result = ob.versus(plain, naive, inputs=make, n=[1], metrics='time,memory')\n"
        "result.chart().save('nowhere.svg')\n",
    )
    targets = targets_from(path)
    ids = [case.id for case in expand(targets.definitions)]
    assert ids == [
        "grouped/naive[group=attention,n=1]/call",
        "grouped/naive[group=attention,n=2]/call",
        "grouped/flash[group=attention,n=1]/call",
        "grouped/flash[group=attention,n=2]/call",
        "grouped/conv[group=4]/call",
        "grouped/conv[group=8]/call",
        "grouped/plain[group=versus,n=1]/call",
        "grouped/naive[group=versus,n=1]/call",
    ]
    assert targets.suggested == {"baseline": "name=naive,plain"}
    assert targets.options == {"metrics": "time,memory"}
    assert not (tmp_path / "nowhere.svg").exists()


def test_the_names_of_compared_functions_choose_them_alone(tmp_path):
    text = (
        "import opbench as ob\ndef make(n): return (n,)\n"
        "def naive(n): pass\ndef fused(n): pass\ndef other(n): pass\n"
        "ob.versus(naive, fused, inputs=make, n=[1])\n"
        "ob.versus(other, fused, inputs=make, n=[1])\n"
        "ob.versus(other, naive, inputs=make, n=[1], group='mine')\n"
    )
    targets = targets_from(write(tmp_path, "compared.py", text))
    chosen = expand(targets.definitions, keep=["naive"])
    assert [case.id for case in chosen] == [
        "compared/naive[group=versus,n=1]/call", "compared/naive[group=mine,n=1]/call"
    ]  # fmt: skip
    planned = groups(expand(targets.definitions), Baseline.parse(targets.suggested["baseline"]))
    assert [[case.id.partition("/")[2] for case in group.cases] for group in planned] == [
        [f"{name}[group={group},n=1]/call" for name in names]
        for group, names in {
            "versus": ("naive", "fused"), "versus2": ("other", "fused"), "mine": ("other", "naive")
        }.items()
    ]  # fmt: skip
    assert [group.base for group in planned] == [0, 0, 0]
