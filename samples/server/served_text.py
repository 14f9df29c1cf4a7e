"""A program that generates text, behind `/v1/chat/completions` and `/v1/completions`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import etx
import etx.serving
import numpy as np

from api_error import ApiError, overloaded
from openai_requests import TextRequest
from program_tokenizer import ChatTemplate, ProgramTokenizer
from text_pieces import StopStrings, TextPieces


@dataclass(frozen=True)
class Piece:
    """A piece of a text, for the client.

    Attributes:
      choice: number of the text among those of the request.
      text: may be "".
      logprobs: of the tokens since the last piece, if the request wants them.
      finish_reason: None, or "stop" or "length" in the last piece of a text.
    """

    choice: int
    text: str
    logprobs: tuple[etx.serving.TokenLogprob, ...] = ()
    finish_reason: str | None = None


class TextModel:
    """A program with `batching="continuous"`, its tokenizer, its template and its worker."""

    def __init__(
        self, name: str, program: etx.Program, *, queue: int, timeout: float | None,
        template: str | None = None,
    ) -> None:
        """Raises ValueError if the program has another form or lacks a tokenizer.

        Args:
          queue: texts that may wait for a row.
          timeout: seconds for each text, waiting included; None: any time.
          template: a chat template instead of the program's.
        """
        constants = program.constants
        self.name, self.program, self._timeout = name, program, timeout
        self.tokenizer = ProgramTokenizer(constants)
        source = template or constants.get("chat_template")
        self._template = None if source is None else ChatTemplate(source, constants, self.tokenizer)
        ends = np.atleast_1d(np.asarray(constants.get("get_eos_ids", []), dtype=np.int64))
        self.ends = frozenset(ends.tolist())
        self._found: list[tuple[RunningTexts, Piece | ApiError]] = []
        self.worker = etx.serving.TextWorker(program.session(), queue=queue, on_step=self._hand_over)

    def chat_prompt(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of a chat. Raises ApiError."""
        if self._template is None:
            raise ApiError(
                f"the model '{self.name}' has no chat template: use /v1/completions", param="model"
            )
        return self.tokenizer.encode(self._template.render(messages), special=False)

    def prompt(self, given: str | list[int]) -> list[int]:
        """Token ids of a prompt."""
        return self.tokenizer.encode(given, special=True) if isinstance(given, str) else given

    def start(self, request: TextRequest, prompts: list[list[int]]) -> RunningTexts:
        """Starts `request.n` texts for each prompt. Raises ApiError; then none of them runs."""
        self._check_lengths(prompts, request)
        running = RunningTexts(self, request.n)
        try:
            for number in range(len(prompts) * request.n):
                self._add(running, request, prompts[number // request.n], number)
        except etx.serving.QueueFullError as cause:
            running.cancel()
            raise overloaded(f"the server is busy: {cause.message}") from None
        except etx.ArgumentError as cause:
            running.cancel()
            raise ApiError(str(cause), code="invalid_value") from None
        except etx.StateError:
            running.cancel()
            raise overloaded("the server is closing") from None
        return running

    def _add(self, running: RunningTexts, request: TextRequest, prompt: list[int], number: int) -> None:
        options = dict(request.options)
        if options.get("seed") is not None:  # choices of a prompt differ
            options["seed"] = (options["seed"] + number % request.n) % 2**63
        choice = _Choice(running, number, request)
        running.texts.append(self.worker.add(
            prompt, on_token=choice.on_token, on_end=choice.on_end, logprobs=request.logprobs,
            timeout=self._timeout, **options,
        ))

    def _check_lengths(self, prompts: list[list[int]], request: TextRequest) -> None:
        most = self.worker.batch.context
        for prompt in prompts:
            if not prompt:
                raise ApiError("the prompt is empty", param="prompt" if request.prompts else "messages")
            if len(prompt) >= most:
                raise ApiError(
                    f"This model's maximum context length is {most} tokens, and the prompt has "
                    f"{len(prompt)}: at least one must be left for the answer",
                    param="prompt" if request.prompts else "messages", code="context_length_exceeded",
                )

    def put(self, running: RunningTexts, item: Piece | ApiError) -> None:
        """Keeps an item until the step ends. Called in the worker's thread."""
        self._found.append((running, item))

    def _hand_over(self) -> None:
        """Gives the event loops what a step has found: waking one for each token would cost
        more than the token."""
        found, self._found = self._found, []
        loops: dict[asyncio.AbstractEventLoop, list[tuple[RunningTexts, Piece | ApiError]]] = {}
        for running, item in found:
            loops.setdefault(running.loop, []).append((running, item))
        for loop, items in loops.items():
            try:
                loop.call_soon_threadsafe(_deliver, items)
            except RuntimeError:
                pass  # the event loop has ended, and nobody waits

    def close(self, grace: float) -> None:
        """Finishes texts for `grace` seconds, then ends them."""
        self.worker.close(grace)


def _deliver(items: list[tuple[RunningTexts, Piece | ApiError]]) -> None:
    for running, item in items:
        running.pieces.put_nowait(item)


class RunningTexts:
    """The texts of a request, for the thread of the event loop.

    Attributes:
      model: the model.
      loop: the event loop.
      texts: the texts, by number.
      pieces: an asyncio.Queue of Piece and, if a text fails, ApiError.
    """

    def __init__(self, model: TextModel, n: int) -> None:
        """`n`: texts of each prompt."""
        self.model, self._n = model, n
        self.texts: list[etx.serving.Text] = []
        self.loop = asyncio.get_running_loop()
        self.pieces: asyncio.Queue[Piece | ApiError] = asyncio.Queue()

    def cancel(self) -> None:
        """Ends all texts; their rows are free before the next call of the model."""
        for text in self.texts:
            text.cancel()

    @property
    def usage(self) -> dict[str, int]:
        """Tokens of prompts, once for each prompt, and of texts."""
        count = sum(len(text.prompt) for text in self.texts[:: self._n])
        new = sum(len(text.tokens) for text in self.texts)
        return {"prompt_tokens": count, "completion_tokens": new, "total_tokens": count + new}


class _Choice:
    """One text: its tokens become pieces, in the worker's thread, so that a stop string
    ends the text before another token is computed. The text of a request that wants neither
    stream nor stop strings is decoded when it is complete."""

    def __init__(self, running: RunningTexts, number: int, request: TextRequest) -> None:
        self._running, self._number, self._model = running, number, running.model
        self._is_streamed = request.stream
        self._is_decoded_late = not request.stream and not request.stop
        self._pieces, self._stops = TextPieces(self._model.tokenizer), StopStrings(request.stop)
        self._shown: list[str] = []  # of a text that is not streamed
        self._seen = 0  # log probabilities that were shown
        self._is_stopped = False

    def on_token(self, text: etx.serving.Text, token: int) -> bool:
        if self._is_decoded_late:
            return True
        piece = "" if token in self._model.ends else self._pieces.add(token)
        shown, self._is_stopped = self._stops.add(piece)
        self._show(text, shown)
        return not self._is_stopped

    def on_end(self, text: etx.serving.Text) -> None:
        error = self._error(text)
        if error is not None:
            self._model.put(self._running, error)
            return
        rest = self._rest(text)
        reason = "stop" if self._is_stopped or text.end == "end_token" else "length"
        self._model.put(self._running, Piece(
            self._number, "".join(self._shown) + rest, self._logprobs(text), reason
        ))

    def _rest(self, text: etx.serving.Text) -> str:
        """The text that is not shown yet, at its end."""
        if self._is_decoded_late:
            return self._model.tokenizer.decode([i for i in text.tokens if i not in self._model.ends])
        if self._is_stopped:
            return ""
        shown, self._is_stopped = self._stops.add(self._pieces.rest())
        return shown if self._is_stopped else shown + self._stops.rest()

    def _error(self, text: etx.serving.Text) -> ApiError | None:
        if self._is_stopped or text.end in ("end_token", "length"):
            return None
        if text.end == "timeout":
            return ApiError("the text took too long", status=504, code="timeout")
        if text.end == "cancelled":
            return overloaded("the server is closing")
        return ApiError(f"the text failed: {text.error}", status=500, code="failed")

    def _show(self, text: etx.serving.Text, shown: str) -> None:
        if not self._is_streamed:
            self._shown.append(shown)
        elif shown or len(text.logprobs) > self._seen:
            self._model.put(self._running, Piece(self._number, shown, self._logprobs(text)))

    def _logprobs(self, text: etx.serving.Text) -> tuple[etx.serving.TokenLogprob, ...]:
        found = tuple(text.logprobs[self._seen:])
        self._seen = len(text.logprobs)
        return found
