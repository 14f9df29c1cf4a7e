"""What python/README.md and python/tutorial.md show is run from top to bottom, and
what a block says it prints (lines of `# ...` behind it) is compared."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore")


class Translator(torch.nn.Module):
    """What the page takes for granted: a model with two methods over a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(32, 64)
        self.linear = torch.nn.Linear(64, 32)
        self.register_buffer("cache", torch.zeros(64, 64))

    def encode(self, tokens):
        states = self.table(tokens)[0]
        self.cache.index_copy_(0, torch.arange(tokens.shape[1]), states)

    def decode(self, token, pos):
        return self.linear(self.table(token) + self.cache[pos] + self.cache.sum(0))


def blocks(document):
    text = (ROOT / "python" / document).read_text()
    return re.findall(r"```python\n(.*?)```", text, re.S)


def expected_of(block: str) -> list[str]:
    """Lines behind a print(...) that start with '#'."""
    found = []
    is_shown = False
    for line in block.splitlines():
        is_print = line.lstrip().startswith("print(")
        is_shown = is_print or (is_shown and line.startswith("# "))
        if is_shown and not is_print:
            found.append(line[2:])
    return found


def save_checkpoint(folder) -> bool:
    """A small model of transformers on disk. False if the package is not installed."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return False
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2, vocab_size=64))
    model.save_pretrained(folder)
    return True


def run(document, names, folder, monkeypatch):
    monkeypatch.chdir(folder)
    torch.manual_seed(0)
    has_checkpoint = save_checkpoint(folder / "path/of/checkpoint")
    for block in blocks(document):
        if "path/of/checkpoint" in block and not has_checkpoint:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, document, "exec"), names)
        expected = expected_of(block)
        if expected:
            assert printed.getvalue().rstrip().splitlines() == expected


def test_the_readme_runs(tmp_path, monkeypatch):
    names = {
        "__name__": "document",
        "model": Translator(),
        "tokens": torch.ones(1, 5, dtype=torch.long),
        "token": torch.ones(1, 1, dtype=torch.long),
        "pos": torch.zeros(1, dtype=torch.long),
        "input_ids": [[3, 4, 5]],
    }
    run("README.md", names, tmp_path, monkeypatch)


def test_the_tutorial_runs(tmp_path, monkeypatch):
    run("tutorial.md", {"__name__": "document"}, tmp_path, monkeypatch)
