"""Programs that answer in calls of their own: embeddings and transcriptions.

Each has a pool of sessions and a thread for each of them.
"""

from __future__ import annotations

import asyncio
import io
import threading
import wave
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import etx
import numpy as np

from api_error import ApiError, overloaded
from program_tokenizer import ProgramTokenizer


class _PooledModel:
    """A program, its pool, and its threads."""

    def __init__(self, name: str, program: etx.Program, *, sessions: int, queue: int) -> None:
        self.name, self.program = name, program
        self.tokenizer = ProgramTokenizer(program.constants)
        self._pool = program.pool(sessions, keep_state=True)
        self._threads = ThreadPoolExecutor(sessions, thread_name_prefix=f"etx {name}")
        self._most, self._count = sessions + queue, 0
        self._closing = threading.Event()

    async def call(self, function: Callable[[etx.Session, Callable[[], bool]], Any]) -> Any:
        """Runs `function(session, is_over)` in a thread. `is_over()` says that nobody wants
        the result any more. Raises ApiError if too many calls wait."""
        if self._closing.is_set():
            raise overloaded("the server is closing")
        if self._count >= self._most:
            raise overloaded(f"the server is busy: {self._count} requests run or wait")
        is_unwanted = threading.Event()

        def run() -> Any:
            if is_unwanted.is_set():
                return None
            with self._pool.session() as session:
                return function(session, lambda: is_unwanted.is_set() or self._closing.is_set())

        self._count += 1
        future = self._threads.submit(run)
        future.add_done_callback(lambda _, loop=asyncio.get_running_loop(): self._less(loop))
        try:
            return await asyncio.wrap_future(future)
        except etx.ArgumentError as cause:
            raise ApiError(str(cause), code="invalid_value") from None
        finally:
            is_unwanted.set()

    def _less(self, loop: asyncio.AbstractEventLoop) -> None:
        def count() -> None:
            self._count -= 1

        try:
            loop.call_soon_threadsafe(count)
        except RuntimeError:
            pass  # the event loop has ended

    def close(self, grace: float) -> None:
        """Finishes calls for `grace` seconds, then ends them early where that is possible."""
        timer = threading.Timer(grace, self._closing.set)
        timer.start()
        self._threads.shutdown(wait=True)
        timer.cancel()
        self._closing.set()


class EmbeddingModel(_PooledModel):
    """A program with `embed` over tokens, behind `/v1/embeddings`."""

    def __init__(self, name: str, program: etx.Program, **options: Any) -> None:
        """Raises ValueError if the program embeds something else than texts."""
        super().__init__(name, program, **options)
        method = program.methods["embed"]
        names = [port.name for port in method.inputs]
        if "input_ids" not in names or len(method.outputs[0].shape) != 2:
            raise ValueError("embeddings need a program that makes one vector of a text: pooling='mean' or 'cls'")
        self._names = names
        rows, tokens = method.inputs[names.index("input_ids")].shape
        self._rows, self._longest = rows.maximum, tokens.maximum
        self._is_fixed = rows.minimum == rows.maximum

    def ids(self, inputs: list[str | list[int]]) -> list[list[int]]:
        """Token ids of each input. Raises ApiError."""
        found = []
        vocabulary = int(self.program.constants["get_vocab_size"])
        for given in inputs:
            ids = self.tokenizer.encode(given, special=True) if isinstance(given, str) else given
            if not 1 <= len(ids) <= self._longest:
                raise ApiError(
                    f"an input has {len(ids)} tokens, expected 1 to {self._longest}",
                    param="input", code="context_length_exceeded",
                )
            if not 0 <= min(ids) <= max(ids) < vocabulary:
                raise ApiError(f"'input' has a token outside of 0 to {vocabulary - 1}", param="input")
            found.append(ids)
        return found

    async def embed(self, texts: list[list[int]]) -> np.ndarray:
        """Vectors of length 1, float32 [texts, width]."""
        return await self.call(lambda session, is_over: self._embed(session, texts, is_over))

    def _embed(self, session: etx.Session, texts: list[list[int]], is_over: Callable[[], bool]) -> np.ndarray:
        # Texts of similar lengths in one call have little padding.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found: list[Any] = [None] * len(texts)
        for start in range(0, len(order), self._rows):
            if is_over():
                raise overloaded("the server is closing")
            part = order[start : start + self._rows]
            for place, vector in zip(part, self._call(session, [texts[i] for i in part])):
                found[place] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return np.stack(found).astype(np.float32)

    def _call(self, session: etx.Session, texts: list[list[int]]) -> np.ndarray:
        rows = self._rows if self._is_fixed else len(texts)
        ids = np.zeros((rows, max(map(len, texts))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)], mask[row, : len(text)] = text, 1
        mask[len(texts) :, 0] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return np.array(session.embed(**{name: given[name] for name in self._names}))[: len(texts)]


