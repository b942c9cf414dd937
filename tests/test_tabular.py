from queen_sdk.tabular import number, table


def test_words_stand_left_and_numbers_right() -> None:
    assert table(["system", "EM", "source"], [["a", "1.5", "us"], ["longer", "100.0", "x"]]) == (
        "| system |    EM | source |\n"
        "|--------|------:|--------|\n"
        "| a      |   1.5 | us     |\n"
        "| longer | 100.0 | x      |"
    )


def test_a_figure_has_as_many_digits_as_asked_for_and_none_is_a_dash() -> None:
    assert (number(61.57), number(3), number(61.57, 2)) == ("61.6", "3.0", "61.57")
    assert number(None) == number(None, 2) == "-"
