"""Writes the set `recurrent` of this folder: recurrent layers, which core/ has
unrolled.

    pip install torch==2.13 safetensors
    python make_recurrent.py
"""

import torch
from torch import nn
from torch.export import Dim

from make_sets import Recorder

IN, WIDTH, BATCH, STEPS = 6, 17, 3, 4


class Layers(nn.Module):
    states = ("hidden",)

    def __init__(self):
        super().__init__()
        torch.manual_seed(31)
        self.register_buffer("hidden", torch.zeros(2, 1, WIDTH))
        self.both_ways = nn.GRU(IN, 5, 2, batch_first=True, bidirectional=True)
        self.two = nn.GRU(IN, WIDTH, 2)
        self.long = nn.LSTM(IN, WIDTH, 2, bias=False)
        self.projected = nn.LSTM(IN, WIDTH, proj_size=4)
        self.plain = nn.RNN(IN, 9, bidirectional=True)
        self.relu = nn.RNN(IN, 20, nonlinearity="relu", batch_first=True)

    def gru(self, x):
        return self.both_ways(x)

    def frame(self, x):
        """A step; the state stays for the next call."""
        y, last = self.two(x, self.hidden)
        self.hidden.copy_(last)
        return (y,)

    def lstm(self, x, h, c):
        y, (h, c) = self.long(x, (h, c))
        return y, h, c

    def narrow(self, x):
        y, (h, c) = self.projected(x)
        return y, h, c

    def batches(self, x, y):
        """Few rows and many."""
        a, last = self.plain(x)
        return a, last, self.relu(y)[0]


def main():
    recorder = Recorder(Layers(), "recurrent")
    batch = Dim("b", min=1, max=30)
    h, c = torch.rand(2, BATCH, WIDTH), torch.rand(2, BATCH, WIDTH)
    recorder.method("gru", (torch.randn(BATCH, STEPS, IN),))
    recorder.method("frame", (torch.randn(1, 1, IN),))
    recorder.method("lstm", (torch.randn(STEPS, BATCH, IN), h, c))
    recorder.method("narrow", (torch.randn(STEPS, BATCH, IN),))
    recorder.method("batches", (torch.randn(STEPS, BATCH, IN),
                                torch.randn(BATCH, STEPS, IN)),
                    ({1: batch}, {0: batch}))
    for rows in (1, 12, 13, 30):
        recorder.call("gru", torch.randn(BATCH, STEPS, IN))
        recorder.call("frame", torch.randn(1, 1, IN))
        recorder.call("batches", torch.randn(STEPS, rows, IN),
                      torch.randn(rows, STEPS, IN))
    recorder.call("frame", torch.randn(1, 1, IN))
    recorder.call("lstm", torch.randn(STEPS, BATCH, IN), h, c)
    recorder.call("narrow", torch.randn(STEPS, BATCH, IN))
    recorder.write(1e-5)


if __name__ == "__main__":
    main()
