"""A recording does not keep torch's modules from their fused operators."""

from __future__ import annotations

import pytest
from tests.late import Late, late

from opbench.capture.reading import read, read_api

torch = late("torch")
unseen = Late("opbench.capture.api.unseen")


def inference():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 1).eval()
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x, padding = torch.ones(2, 3, 8), torch.tensor([[False] * 3, [False, False, True]])
    with torch.inference_mode():
        model(x)
        model(x, src_key_padding_mask=padding)  # goes through nested tensors
        attention(x, x, x)


FUSED = {"_transformer_encoder_layer_fwd", "_native_multi_head_attention"}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_inference_is_recorded_as_it_runs(tmp_path):
    import opbench

    with opbench.record(tmp_path / "c.jsonl"):
        inference()
    counts = {}
    for call in read(tmp_path / "c.jsonl").calls:
        name = call.operator.removeprefix("aten::")
        counts[name] = counts.get(name, 0) + call.count
    assert set(counts) >= FUSED
    assert counts["_transformer_encoder_layer_fwd"] == 2
    assert not {"linear", "addmm", "softmax", "_softmax"} & set(counts)
    with opbench.record_api(tmp_path / "a.jsonl"):
        inference()
    names = {call.name.rpartition(".")[2] for call in read_api(tmp_path / "a.jsonl")}
    assert names >= FUSED
    assert "multi_head_attention_forward" not in names


def test_a_mode_of_the_programs_own_is_seen_as_ever():
    class Own(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    original, x = torch.overrides.has_torch_function, (torch.ones(1),)
    with unseen.UnseenMode():
        assert not torch.overrides.has_torch_function(x)
        with Own():
            assert torch.overrides.has_torch_function(x)
    with Own(), unseen.UnseenMode():
        assert torch.overrides.has_torch_function(x)
    assert torch.overrides.has_torch_function is original
