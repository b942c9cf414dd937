import pytest

pytestmark = pytest.mark.train
torch = pytest.importorskip("torch", reason="needs the extra train")

from torch import nn  # noqa: E402

from queen_sdk.training.dropping import QuickDropout, drop_quickly  # noqa: E402


def test_a_share_is_left_out_and_the_mean_stays() -> None:
    torch.manual_seed(1)
    dropped = QuickDropout(0.25)(torch.ones(400, 500))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.005)
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)


def test_gradients_pass_where_values_do() -> None:
    values = torch.ones(100, requires_grad=True)
    dropped = QuickDropout(0.5)(values)
    dropped.sum().backward()
    assert torch.equal(values.grad, dropped.detach())


def test_the_state_of_torch_repeats_the_noise_and_every_call_has_its_own() -> None:
    drop, values = QuickDropout(0.5), torch.ones(200)
    state = torch.get_rng_state()
    first, second = drop(values), drop(values)
    torch.set_rng_state(state)
    assert torch.equal(drop(values), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize(("share", "training"), [(0.5, False), (0.0, True)])
def test_nothing_happens_in_evaluation_or_without_a_share(share: float, training: bool) -> None:
    values = torch.ones(50)
    assert QuickDropout(share).train(training)(values) is values


def test_every_dropout_of_a_network_is_replaced(scorer) -> None:
    import copy

    model = copy.deepcopy(scorer)
    drop_quickly(model)
    assert not any(isinstance(part, nn.Dropout) for part in model.modules())
    assert any(isinstance(part, QuickDropout) for part in model.modules())