class SpeechModel(_PooledModel):
    """A program that recognizes speech, behind `/v1/audio/transcriptions`."""

    def __init__(self, name: str, program: etx.Program, **options: Any) -> None:
        """Raises ValueError if the program does not take samples."""
        constants = program.constants
        if "get_num_samples" not in constants:
            raise ValueError("transcriptions need a program of samples: etx.hf.export(..., samples=True)")
        super().__init__(name, program, **options)
        self._samples = int(constants["get_num_samples"])
        self._rate = int(constants.get("sampling_rate", 16000))

    def start_ids(self, language: str | None) -> list[int] | None:
        """Tokens that the decoder starts with; None: those of the program. Raises ApiError."""
        if language is None:
            return None
        names = (f"<|{language}|>", "<|transcribe|>", "<|notimestamps|>")
        ids = [self.tokenizer.find(name) for name in names]
        if ids[0] is None:
            raise ApiError(f"the model does not know the language '{language}'", param="language")
        start = int(self.program.constants["get_decoder_start_token_id"])
        return [start, *(i for i in ids if i is not None)]

    async def transcribe(self, sound: np.ndarray, language: str | None, temperature: float) -> str:
        """Text of samples, float32 [samples], at the rate of `read_sound`."""
        start = self.start_ids(language)
        return await self.call(
            lambda session, is_over: self._transcribe(session, sound, start, temperature, is_over)
        )

    def read_sound(self, data: bytes) -> np.ndarray:
        """Samples of a WAV file, mixed to one channel. Raises ApiError."""
        try:
            with wave.open(io.BytesIO(data)) as file:
                rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
                frames = file.readframes(file.getnframes())
        except (wave.Error, EOFError, ValueError) as cause:
            raise ApiError(
                f"the file is no WAV file of samples (PCM): {cause}", param="file", code="invalid_file"
            ) from None
        samples = _as_float(frames[: len(frames) // (channels * width) * channels * width], width)
        return _resampled(samples.reshape(-1, channels).mean(1), rate, self._rate)

    def _transcribe(
        self, session: etx.Session, sound: np.ndarray, start: list[int] | None, temperature: float,
        is_over: Callable[[], bool],
    ) -> str:
        texts = []
        options: dict[str, Any] = {"max_length": int(session.program.constants["get_max_context_len"])}
        if temperature > 0:
            options |= {"do_sample": True, "temperature": temperature, "top_k": 0}
        for begin in range(0, max(len(sound), 1), self._samples):
            part = np.zeros((1, self._samples), dtype=np.float32)
            piece = sound[begin : begin + self._samples]
            part[0, : len(piece)] = piece
            ids = session.generate(
                input_values=part, decoder_input_ids=None if start is None else [start],
                on_token=lambda text, token: not is_over(), **options,
            )
            if is_over():
                raise overloaded("the server is closing")
            texts.append(self.tokenizer.decode(ids[0].tolist()).strip())
        return " ".join(text for text in texts if text)


def _as_float(frames: bytes, width: int) -> np.ndarray:
    """Samples from -1 to 1. Those of one byte are unsigned; those of three have no type."""
    if width == 1:
        return (np.frombuffer(frames, np.uint8).astype(np.float32) - 128) / 128
    if width == 3:
        wide = np.zeros((len(frames) // 3, 4), dtype=np.uint8)
        wide[:, 1:] = np.frombuffer(frames, np.uint8).reshape(-1, 3)
        return wide.reshape(-1).view("<i4").astype(np.float32) / 2**31
    if width not in (2, 4):
        raise ApiError(f"the file has samples of {width} bytes, expected 1 to 4", param="file")
    return np.frombuffer(frames, f"<i{width}").astype(np.float32) / 2 ** (8 * width - 1)


def _resampled(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    """Samples at another rate, through the discrete Fourier transform: frequencies that the
    new rate cannot hold are left out."""
    if rate == wanted or len(samples) == 0:
        return samples.astype(np.float32)
    count = max(1, round(len(samples) * wanted / rate))
    spectrum = np.fft.rfft(samples)[: count // 2 + 1]
    return (np.fft.irfft(spectrum, count) * (count / len(samples))).astype(np.float32)
