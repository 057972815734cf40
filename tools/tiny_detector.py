"""Train a tiny detector on painted shapes, and see what corruptions do to it. The numbers of docs/detection.md.

    python tools/tiny_detector.py OUT        # trains (about a minute on a CPU), evaluates, prints tables

A CenterNet of 38 000 weights: a map of centres for each shape, and at each centre the sides of its box.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

import scuff
from scuff.metrics import cell_scores, performance, task_scores

sys.path.insert(0, str(Path(__file__).parent))
from painted_shapes import SHAPES, SIZE, Painted, paint_many, write_coco

STRIDE, MOST = 4, 20


class TinyDetector(nn.Module):
    """Images (3, H, W) in [0, 1] to boxes, scores and labels, as torchvision's detectors answer."""

    class_names = SHAPES

    def __init__(self) -> None:
        super().__init__()

        def layer(before: int, after: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
            convolution = nn.Conv2d(before, after, 3, stride, dilation, dilation, bias=False)
            return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())

        self.body = nn.Sequential(
            layer(3, 16, 2), layer(16, 32, 2), layer(32, 32), layer(32, 32, dilation=2), layer(32, 48, dilation=4)
        )
        self.heads = nn.Conv2d(48, len(SHAPES) + 4, 1)
        nn.init.constant_(self.heads.bias[: len(SHAPES)], -3.0)

    def maps(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of centres (N, shapes, h, w), and distances to the four sides in pixels (N, 4, h, w)."""
        out = self.heads(self.body(images - 0.5))
        return out[:, : len(SHAPES)], F.softplus(out[:, len(SHAPES) :]) * 8

    def forward(self, images: list[Tensor]) -> list[dict[str, Tensor]]:
        return [self._detect(image) for image in images]

    def _detect(self, image: Tensor) -> dict[str, Tensor]:
        centres, sides = self.maps(image[None])
        heat = centres[0].sigmoid()
        heat = heat * (heat == F.max_pool2d(heat[None], 3, 1, 1)[0])
        scores, places = heat.flatten().topk(MOST)
        rows, columns = heat.shape[-2:]
        labels, cell = places // (rows * columns), places % (rows * columns)
        y, x = (cell // columns + 0.5) * STRIDE, (cell % columns + 0.5) * STRIDE
        left, top, right, bottom = sides[0].flatten(1)[:, cell]
        boxes = torch.stack([x - left, y - top, x + right, y + bottom], 1)
        height, width = image.shape[-2:]
        far = torch.tensor([width, height, width, height], device=image.device)
        return {"boxes": torch.minimum(boxes.clamp(min=0), far), "scores": scores, "labels": labels}


def targets_of(painted: list[Painted]) -> tuple[Tensor, Tensor, Tensor]:
    """Maps of centres, soft around them; distances to the sides; and where these count."""
    rows, columns = SIZE[0] // STRIDE, SIZE[1] // STRIDE
    heat = np.zeros((len(painted), len(SHAPES), rows, columns), np.float32)
    sides = np.zeros((len(painted), 4, rows, columns), np.float32)
    counts = np.zeros((len(painted), rows, columns), bool)
    y, x = np.mgrid[:rows, :columns].astype(np.float32) * STRIDE + STRIDE / 2
    for k, one in enumerate(painted):
        for (x0, y0, x1, y1), label in zip(one.boxes, one.labels, strict=True):
            middle_x, middle_y, spread = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 8
            row, column = min(int(middle_y // STRIDE), rows - 1), min(int(middle_x // STRIDE), columns - 1)
            soft = np.exp(-((x - x[row, column]) ** 2 + (y - y[row, column]) ** 2) / (2 * spread**2))
            heat[k, label] = np.maximum(heat[k, label], soft)
            near = (abs(x - x[row, column]) <= STRIDE) & (abs(y - y[row, column]) <= STRIDE)
            sides[k][:, near] = np.stack([x - x0, y - y0, x1 - x, y1 - y])[:, near]
            counts[k] |= near
    return torch.from_numpy(heat), torch.from_numpy(sides), torch.from_numpy(counts)


def train(images: int = 1600, epochs: int = 8, batch: int = 16, seed: int = 0) -> TinyDetector:
    """Train on pictures that no evaluation sees, flipped at random."""
    painted = paint_many(images, seed=1)
    pixels = torch.from_numpy(np.stack([one.pixels for one in painted])).permute(0, 3, 1, 2)
    heat, sides, counts = targets_of(painted)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = TinyDetector().train()
        steps = epochs * (images // batch)
        optimiser = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
        for epoch in range(epochs):
            total = 0.0
            for chosen in torch.randperm(images).split(batch)[: images // batch]:
                x, h, s, c = pixels[chosen].float() / 255, heat[chosen], sides[chosen], counts[chosen]
                if epoch % 2:  # mirrored
                    x, h, c, s = x.flip(3), h.flip(3), c.flip(2), s.flip(3)[:, [2, 1, 0, 3]]
                centres, distances = net.maps(x)
                share = centres.sigmoid().clamp(1e-4, 1 - 1e-4)
                right = h > 0.999
                loss = -torch.where(
                    right, (1 - share) ** 2 * share.log(), (1 - h) ** 4 * share**2 * (1 - share).log()
                ).sum() / right.sum().clamp(min=1)
                loss = loss + 0.1 * (distances - s).abs().mean(1)[c].mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                total += float(loss.detach())
            print(f"epoch {epoch + 1}: loss {total / (images // batch):.3f}", flush=True)
    return net.eval()


def by_severity(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean AP over corruptions at every severity."""
    cells = cell_scores(performance(rows))
    return cells.groupby("severity")["value"].mean().round(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--images", type=int, default=200, help="test pictures")
    asked = parser.parse_args()
    started = time.perf_counter()
    detector, weights = TinyDetector(), asked.out / "tiny.safetensors"
    if weights.exists():
        detector.load_state_dict(load_file(weights))
    else:
        detector = train()
        weights.parent.mkdir(parents=True, exist_ok=True)
        save_file(detector.state_dict(), weights)
    detector.eval()
    count = sum(weight.numel() for weight in detector.parameters())
    print(f"{count} weights trained or read in {time.perf_counter() - started:.0f} s")
    painted = paint_many(asked.images, seed=2)
    sources = {
        name: f"coco:{write_coco(asked.out / name, painted, name == 'outlines')}" for name in ("boxes", "outlines")
    }
    data = sources["outlines"]
    models = {"tiny": detector}
    rows = scuff.evaluate(models, "coco-c", data, asked.out / "coco-c", task="detection")
    print({name: str(score) for name, score in task_scores(performance(rows)).items()})
    print(by_severity(rows).to_dict())
    for suite in ("imagenet-c", "coco-c"):
        for name, targets in (("outlines", "moved"), ("boxes", "moved"), ("boxes", "still")):
            place = asked.out / f"elastic-{suite}-{name}-{targets}"
            options = {"task": "detection", "targets": targets, "only": ["elastic_transform"]}
            found = cell_scores(performance(scuff.evaluate(models, suite, sources[name], place, **options)))
            cells = found[found["corruption"] == "elastic_transform"]
            said = [f"{v:.1f} [{a:.1f}, {b:.1f}]" for v, a, b in zip(cells.value, cells.low, cells.high, strict=True)]
            print(f"{suite}/elastic_transform, {name} {targets}: {', '.join(said)}")
