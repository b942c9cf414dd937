from pathlib import Path

import pytest
from everything import DOCS, PAGES, refresh, refreshed

PAGE_TEXT = "before\n<!-- begin latency -->\nold\n<!-- end latency -->\nafter\n"


def test_a_block_is_replaced_between_its_markers() -> None:
    fresh = refreshed(PAGE_TEXT, "latency", "| new |\n")
    assert fresh == "before\n<!-- begin latency -->\n| new |\n<!-- end latency -->\nafter\n"
    assert refreshed(fresh, "latency", "| new |") == fresh


def test_a_page_without_the_block_is_an_error() -> None:
    with pytest.raises(ValueError, match="one block called scaling, it has 0"):
        refreshed(PAGE_TEXT, "scaling", "text")


def test_only_results_that_exist_are_copied(tmp_path: Path) -> None:
    page = tmp_path / PAGES["latency"]
    page.write_text(PAGE_TEXT, encoding="utf-8")
    assert refresh(tmp_path, tmp_path) == []
    assert page.read_text(encoding="utf-8") == PAGE_TEXT
    (tmp_path / "latency.md").write_text("figures\\1\n", encoding="utf-8")
    assert refresh(tmp_path, tmp_path) == ["latency"]
    assert "figures\\1\n<!-- end" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_documentation_has_a_block_for_every_benchmark(name: str) -> None:
    page = (DOCS / PAGES[name]).read_text(encoding="utf-8")
    assert page.count(f"<!-- begin {name} -->") == page.count(f"<!-- end {name} -->") == 1
