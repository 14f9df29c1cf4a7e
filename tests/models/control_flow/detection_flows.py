"""Detectors and images: how much is found is data."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

from .flow_model import Flow, Method, bounded, flow, number, zero

try:
    import torchvision  # noqa: F401  (defines the operators)
except ImportError:
    # The operator of torchvision for where it is not installed: its schema, its
    # result sizes and what it computes.
    torch.library.define("torchvision::nms",
                         "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

    @torch.library.impl("torchvision::nms", "CPU")
    def _nms(boxes, scores, threshold):
        kept = []
        corner, end = boxes[:, :2], boxes[:, 2:]
        area = (end - corner).prod(1)
        for i in scores.argsort(descending=True, stable=True).tolist():
            good = True
            for j in kept:
                inside = (torch.minimum(end[i], end[j]) -
                          torch.maximum(corner[i], corner[j])).clamp(min=0).prod()
                good = good and inside / (area[i] + area[j] - inside) <= threshold
            if good:
                kept.append(i)
        return torch.tensor(kept, dtype=torch.int64)

    @torch.library.register_fake("torchvision::nms")
    def _nms_fake(boxes, scores, threshold):
        count = torch.library.get_ctx().new_dynamic_size(max=None)
        return boxes.new_empty((count,), dtype=torch.int64)


def boxes_of(n, spread):
    corner = torch.rand(n, 2) * spread
    return torch.cat([corner, corner + 1], 1)


@flow
def nms_head():
    """A detector's head: scores, a threshold, nms, and the classes of what is
    left."""
    def forward(self, features, boxes):
        scores, classes = self.head(features).sigmoid().max(-1)
        good = scores > 0.4
        boxes, scores, classes = boxes[good], scores[good], classes[good]
        kept = torch.ops.torchvision.nms(boxes, scores, 0.5)
        return boxes[kept], scores[kept], classes[kept]

    model = Method(forward, head=nn.Linear(4, 3))
    features = torch.randn(9, 4)
    calls = {"middle": (features, boxes_of(9, 1.5)),
             "most": (features.abs() + 2, boxes_of(9, 99)),
             "least": (features, boxes_of(9, 0)),
             "zero": (torch.linalg.lstsq(model.head.weight.detach(),
                                         torch.full((3, 1), -9.0)).solution.T.repeat(9, 1),
                      boxes_of(9, 2))}
    return Flow(model, calls, only_etx="torchvision.nms")


@flow
def nms_loop():
    """Suppression of overlapping boxes by a loop over the boxes."""
    def forward(self, boxes, scores):
        scores, order = scores.topk(7)
        boxes = boxes[order]
        corner = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
        end = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        size = (end - corner).clamp(min=0)
        inside = size[..., 0] * size[..., 1]
        sides = boxes[:, 2:] - boxes[:, :2]
        area = sides[:, 0] * sides[:, 1]
        overlap = inside / (area[:, None] + area[None] - inside) > 0.3

        def body(i, kept):
            row = overlap.index_select(0, i.view(1)).squeeze(0)
            strikes = row & (torch.arange(7) > i) & kept.index_select(0, i.view(1))
            return i + 1, kept & ~strikes

        _, kept = while_loop(lambda i, kept: i < 7, body,
                             (zero(), torch.ones(7, dtype=torch.bool)))
        return order[kept], boxes[kept], scores[kept]

    calls = {label: (boxes_of(7, spread), torch.rand(7)) for label, spread in
             (("middle", 1.5), ("most", 99.0), ("least", 0.0))}
    return Flow(Method(forward), calls)


@flow
def heat_map_peaks():
    """Peaks of a heat map and the values of another map there (CenterNet)."""
    def forward(self, heat, sizes):
        top = F.max_pool2d(heat[None], 3, 1, 1)[0]
        peaks = ((top == heat) & (heat > 0.5)).flatten()
        places = peaks.nonzero().squeeze(1)
        rows, columns = places // heat.shape[2], places % heat.shape[2]
        return (rows, columns, heat.flatten()[places],
                sizes.flatten(1).index_select(1, places))

    def map_of(*peaks):
        heat = torch.rand(1, 5, 6) * 0.4
        for y, x in peaks:
            heat[0, y, x] = 0.6 + 0.1 * torch.rand(())
        return heat, torch.randn(2, 5, 6)

    calls = {"middle": map_of((1, 1), (3, 4)), "zero": map_of(), "least": map_of((0, 0)),
             "most": map_of(*((y, x) for y in (0, 2, 4) for x in (0, 2, 4)))}
    return Flow(Method(forward), calls)


@flow
def connected_components():
    """Labels of the connected parts of an image, until none changes."""
    def forward(self, image):
        solid = image > 0
        labels = torch.where(solid, torch.arange(1, 31).view(5, 6).float(), 0.0)

        def body(old, labels, n):
            spread = F.max_pool2d(labels[None], 3, 1, 1)[0]
            return labels.clone(), torch.where(solid, spread, 0.0), n + 1

        _, labels, n = while_loop(lambda old, labels, n: (old != labels).any(), body,
                                  (labels - 1, labels, zero()))
        return labels, n

    calls = {"middle": ((torch.rand(5, 6) > 0.6).float(),), "zero": (torch.zeros(5, 6),),
             "most": (torch.ones(5, 6),), "least": (torch.eye(5, 6),)}
    return Flow(Method(forward), calls)


@flow
def region_crop():
    """Cuts a region out of an image, whose place and size are data."""
    def forward(self, image, region):
        top, height = bounded(region[0], 3), bounded(region[1], 4, 1)
        left, width = bounded(region[2], 3), bounded(region[3], 4, 1)
        part = image.narrow(1, top, height).narrow(2, left, width)
        return part * 2, part.mean((1, 2)), part.flatten(1).amax(1)

    calls = {label: (torch.randn(2, 7, 7), number(region)) for label, region in
             (("middle", [1, 2, 3, 3]), ("least", [0, 1, 0, 1]), ("most", [3, 4, 3, 4]))}
    return Flow(Method(forward), calls,
                overflow=((torch.randn(2, 7, 7), number([4, 4, 0, 1])),
                          (torch.randn(2, 7, 7), number([0, 5, 0, 1]))))
