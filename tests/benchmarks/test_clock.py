import time

import pytest
from measuring.clock import faster, interleaved, percentiles


def test_a_row_gets_all_inputs_before_the_next_and_every_other_time_they_go_backwards() -> None:
    seen: list[tuple[str, int]] = []
    rows = {name: (lambda one, name=name: seen.append((name, one))) for name in "AB"}
    spent = interleaved(rows, [1, 2], repetitions=3, warm_up=[])
    turns = {name: [(name, 1), (name, 1), (name, 2)] for name in "AB"}  # the first one untimed
    assert seen == [step for name in "ABBAAB" for step in turns[name]]
    assert [len(seconds) for seconds in spent.values()] == [3, 3]


def test_what_is_untimed_at_the_start_of_a_turn_is_not_counted() -> None:
    naps = iter([0.5, 0.0])
    spent = interleaved({"A": lambda _: time.sleep(next(naps))}, [0], repetitions=1, warm_up=[])
    assert spent["A"][0] < 0.5


def test_the_warm_up_is_not_counted() -> None:
    spent = interleaved({"A": time.sleep}, [0.0], repetitions=1, warm_up=[1.0])
    assert spent["A"][0] < 1.0


def test_the_device_is_waited_for_inside_the_time() -> None:
    spent = interleaved(
        {"A": lambda _: None}, [0], repetitions=1, synchronise=lambda: time.sleep(0.01)
    )
    assert spent["A"][0] >= 0.01


def test_faster_compares_inside_each_repetition() -> None:
    # The machine was ten times slower in the second repetition, for both.
    assert faster([1.0, 10.0, 1.0], [3.0, 30.0, 3.0]) == pytest.approx(3.0)


def test_percentiles_of_a_known_row() -> None:
    assert percentiles(range(101)) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
