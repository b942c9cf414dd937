import time

import pytest
from measuring.clock import faster, interleaved, percentiles


def test_every_input_goes_through_all_rows_in_turn() -> None:
    seen: list[tuple[str, int]] = []
    rows = {name: (lambda one, name=name: seen.append((name, one))) for name in "AB"}
    spent = interleaved(rows, [1, 2], repetitions=2, warm_up=[])
    assert seen == [("A", 1), ("B", 1), ("A", 2), ("B", 2)] * 2
    assert [len(seconds) for seconds in spent.values()] == [2, 2]


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
