"""A loop that generates tokens with a program of `etx.hf.export`, by NumPy alone."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _errors
from .._program import Program
from .._program import load as load_program


class Generator:
    """A session of a program that generates.

    Attributes:
      program: the program.
      session: its session, which holds the caches.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.session = program.session()
        if "decode" not in program.methods:
            raise _errors.UnsupportedError(
                f"the program has the methods {', '.join(program.methods)}, but no 'decode'",
                hint="etx.load(path).session() calls the methods of programs that do not generate",
            )
        inputs = {port.name for port in program.methods["decode"].inputs}
        self._takes_padding, self._takes_beams = "padding" in inputs, "beam_rows" in inputs
        self.rows = self.constant("get_batch_size", 1) * self.constant("get_num_beams", 1)
        self.length = self.constant("get_max_context_len", 0)

    def constant(self, name: str, default: Any = None) -> Any:
        """The value of a constant method, or `default`."""
        return self.program.constants.get(name, default)

    @property
    def eos_token_ids(self) -> set[int]:
        """Tokens that end a text."""
        return set(np.atleast_1d(np.asarray(self.constant("get_eos_ids", []), dtype=np.int64)).tolist())

    def _rest(self, padding: np.ndarray) -> dict[str, np.ndarray]:
        """The inputs that say of each row what it reads: no beam continues another."""
        rest = {"padding": padding} if self._takes_padding else {}
        if self._takes_beams:
            rest["beam_rows"] = np.repeat(np.arange(self.rows)[:, None], self.length, 1)
        return rest

    def _prefill(self, ids: np.ndarray, rest: dict[str, np.ndarray]) -> np.ndarray:
        most = self.constant("get_max_seq_len", ids.shape[1])
        for start in range(0, ids.shape[1], most):
            part = np.ascontiguousarray(ids[:, start : start + most])
            logits = self.session.call("prefill", input_ids=part, position=np.array([start]), **rest)
        return logits

    def _checked(self, ids: np.ndarray, new: int) -> np.ndarray:
        if ids.ndim != 2 or ids.shape[1] == 0 or not 1 <= ids.shape[0] <= self.rows:
            raise _errors.ArgumentError(
                f"the shape of 'input_ids' is {ids.shape}, expected (1 to {self.rows}, tokens)"
            )
        if ids.shape[1] + new - 1 > self.length:
            raise _errors.RangeError(
                f"{ids.shape[1]} tokens and {new} new ones do not fit into {self.length} positions",
                hint="give max_new_tokens, or export with a larger max_length",
            )
        missing = self.rows - ids.shape[0]  # rows that are not used repeat the first one
        return np.concatenate([ids, np.repeat(ids[:1], missing, 0)]) if missing else ids

    def generate(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        *,
        max_new_tokens: int = 20,
        min_new_tokens: int = 0,
        decoder_input_ids: Any = None,
        eos_token_id: int | list[int] | None = None,
        **inputs: Any,
    ) -> np.ndarray:
        """Generates the most probable next token again and again.

        Args:
          input_ids: int64 [rows, tokens]: prompts, padded on the left, or sources.
          attention_mask: int64 like `input_ids`; 0 marks padding.
          max_new_tokens: most tokens of a row.
          min_new_tokens: before these, no row ends.
          decoder_input_ids: int64 [rows, tokens]: how an encoder-decoder model begins,
            instead of its start token.
          eos_token_id: tokens that end a row, instead of the program's.
          inputs: what `encode` of a speech model takes.

        Returns:
          int64 [rows, tokens]: the new tokens of each row; what follows the end of a row
          is padding.
        """
        ends = self.eos_token_ids
        if eos_token_id is not None:
            ends = set(np.atleast_1d(np.asarray(eos_token_id)).tolist())
        count, rest = self._begin(input_ids, attention_mask, inputs)
        if "encode" in self.program.methods:
            ids = self._decoder_start(decoder_input_ids, max_new_tokens)
            step = self._feed
        else:
            ids = self._checked(np.asarray(input_ids, dtype=np.int64), max_new_tokens)
            step = self._prefill
        logits = step(ids, rest)
        position, out = ids.shape[1], []
        is_open = np.ones(self.rows, dtype=bool)
        while True:
            logits = np.array(logits)
            if len(out) < min_new_tokens:
                logits[:, sorted(ends)] = -np.inf
            token = np.where(is_open, logits.argmax(-1), self.constant("get_pad_id", 0))
            out.append(token)
            is_open &= ~np.isin(token, sorted(ends))
            if len(out) == max_new_tokens or not is_open[:count].any():
                return np.stack(out, 1)[:count]
            logits = self.session.call(
                "decode", input_ids=token[:, None], position=np.array([position]), **rest
            )
            position += 1

    def _begin(self, ids: Any, mask: Any, inputs: dict[str, Any]) -> tuple[int, dict[str, np.ndarray]]:
        """Runs the encoder, if there is one. Returns the rows that are used, and the
        inputs of each call of the decoder."""
        if "encode" not in self.program.methods:
            shape = np.shape(ids)
            padding = np.zeros(self.rows, dtype=np.int64)
            if mask is not None and self._takes_padding:
                padding[: shape[0]] = shape[1] - np.asarray(mask, dtype=np.int64).sum(1)
                padding[shape[0] :] = padding[0]
            elif mask is not None and not np.asarray(mask).all():
                raise _errors.ArgumentError("a program for one row takes no padding")
            return shape[0] if shape else 0, self._rest(padding)
        if ids is not None:
            ids = np.asarray(ids, dtype=np.int64)
            mask = np.ones_like(ids) if mask is None else np.asarray(mask, dtype=np.int64)
            inputs = inputs | {"input_ids": ids, "attention_mask": mask}
        self.session.call("encode", **inputs)
        return self.rows, self._rest(np.zeros(self.rows, dtype=np.int64))

    def _decoder_start(self, given: Any, new: int) -> np.ndarray:
        if given is None:
            first = [self.constant("get_decoder_start_token_id", self.constant("get_bos_id", 0))]
            forced = np.atleast_1d(np.asarray(self.constant("get_forced_decoder_ids", []), dtype=np.int64))
            given = np.concatenate([np.array(first), forced])[None]
        return self._checked(np.asarray(given, dtype=np.int64), new)

    def _feed(self, ids: np.ndarray, rest: dict[str, np.ndarray]) -> np.ndarray:
        for position in range(ids.shape[1]):
            token = np.ascontiguousarray(ids[:, position : position + 1])
            logits = self.session.call("decode", input_ids=token, position=np.array([position]), **rest)
        return logits


def load(path: str | os.PathLike[str], **options: Any) -> Generator:
    """Loads a program that generates.

    Args:
      path: the program.
      options: as `etx.load` has them.

    Raises:
      UnsupportedError: the program does not generate.
      Error: as `etx.load` raises them.
    """
    return Generator(load_program(path, **options))
