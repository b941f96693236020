"""The messages between runner and worker: exact round trips, and nothing else gets through."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.worker import protocol

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False).filter(lambda number: abs(number) != float("inf")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
messages = st.dictionaries(st.text(), json_values, max_size=6)


@settings(max_examples=50)
@given(messages)
def test_every_message_comes_back_as_it_was_in_one_line(message):
    line = protocol.encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert protocol.decode(line) == message


@given(st.binary())
def test_garbage_is_a_message_or_a_protocol_error_and_nothing_else(garbage):
    try:
        assert isinstance(protocol.decode(garbage), dict)
    except protocol.ProtocolError:
        pass


@pytest.mark.parametrize(
    "line", [b"", b"[]\n", b"1\n", b'{"a": NaN}\n', b'{"a": 1', b"\xff\n", b"[" * 100_000, b"null"]
)
def test_what_is_not_a_message_is_refused(line):
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(line)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_json_cannot_carry_are_not_sent(value):
    with pytest.raises(ValueError):
        protocol.encode({"value": value})


@settings(max_examples=50)
@given(messages)
def test_validation_answers_with_the_message_or_a_protocol_error(message):
    for vocabulary, key in ((protocol.OPERATIONS, "op"), (protocol.EVENTS, "event")):
        try:
            assert protocol.validate(message, vocabulary, key) is message
        except protocol.ProtocolError:
            pass


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"op": "explode"},
        {"op": ["open"]},
        {"op": "open", "session": 1},
        {"op": "open", "session": 1, "memory_limit": True},
        {"op": "open", "session": "1", "memory_limit": 0},
        {"op": "block", "metric": "time", "n": 1.0},
        {"op": "prepare", "case": [], "seed": 0},
    ],
)
def test_an_operation_needs_its_fields_in_their_types(message):
    with pytest.raises(protocol.ProtocolError):
        protocol.validate(message, protocol.OPERATIONS, "op")


def test_whole_numbers_are_fine_where_seconds_are_meant():
    message = {"op": "warmup", "seconds": 1, "block_seconds": 0.002}
    assert protocol.validate(message, protocol.OPERATIONS, "op") is message


def channels() -> tuple[protocol.Channel, socket.socket]:
    ours, theirs = protocol.session_pair()
    return protocol.Channel(ours), theirs


def test_lines_that_arrive_in_pieces_or_together_are_told_apart():
    channel, theirs = channels()
    theirs.sendall(b'{"a":')
    with pytest.raises(protocol.Silent):
        channel.receive(timeout=0.01)
    theirs.sendall(b'1}\n{"b":2}\n{"c"')
    assert channel.receive(timeout=60) == {"a": 1}
    assert channel.receive(timeout=60) == {"b": 2}
    theirs.close()
    with pytest.raises(protocol.Closed):
        channel.receive(timeout=60)


def test_a_reader_that_is_gone_is_told_as_closed():
    channel, theirs = channels()
    theirs.close()
    with pytest.raises(protocol.Closed):
        channel.send({"op": "block"})


@pytest.mark.parametrize("number", [b"1e400", b"-1e999", b"9" * 400])
def test_numbers_beyond_what_a_float_holds_are_refused(number):
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(b'{"value": %s}\n' % number)


def test_an_answer_needs_the_token_of_its_question():
    answer = {"ok": True, "seconds": 0.5, "token": "of this question"}
    protocol.check_answer(answer, "prepare", "of this question")
    for token in ("of another", None):
        with pytest.raises(protocol.ProtocolError, match="nobody asked"):
            protocol.check_answer({**answer, "token": token}, "prepare", "of this question")


def test_a_line_without_end_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(protocol, "LONGEST_LINE", 1000)
    channel, theirs = channels()
    theirs.sendall(b"x" * 1001)
    with pytest.raises(protocol.ProtocolError, match="more than 1000 bytes"):
        channel.receive(timeout=60)
