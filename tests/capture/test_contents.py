"""The contents of recorded tensors: what steers the work comes back as it was."""

from __future__ import annotations

import pytest
from tests.late import late

from opbench.capture.reading import read
from opbench.suites.captured import makers

torch = late("torch")


@pytest.fixture(scope="module")
def replay():
    names: dict = {}
    exec(makers.CALL, names)
    return names


def recorded(tmp_path, work):
    import opbench

    with opbench.record(tmp_path / "c.jsonl"):
        work()
    return read(tmp_path / "c.jsonl").calls


def argument(tmp_path, work, operator, number=0):
    return next(c for c in recorded(tmp_path, work) if c.operator == operator).tensors[number]


def created(replay, spec):
    torch.manual_seed(1)
    return replay["tensor"](
        spec.shape, getattr(torch, spec.dtype), spec.strides, spec.values, offset=spec.offset
    )


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (lambda: torch.rand(3000) < 0.3, "runs"),
        (lambda: torch.rand(90, 100) < 0.5, "packed"),
        (lambda: torch.arange(600_000) % 7 < 3, "count"),
        (lambda: (torch.rand(3000, 1) < 0.5).expand(3000, 2), "runs"),
        (lambda: torch.ones(5000, dtype=torch.bool), "runs"),
    ],
)
def test_a_large_mask_selects_as_many_as_it_did(tmp_path, replay, made, kind):
    torch.manual_seed(0)
    mask = made()
    spec = argument(tmp_path, lambda: mask.nonzero(), "aten::nonzero")
    assert kind in spec.values
    again = created(replay, spec)
    assert again.shape == mask.shape
    assert int(again.sum()) == int(mask.sum())
    if kind != "count":
        assert again.equal(mask)
    else:  # in runs as long as they were
        runs = [int((m[1:] & ~m[:-1]).sum()) for m in (mask.reshape(-1), again.reshape(-1))]
        assert runs[1] == pytest.approx(runs[0], rel=0.01)


def test_without_values_a_mask_still_selects_as_many(tmp_path, replay):
    import opbench

    mask = torch.arange(100) % 3 == 0
    with opbench.record(tmp_path / "c.jsonl", values=False):
        mask.nonzero()
    spec = read(tmp_path / "c.jsonl").calls[0].tensors[0]
    assert spec.values == {"count": 34, "run": 1.0}
    assert int(created(replay, spec).sum()) == 34


def test_skewed_integers_are_as_skewed_again(tmp_path, replay):
    torch.manual_seed(0)
    ids = (torch.rand(20_000).reciprocal() - 1).clamp(max=4999).long()
    weight = torch.randn(5000, 4)
    spec = argument(tmp_path, lambda: torch.embedding(weight, ids), "aten::embedding", 1)
    again = created(replay, spec)
    assert len(again.unique()) == pytest.approx(len(ids.unique()), rel=0.02)
    for rank in (1, 10, 100, 1000):
        shares = [
            float(each.unique(return_counts=True)[1].sort(descending=True).values[:rank].sum())
            for each in (ids, again)
        ]
        assert shares[1] == pytest.approx(shares[0], rel=0.05)


def test_offsets_stay_monotone_and_keep_their_ends(tmp_path, replay):
    torch.manual_seed(0)
    offsets = torch.cat([torch.tensor([0]), torch.randint(1, 9, (3000,)).cumsum(0)])
    spec = argument(tmp_path, lambda: offsets.diff(), "aten::sub", 0)
    spec = argument(tmp_path, lambda: torch.sum(offsets), "aten::sum")
    again = created(replay, spec)
    assert (int(again[0]), int(again[-1])) == (0, int(offsets[-1]))
    assert bool((again[1:] > again[:-1]).all())


@pytest.mark.parametrize("descending", [False, True])
def test_sorted_floats_are_sorted_again(tmp_path, replay, descending):
    x = torch.randn(3, 6000).sort(descending=descending).values
    again = created(replay, argument(tmp_path, lambda: torch.sort(x), "aten::sort"))
    assert again.equal(again.sort(descending=descending).values)


def test_calls_that_differ_in_regime_stay_apart(tmp_path):
    x = torch.randn(500)
    few, many = torch.arange(400) % 100 == 0, torch.arange(400) % 4 != 0
    scattered, clustered = torch.arange(400) % 2 == 0, torch.arange(400) < 200

    def work():
        for each in (x, x.sort().values, torch.randn(500)):
            torch.sort(each)
        for mask in (few, many, scattered, clustered):
            mask.nonzero()

    calls = [call.operator for call in recorded(tmp_path, work)]
    # The sort that sorts the second one is the unsorted sort again.
    assert calls.count("aten::sort") == 2
    assert calls.count("aten::nonzero") == 4


def test_sparse_tensors_have_their_pattern_again(tmp_path, replay):
    dense = torch.zeros(40, 50)
    dense[torch.arange(40), torch.arange(40)] = 2.0

    def work():
        torch.sparse.mm(dense.to_sparse(), torch.ones(50, 2))
        torch.mv(dense.to_sparse_csr(), torch.ones(50))

    specs = [t for call in recorded(tmp_path, work) for t in call.tensors if t.layout]
    assert {"sparse_coo", "sparse_csr"} <= {spec.layout for spec in specs}
    for spec in specs:
        assert len(spec.parts) == (2 if spec.layout == "sparse_coo" else 3)
        made = replay["sparse"](
            spec.layout, spec.shape, [created(replay, part) for part in spec.parts], spec.coalesced
        )
        assert made.to_dense().bool().equal(dense.bool())


def test_a_call_that_turns_or_moves_its_argument_is_put_back(tmp_path):
    from opbench.cli.lookup import defined

    def work():
        torch.zeros(2, 3).transpose_(0, 1)
        torch.zeros(2, 3).unsqueeze_(0)
        torch.zeros(0).set_(torch.arange(4.0).untyped_storage(), 1, (2,), (1,))

    recorded(tmp_path, work)
    cases = defined([str(tmp_path / "c.jsonl")])
    tried = 0
    for case in cases:
        if not any(name in case.name for name in ("transpose_", "unsqueeze_", "set_", "in_order")):
            continue
        names: dict = {"seed": 0}
        exec(case.globals, names)
        exec(case.setup, names)
        for _ in range(3):
            exec(case.before, names)
            if "x0" in names:
                assert tuple(names["x0"].shape) in ((2, 3), (0,))
            exec(case.stmt, names)
        tried += 1
    assert tried >= 4


def test_a_jagged_tensor_is_recorded_as_the_work_on_its_parts(tmp_path):
    parts = [torch.randn(3, 4), torch.randn(5, 4)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    weight = torch.randn(4, 2)
    calls = recorded(tmp_path, lambda: torch.relu(nested @ weight))
    assert not [call.name for call in calls if call.obstacle]
    assert any(t.shape == (8, 4) for call in calls for t in call.tensors)
