"""The multi-label circle loss over the valid rectangle, and how far a pupil is from its teacher."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus


def circle_loss(scores: Tensor, positive: Tensor, valid: Tensor) -> Tensor:
    """Return the mean over examples and operations of both log-sum-exp terms.

    `positive` and `valid` are boolean masks of the shape of `scores`.
    """
    lowest = torch.finfo(scores.dtype).min
    missed = torch.where(positive & valid, -scores, lowest).flatten(2)
    raised = torch.where(~positive & valid, scores, lowest).flatten(2)
    return (_log_one_plus_sum(missed) + _log_one_plus_sum(raised)).mean()


def ends_loss(planes: Tensor, wanted: Tensor, valid: Tensor) -> Tensor:
    """Return how unlikely the ends of what is copied are: the mean over the places that copy.

    For each column the rows compete; several may be right, since words come up again. All have the
    shape batch × 2 (begin, end) × rows × columns; `wanted` and `valid` are boolean masks.
    """
    lowest = torch.finfo(planes.dtype).min
    everything = torch.logsumexp(torch.where(valid, planes, lowest), dim=2)
    right = torch.logsumexp(torch.where(wanted, planes, lowest), dim=2)
    places = wanted.any(dim=2)
    return (everything - right)[places].sum() / places.sum().clamp(min=1)


def _log_one_plus_sum(values: Tensor) -> Tensor:
    zero = torch.zeros_like(values[..., :1])
    return torch.logsumexp(torch.cat((zero, values), dim=-1), dim=-1)


_TEMPERATURE = 2.0


def lesson_loss(scores: Tensor, lessons: Tensor) -> Tensor:
    """Return how far scores are from a teacher's: the mean over examples and operations.

    Both are read as the log-odds, softened by a temperature, that a cell is marked; the distance is
    the Kullback-Leibler divergence, summed over the cells. Where lessons are nan there is none.
    """
    known = ~lessons.isnan()
    wanted = torch.where(known, lessons, 0.0) / _TEMPERATURE
    given = torch.where(known, scores, 0.0) / _TEMPERATURE
    share = wanted.sigmoid()
    distance = share * (wanted - given) + softplus(given) - softplus(wanted)
    return distance.flatten(2).sum(-1).mean() * _TEMPERATURE**2


def ends_lesson_loss(planes: Tensor, lessons: Tensor, places: Tensor) -> Tensor:
    """Return how far the ends of what is copied are from a teacher's: the mean over the places.

    Both are read as shares of the rows of a column; the distance is the Kullback-Leibler
    divergence. `places`, batch × columns, are those where the teacher copies something.
    """
    known = ~lessons.isnan()
    lowest = torch.finfo(planes.dtype).min
    wanted = torch.where(known, lessons, lowest).log_softmax(dim=2)
    given = torch.where(known, planes, lowest).log_softmax(dim=2)
    distance = (wanted.exp() * torch.where(known, wanted - given, 0.0)).sum(dim=2)
    counted = places[:, None] & known.any(dim=2)
    return distance[counted].sum() / counted.sum().clamp(min=1)
