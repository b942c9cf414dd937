from pathlib import Path

import pytest

from queen_sdk.evaluation.calibration import Judged, calibrate, draw_reliability


def results(confidence: float, right: int, of: int) -> list[Judged]:
    return [Judged(confidence, k < right, False) for k in range(of)]


def test_confidences_that_come_true_have_no_error() -> None:
    found = calibrate(results(0.9, 9, 10) + results(0.35, 7, 20))
    assert found is not None
    assert found.ece == pytest.approx(0)
    assert [b.count for b in found.bins] == [20, 10]


def test_the_error_is_the_distance_weighted_by_how_many_claim_it() -> None:
    found = calibrate(results(1.0, 5, 10) + results(0.25, 10, 30))
    assert found is not None
    assert found.ece == pytest.approx(100 * (10 * 0.5 + 30 * abs(0.25 - 1 / 3)) / 40)


def test_below_the_minimum_the_utterance_goes_on_as_it_came() -> None:
    sure = [Judged(0.95, True, False)] * 4
    unsure = [Judged(0.6, False, True)] * 4 + [Judged(0.6, True, False)] * 2
    found = calibrate(sure + unsure)
    assert found is not None
    at = {row.minimum: row for row in found.minima}
    assert (at[0.5].coverage, at[0.5].exact_match) == (100, 60)
    assert at[0.9].coverage == 40
    assert at[0.9].exact_match_covered == 100
    assert at[0.9].exact_match == 80


def test_a_minimum_that_nothing_reaches_covers_nothing() -> None:
    found = calibrate([Judged(0.2, True, False)])
    assert found is not None
    assert (found.minima[0].coverage, found.minima[0].exact_match_covered) == (0, None)


def test_without_results_there_is_nothing_to_say() -> None:
    assert calibrate([]) is None


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra bench")
    found = calibrate(results(0.9, 9, 10) + results(0.35, 7, 20))
    assert found is not None
    draw_reliability(found, "made up", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
