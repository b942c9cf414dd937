from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]
torch = pytest.importorskip("torch", reason="needs the extra bench")

from measuring.contenders import Batches, export_graphs, in_one_run, load_networks  # noqa: E402
from measuring.encoders import encoder, tokenizer_file  # noqa: E402
from measuring.texts import made_up  # noqa: E402


def test_the_quick_run_prints_the_table_and_draws_it(run_quickly: Callable[..., Any]) -> None:
    done = run_quickly("run_vs_queen", "--device", "cpu")
    ratios = done.figures["ratios"]
    for suffix in ("", "_padded"):
        assert ratios[f"queen_over_run_bert_base{suffix}"] > 0
        assert ratios[f"queen_int8_small_over_run_bert_base{suffix}"] > 0
    rows = [(row["encoder"], row["system"].split(",")[0]) for row in done.figures["rows"]]
    torch_rows = [
        (name + padding, system)
        for name in ("BERT-base", "small")
        for padding in ("", ", no padding")
        for system in ("bare encoder (the limit)", "RUN", "QUEEN")
    ]
    assert rows[:12] == torch_rows
    assert set(rows[12:]) == {("small", "QUEEN")}  # only the embedded bundle: nothing is exported
    assert "random weights of the shape of bert-base-zh" in done.markdown
    assert "made-up dialogues" in done.markdown
    assert "| BERT-base | QUEEN (paper, V100) | 2.13 |" in done.markdown
    assert [path.name for path in done.pictures] == ["run_vs_queen.png"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    folder: Path = tmp_path_factory.mktemp("tiny")
    directory, about = encoder("tiny", None, folder)
    assert "random weights" in about
    maker = Batches(tokenizer_file(directory, folder / "tokenizer"), "cpu")
    return directory, maker.make(made_up("zh", 6), 4)


def test_the_networks_share_one_encoder_and_see_the_same_dialogues(
    tiny: tuple[Path, list[Any]],
) -> None:
    directory, batches = tiny
    bare, run, queen = load_networks(directory, "cpu")
    assert run.bert is bare
    assert queen.bert is bare
    assert not run.training and not queen.training  # noqa: PT018
    assert [len(batch.singles) for batch in batches] == [4, 2]
    for batch in batches:
        assert batch.queen["input_ids"].shape[1] > batch.run["input_ids"].shape[1]  # the query
        assert len(batch.decode_run()) == len(batch.decode_queen()) == len(batch.singles)


def test_an_encoder_without_padding_gives_the_same_vectors_and_scores(
    tiny: tuple[Path, list[Any]],
) -> None:
    directory, batches = tiny
    bare, _, queen = load_networks(directory, "cpu")
    unpadded, _, other = load_networks(directory, "cpu", padding=False)
    for part in ("projection", "ends"):
        getattr(other, part).load_state_dict(getattr(queen, part).state_dict())
    batch = batches[0]
    plain = {k: batch.queen[k] for k in ("input_ids", "attention_mask", "token_type_ids")}
    seen = plain["attention_mask"].bool()
    assert not seen.all()
    with torch.inference_mode():
        expected = bare(**plain).last_hidden_state[seen]
        torch.testing.assert_close(unpadded(**plain).last_hidden_state[seen], expected)
        scores, others = queen(**batch.queen), other(**batch.queen)
    for k, single in enumerate(batch.singles):
        own = (slice(None), *map(slice, (single.history_index.shape[1],
                                         single.utterance_index.shape[1])))  # fmt: skip
        torch.testing.assert_close(others[k][own], scores[k][own])


def test_exported_graphs_run_the_same_batches(tiny: tuple[Path, list[Any]], tmp_path: Path) -> None:
    directory, batches = tiny
    paths = export_graphs(directory, tmp_path, batches, half=False)
    assert set(paths) == {"float32", "int8"}
    scores = in_one_run(paths["float32"], 1, ["cpu"])(batches[0])
    assert scores.shape[:2] == (4, 4)  # type: ignore[attr-defined]
