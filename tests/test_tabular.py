from queen_sdk.tabular import number, table


def test_words_stand_left_and_numbers_right() -> None:
    assert table(["system", "EM", "source"], [["a", "1.5", "us"], ["longer", "100.0", "x"]]) == (
        "| system |    EM | source |\n"
        "|--------|------:|--------|\n"
        "| a      |   1.5 | us     |\n"
        "| longer | 100.0 | x      |"
    )


def test_a_figure_has_one_digit_and_none_is_a_dash() -> None:
    assert (number(61.55), number(3), number(None)) == ("61.5", "3.0", "-")
