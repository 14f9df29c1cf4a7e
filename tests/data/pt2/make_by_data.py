"""Writes the sets `distinct` and `boxes` of this folder: operators of etx's own
runtime whose results have sizes that the elements of tensors decide.

    pip install torch==2.13 torchvision==0.28 safetensors
    python make_by_data.py
"""

import warnings

import torch
from make_sets import Recorder
from torch.export import Dim
from torchvision.ops import batched_nms, nms, roi_align

warnings.filterwarnings("ignore")

ROWS, NAN = 12, float("nan")


class RawRecorder(Recorder):
    def plain(self, exported):
        """As torch.export leaves it, without decompositions."""
        return exported


class Distinct(torch.nn.Module):
    states = ()

    def elements(self, x):
        values, inverse, counts = torch.unique(
            x, return_inverse=True, return_counts=True)
        return values * 2, inverse, counts + 1, torch.unique(x).exp()

    def rows(self, x):
        values, inverse, counts = torch.unique(
            x, dim=0, return_inverse=True, return_counts=True)
        return values + 1, inverse, values[inverse] - x, counts * 2

    def runs(self, x):
        values, counts = torch.unique_consecutive(x, return_counts=True)
        return values, counts, torch.unique_consecutive(x) - 1

    def histogram(self, x):
        counts = torch.bincount(x, minlength=3)
        torch._check(counts.shape[0] <= 20)
        return counts * 2, counts.float().softmax(0)

    def weighted(self, x, weights):
        sums = torch.bincount(x, weights)
        torch._check(sums.shape[0] <= 20)
        return (sums + 1,)

    def padded(self, x):
        return (torch.nonzero_static(x, size=5, fill_value=-1) + 1,)

    def running(self, x):
        return (*x.cummax(0), *x.cummin(1))


class Boxes(torch.nn.Module):
    states = ()

    def kept(self, boxes, scores):
        keep = nms(boxes, scores, 0.5)
        return keep, boxes[keep] * 2, torch.relu(scores[keep])

    def by_class(self, boxes, scores, classes):
        keep = batched_nms(boxes, scores, classes, 0.3)
        return boxes[keep], classes[keep]

    def regions(self, features, boxes):
        return (roi_align(features, boxes, (2, 3), 0.5, 2, True),
                roi_align(features, boxes, 2, 1.0))

    def detector(self, features, boxes, scores):
        keep = nms(boxes, scores, 0.4)
        batch = torch.zeros_like(scores[keep]).unsqueeze(1)
        regions = torch.cat([batch, boxes[keep]], 1)
        pooled = roi_align(features, regions, (2, 2), 0.5, -1, True)
        return keep, pooled.flatten(1).sum(1)


def numbers(*values):
    return torch.tensor(values, dtype=torch.int64)


def each(recorder, name, *calls, sizes=None):
    recorder.method(name, calls[0], sizes)
    for inputs in calls:
        recorder.call(name, *inputs)


def write_distinct():
    recorder = RawRecorder(Distinct(), "distinct")
    count = Dim("count", min=2, max=ROWS)
    few = torch.tensor([[3., 1, 2], [1, 3, 1], [3, 1, 2], [0, -1, 7]])
    same, none = torch.ones(5, 3), torch.zeros(2, 3)
    many = torch.arange(36.).reshape(12, 3)
    odd = torch.tensor([[NAN, 1, 2], [1, NAN, 1]])
    varying = ({0: count},)
    each(recorder, "elements", *((t,) for t in (few, same, none, many, odd)),
         sizes=varying)
    each(recorder, "rows", *((t,) for t in (few, same, none, many)),
         sizes=varying)
    each(recorder, "runs", *((t,) for t in (
        numbers(1, 1, 2, 2, 2, 1), numbers(4, 4), numbers(*range(12)))),
         sizes=varying)
    lists = (numbers(3, 1, 1, 0, 7), numbers(0, 0), numbers(19, 2, 19))
    each(recorder, "histogram", *((t,) for t in lists), sizes=varying)
    each(recorder, "weighted", *((t, torch.randn(len(t))) for t in lists),
         sizes=(varying[0], varying[0]))
    each(recorder, "padded", *((t,) for t in (few, same, none)),
         sizes=varying)
    each(recorder, "running", *((t,) for t in (few, same, many, odd)),
         sizes=varying)
    recorder.write(1e-6)


def corners(count, most=8.0):
    first = torch.rand(count, 2) * most
    return torch.cat([first, first + torch.rand(count, 2) * most], 1)


def write_boxes():
    recorder = RawRecorder(Boxes(), "boxes")
    count = Dim("count", min=2, max=ROWS)
    lists = [corners(n) for n in (6, 2, ROWS)]
    lists += [lists[0][:1].expand(5, 4) + 0, corners(7) * 0]
    scored = [(t, torch.rand(len(t)).mul(6).round() / 6) for t in lists]
    varying = {0: count}
    each(recorder, "kept", *scored, sizes=(varying, varying))
    each(recorder, "by_class", *((b, s, torch.arange(len(b)) % 3)
                                 for b, s in scored), sizes=(varying,) * 3)
    features = torch.randn(2, 3, 6, 5)
    each(recorder, "regions", *(
        (features, torch.cat([torch.arange(len(b)).remainder(2).unsqueeze(1),
                              b], 1)) for b in lists), sizes=(None, varying))
    each(recorder, "detector", *((features[:1], b, s) for b, s in scored),
         sizes=(None, varying, varying))
    recorder.write(1e-5)


if __name__ == "__main__":
    torch.manual_seed(5)
    write_distinct()
    write_boxes()
