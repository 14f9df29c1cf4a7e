"""Calls of recurrent layers. The expected results are those of PyTorch's layers in
float64, whose input weights are the identity: the operators take the input's part
of the gates.
"""

import torch

from random_calls import F32, F64

GATES = {"gru": 3, "lstm": 4, "rnn_tanh": 1, "rnn_relu": 1}


def layer(kind, x, states, w, bias):
    """All steps of PyTorch's layer over [T, B, I]."""
    weights = [torch.eye(x.shape[2], dtype=F64), w.double(),
               torch.zeros(len(w), dtype=F64),
               torch.zeros(len(w), dtype=F64) if bias is None
               else bias.double()]
    states = [state.double()[None] for state in states]
    out, *last = getattr(torch, kind)(
        x.double(), states if kind == "lstm" else states[0], weights, True, 1,
        0.0, False, False, False)
    return out, [state[0] for state in last]


def sequence(c, d, kind):
    gates = GATES[kind]
    t, b = d.int(1, 4), d.pick([1, 1, d.int(2, 5), 14])
    h = d.pick([d.int(1, 9), 16, d.int(17, 33)])
    if d.chance(0.1):
        t = 0
    size = [t, b, gates * h]
    x = d.normal(size, F32)
    w = d.normal([gates * h, h], F32, 1 / (h + 1)**0.5)
    bias = d.normal([gates * h], F32) if d.chance(0.7) else None
    states = [d.uniform([b, h], -1, 1)
              for _ in range(2 if kind == "lstm" else 1)]
    reverse, first = d.chance(0.3), d.chance(0.5)
    arguments = dict(input=x.transpose(0, 1).contiguous() if first else x,
                     hx=states[0], w_hh=w, b_hh=bias, reverse=reverse,
                     batch_first=first)
    if kind == "lstm":
        arguments["cx"] = states[1]
    if d.chance(0.1):
        name = d.pick([name for name, value in arguments.items()
                       if isinstance(value, torch.Tensor)])
        wrong = arguments[name]
        arguments[name] = (wrong.double() if d.chance(0.3) else
                           torch.cat([wrong, wrong], -1))
        c.add(arguments)
        return
    if t == 0:  # PyTorch's layers refuse it: no step leaves the state as it is
        out, last = torch.zeros(0, b, h), states
    else:
        out, last = layer(kind, x.flip(0) if reverse else x, states, w, bias)
    out = out.flip(0) if reverse else out
    out = out.transpose(0, 1).contiguous() if first else out
    names = ["out", "hy", "cy"]
    size = max(1.0, *[state.abs().max().item() for state in last])
    c.add(arguments, [(name, value.float())
                      for name, value in zip(names, [out, *last])],
          atol=(t + 1) * (h + 16) * 2.0**-23 * size, rtol=4 * 2.0**-23)


OPERATORS = {f"etx::{kind}_sequence.out":
             lambda c, d, kind=kind: sequence(c, d, kind) for kind in GATES}
