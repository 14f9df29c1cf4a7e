"""Writing tensors for the planner: a safetensors file, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAMES = {
    "torch.bool": "BOOL",
    "torch.uint8": "U8",
    "torch.int8": "I8",
    "torch.int16": "I16",
    "torch.int32": "I32",
    "torch.int64": "I64",
    "torch.uint16": "U16",
    "torch.uint32": "U32",
    "torch.uint64": "U64",
    "torch.float16": "F16",
    "torch.bfloat16": "BF16",
    "torch.float32": "F32",
    "torch.float64": "F64",
}


def can_write(tensor: Any) -> bool:
    """The format has a name for the tensor's type."""
    return str(tensor.dtype) in _NAMES


def write(path: Path, tensors: Mapping[str, Any]) -> None:
    """Writes tensors of PyTorch by name: 8 bytes of length, a JSON header, data."""
    import torch

    header: dict[str, Any] = {}
    blocks: list[bytes] = []
    end = 0
    for name, tensor in tensors.items():
        dense = tensor.detach().cpu().contiguous()
        flat = dense.reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        header[name] = {
            "dtype": _NAMES[str(tensor.dtype)],
            "shape": list(tensor.shape),
            "data_offsets": [end, end + len(data)],
        }
        blocks.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        file.writelines(blocks)
