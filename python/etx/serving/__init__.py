"""etx.serving: many texts at once over one program, by continuous batching.

    program = etx.load("chat.pte")       # etx.hf.export(..., batch=8, batching="continuous")
    with etx.serving.TextWorker(program.session()) as worker:
        text = worker.add(prompt_ids, max_new_tokens=64)
        text.wait()
        print(text.tokens, text.end)

Needs NumPy only. docs/server.md describes it; samples/server is a server over HTTP.
"""

from __future__ import annotations

from ._batched_text import QueueFullError, Text, TokenLogprob
from ._text_batch import BatchCounts, TextBatch
from ._text_worker import TextWorker

__all__ = ["BatchCounts", "QueueFullError", "Text", "TextBatch", "TextWorker", "TokenLogprob"]
