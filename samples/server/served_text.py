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
        self._found: list[_Found] = []
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

    def put(self, choice: _Choice, found: int | Piece | ApiError | etx.serving.Text) -> None:
        """Keeps what a text has found until the step ends. Called in the worker's thread."""
        self._found.append((choice, found))

    def _hand_over(self) -> None:
        """Gives the event loops what a step has found: waking one for each token would cost
        more than the token."""
        if not self._found:
            return
        found, self._found = self._found, []
        loops: dict[asyncio.AbstractEventLoop, list[_Found]] = {}
        for item in found:
            loops.setdefault(item[0].running.loop, []).append(item)
        for loop, items in loops.items():
            try:
                loop.call_soon_threadsafe(_deliver, items)
            except RuntimeError:
                pass  # the event loop has ended, and nobody waits

    def close(self, grace: float) -> None:
        """Finishes texts for `grace` seconds, then ends them."""
        self.worker.close(grace)


def _deliver(items: list[_Found]) -> None:
    for choice, found in items:
        choice.deliver(found)


class RunningTexts:
    """The texts of a request, for the thread of the event loop.

    Attributes:
      model: the model.
      loop: the event loop.
      texts: the texts, by number.
    """

    def __init__(self, model: TextModel, n: int) -> None:
        """`n`: texts of each prompt."""
        self.model, self._n = model, n
        self.texts: list[etx.serving.Text] = []
        self.loop = asyncio.get_running_loop()
        self._pieces: list[Piece | ApiError] = []
        self._waiter: asyncio.Future[None] | None = None

    def put(self, item: Piece | ApiError) -> None:
        """Adds an item, and wakes who waits for it."""
        self._pieces.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self) -> list[Piece | ApiError]:
        """Waits for items, and returns all that are there: one of each text, but more if the
        client does not keep up. Only one task may wait."""
        if not self._pieces:
            self._waiter = self.loop.create_future()
            await self._waiter
        found, self._pieces = self._pieces, []
        return found

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
    """One text: its tokens become pieces.

    With stop strings this happens in the worker's thread, so that one ends the text before
    another token is computed; so does what goes with log probabilities. Otherwise the event
    loop does it, while the model computes the next tokens.

    Attributes:
      running: the texts of the request.
    """

    def __init__(self, running: RunningTexts, number: int, request: TextRequest) -> None:
        self.running, self._number, self._model = running, number, running.model
        self._is_streamed = request.stream
        self._is_read_late = not request.stop and request.logprobs is None
        self._pieces, self._stops = TextPieces(self._model.tokenizer), StopStrings(request.stop)
        self._shown: list[str] = []  # of a text that is not streamed
        self._seen = 0  # log probabilities that were shown
        self._is_stopped = False

    # In the worker's thread.

    def on_token(self, text: etx.serving.Text, token: int) -> bool:
        if not self._is_read_late:
            piece = self._piece(token, text)
            if piece is not None:
                self._model.put(self, piece)
        elif self._is_streamed:
            self._model.put(self, token)
        return not self._is_stopped

    def on_end(self, text: etx.serving.Text) -> None:
        self._model.put(self, text if self._is_read_late else self._last(text))

    # In the thread of the event loop.

    def deliver(self, found: int | Piece | ApiError | etx.serving.Text) -> None:
        """Gives the request what `put` was given in the worker's thread."""
        piece: Piece | ApiError | None
        try:
            if isinstance(found, int):
                piece = self._piece(found)
            elif isinstance(found, etx.serving.Text):
                piece = self._last(found)
            else:
                piece = found
        except Exception as cause:  # of the tokenizer; other texts go on
            piece = ApiError(f"the text failed: {cause}", status=500, code="failed")
        if piece is not None:
            self.running.put(piece)

    # In either.

    def _piece(self, token: int, text: etx.serving.Text | None = None) -> Piece | None:
        """What a token adds to a stream; `text`: with its log probabilities."""
        added = "" if token in self._model.ends else self._pieces.add(token)
        shown, self._is_stopped = self._stops.add(added)
        if not self._is_streamed:
            self._shown.append(shown)
            return None
        logprobs = () if text is None else self._logprobs(text)
        return Piece(self._number, shown, logprobs) if shown or logprobs else None

    def _last(self, text: etx.serving.Text) -> Piece | ApiError:
        error = self._error(text)
        if error is not None:
            return error
        rest = self._rest(text)
        reason = "stop" if self._is_stopped or text.end == "end_token" else "length"
        return Piece(self._number, "".join(self._shown) + rest, self._logprobs(text), reason)

    def _rest(self, text: etx.serving.Text) -> str:
        """The text that is not shown yet, at its end."""
        if self._is_read_late and not self._is_streamed:
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

    def _logprobs(self, text: etx.serving.Text) -> tuple[etx.serving.TokenLogprob, ...]:
        found = tuple(text.logprobs[self._seen:])
        self._seen = len(text.logprobs)
        return found


# A text, and what it has found: a token or the text itself at its end, which the event loop
# reads; or a piece that is ready.
_Found = tuple[_Choice, int | Piece | ApiError | etx.serving.Text]
