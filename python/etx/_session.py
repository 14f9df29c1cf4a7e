"""A session: one copy of a program's state, with its methods as functions."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _errors, _generate, _runtime
from ._paths import bytes_of
from ._profile import Profile
from ._use import Use

if TYPE_CHECKING:
    from ._program import Program


def _rows(length: int) -> int:
    """Checks a number of rows."""
    try:
        rows = operator.index(length)
    except TypeError as cause:
        raise _errors.ArgumentError(
            f"a length is a number of rows, not {type(length).__name__}"
        ) from cause
    if not 0 <= rows < 2**63:
        raise _errors.RangeError(f"a length cannot be {rows} rows")
    return rows


class States(Mapping[str, np.ndarray]):
    """The states of a session by full name: arrays that show its memory.

    What is written into such an array is what methods read next; an assignment
    (`states["cache"] = x`) copies into it. An array keeps its session's memory
    alive; do not use it while a thread runs the session.
    """

    def __init__(self, native: _runtime.Session) -> None:
        self._native = native

    def __getitem__(self, name: str) -> np.ndarray:
        """The state of that name, as an array over the session's memory.

        Raises:
          NotFoundError: there is no such state.
        """
        return _arrays.wrap(self._native.state(name))

    def __setitem__(self, name: str, value: Any) -> None:
        """Copies a value into the state, with NumPy's rules of broadcasting.

        Raises:
          NotFoundError: there is no such state.
          ArgumentError: the value does not fit its shape or type.
        """
        array = self[name]
        try:
            array[...] = value
        except (TypeError, ValueError) as cause:
            raise _errors.ArgumentError(
                f"state '{name}' is {array.dtype}{list(array.shape)}: {cause}"
            ) from cause

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.state_names())

    def __len__(self) -> int:
        return len(self._native.state_names())

    def __contains__(self, name: object) -> bool:
        return name in self._native.state_names()

    def __repr__(self) -> str:
        return f"<etx states {', '.join(self)}>"


class Methods(Mapping[str, Any]):
    """The methods of a session by name, loaded when they are first used.

    Each is called with arrays, tensors or numbers, by position or by name, and
    returns None, its one output or a tuple of them, as arrays of their own.
    `method.view(...)` returns arrays over the session's memory instead, which
    hold until the next call of the session.

    A call raises ArgumentError for a wrong type, rank or number of arguments,
    RangeError for a size out of bounds, StateError while another thread uses the
    session, TornStateError after a run that failed half-way.
    """

    def __init__(self, program: Program, native: _runtime.Session) -> None:
        self._program = program
        self._native = native
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        found = self._loaded.get(name)
        if found is None:
            info = self._program.methods.get(name)
            if info is None:
                raise self._missing(name)
            found = self._loaded[name] = self._native.method(name, info.signature)
        return found

    def _missing(self, name: str) -> _errors.Error:
        near = difflib.get_close_matches(name, self._program.methods, 1)
        known = ", ".join(self._program.methods) or "none"
        hint = f"did you mean '{near[0]}'?" if near else f"it has {known}"
        return _errors.MissingMethodError(f"the program has no method '{name}'", hint=hint)

    def __iter__(self) -> Iterator[str]:
        return iter(self._program.methods)

    def __len__(self) -> int:
        return len(self._program.methods)

    def let_go(self) -> None:
        """Forgets arrays of outputs that methods keep for the next call."""
        for method in self._loaded.values():
            method.forget()


class Session:
    """One copy of a program's state, as `Program.session()` makes it.

    Methods of the program are attributes: `session.decode(token, pos)`. Where
    a method has the name of something that sessions have themselves (`state`,
    `save`, `reset`, ...), it is `session.methods["reset"]`.

    Threads: one session, one thread at a time; a second one gets StateError.
    Any number of sessions run side by side. The interpreter's lock is released
    while a method runs.

    Processes: a session goes through `os.fork` with its memory, if no method runs
    then; to another process its state goes as `save()`.

    Attributes:
      program: the Program that it was made by.
      methods: Methods of the session by name.
      state: States of the session by full name.
    """

    def __init__(self, program: Program, native: _runtime.Session) -> None:
        self.program = program
        self._native = native
        self.methods = Methods(program, native)
        self.state = States(native)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = self.methods[name]
        self.__dict__[name] = method  # so that the next call finds it at once
        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.methods})

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method by name, also if the name is not a Python identifier.

        Args:
          method: name of the method.
          args: inputs by position.
          kwargs: inputs by name.

        Returns:
          None, the one output, or a tuple of outputs, as arrays of their own.

        Raises:
          MissingMethodError: the program has no such method. For all else see
            `Methods`.
        """
        return self.methods[method](*args, **kwargs)

    def generate(
        self, input_ids: Any = None, **options: Any
    ) -> np.ndarray | _generate.GenerateOutput:
        """Generates text, as `generate` of the package transformers does.

        The program has the methods that programs of `etx.hf` have: `prefill` and
        `decode`, or `encode` and `decode`. Options that are not given are those of
        the program (`get_eos_ids`, `get_pad_id`, `suppress_tokens`), and
        otherwise the defaults of transformers.

        Args:
          input_ids: int64 [texts, length], or [length] for one text.
          attention_mask: 1 for tokens, 0 for padding: at the start of rows, and on
            either side for an encoder.
          input_features, input_values: inputs of an encoder of speech.
          decoder_input_ids: int64 [texts, length]: tokens that the decoder starts
            with, where the program's are not wanted.
          max_new_tokens, max_length: new tokens at most, or tokens in all; 20 new
            ones if neither is given.
          min_new_tokens, min_length: tokens before one that ends a text.
          do_sample, temperature, top_k, top_p, min_p, typical_p, seed: draws tokens.
            Equal seeds draw equal tokens on every machine.
          num_beams, length_penalty, early_stopping, num_return_sequences: beams.
          repetition_penalty, no_repeat_ngram_size, bad_words_ids: against repetition
            and against words, as in transformers.
          sequence_bias, suppress_tokens, begin_suppress_tokens: change logits of tokens.
          forced_bos_token_id, forced_eos_token_id: the first, the last token.
          frequency_penalty, presence_penalty: the same, as in the API of OpenAI.
          eos_token_id, pad_token_id: a token or a list; a token.
          stop_strings: strings that end a text, which need `tokenizer`.
          tokenizer: of transformers, or a function from an id to str or bytes.
          streamer: of transformers; gets the prompt and each new token.
          on_token: called with (text, id) for each new token, not with beams. If it
            returns False, all texts end, and the session may be used on.
          cached_tokens: tokens at the start of `input_ids` that the session's caches
            hold already, from an earlier call or a restored snapshot.
          return_dict_in_generate: return a GenerateOutput.
          assistant_model: a session of a smaller program with the same tokenizer, whose
            tokens this program checks, several in one call of its method `verify`
            (`etx.hf.export(..., verify=8)`). The text is the same, and is there sooner
            if most of them are right. For one text without beams.
          num_assistant_tokens: tokens at a time; by default as many as `verify` takes.
          prompt_lookup_num_tokens, max_matching_ngram_size: instead of a smaller
            program, tokens that follow an earlier place of the last ones (2 at most, by
            default) in prompt and text: for answers that quote the prompt.
          draft_tokens: instead, a function from (ids so far, most) to at most so many
            tokens that may follow.

        Returns:
          The prompt and its continuation, or what the decoder wrote, as int64
          [texts, longest], padded behind the end of each text.

        Raises:
          ArgumentError: an option or the program does not fit; nothing ran.
          RangeError: the prompt does not fit into the program's caches.
          MissingMethodError: the program has no method `decode`.
          StateError: the session is in use or closed.
        """
        return _generate.generate(self, input_ids, **options)

    def profile(self) -> Profile:
        """Measures the methods that run in a `with` block, operator by operator.

            with session.profile() as profile:
                session.decode(token, pos)
            print(profile)

        A session has one such block at a time.
        """
        return Profile(self.methods)

    def trace(self) -> Use:
        """Records which operators, types and features calls in a `with` block use.

            with session.trace() as use:
                session.decode(token, pos)
            use.save("use.yaml")

        `etx select --trace use.yaml` makes builds that have only these.
        """
        return Use(self.methods, self.program.path.name)

    def reset(self, name: str = "") -> None:
        """Writes initial values again.

        Args:
          name: "" for all states, a state's name, or a module's name for all below
            it ("decoder" takes "decoder.0.k").

        Raises:
          NotFoundError: nothing has that name.
          StateError: the session is in use or closed.
        """
        self._native.reset(name)

    def length(self, name: str = "") -> int:
        """The number of rows that were appended to the program's caches.

        Args:
          name: "" for all caches, a cache's name, or a module's name for all below
            it.

        Raises:
          NotFoundError: the program describes no cache of that name.
          ArgumentError: it does not count their rows, or they have different
            numbers of them.
          StateError: the session is in use or closed.
        """
        return self._native.length(name)

    def truncate(self, length: int, name: str = "") -> None:
        """Keeps the first rows of the program's caches and drops the others.

        The next call continues as if only the first `length` rows had ever been
        appended. States that are neither caches nor counters of caches stay as they
        are. Nothing is changed if it fails.

        Args:
          length: rows to keep.
          name: "" for all caches, a cache's name, or a module's name for all below
            it.

        Raises:
          NotFoundError: the program describes no cache of that name.
          RangeError: a cache has fewer rows, or later rows took their place.
          ArgumentError: one counter counts the rows of this cache and of another.
          TornStateError: a run failed half-way.
          StateError: the session is in use or closed.
        """
        self._native.truncate(name, _rows(length))

    def save(self, length: int | None = None) -> bytes:
        """A snapshot of all state, bound to the program's content.

        Args:
          length: rows of each cache to save, as `truncate(length)` would keep them;
            the snapshot is smaller by the others. None: all of all states.

        Raises:
          NotFoundError: `length` is given, and the program describes no caches.
          RangeError: a cache has fewer rows, or later rows took their place.
          TornStateError: a run failed half-way.
          StateError: the session is in use or closed.
        """
        if length is None:
            return self._native.save()
        return self._native.save_prefix(_rows(length))

    def restore(self, snapshot: bytes) -> None:
        """Takes all state from a snapshot.

        Args:
          snapshot: what `save()` returned, or anything else with these bytes.

        Raises:
          ArgumentError: it is damaged or of another program; nothing is changed.
          StateError: the session is in use or closed.
        """
        self._native.restore(snapshot)

    def save_to(self, path: str | os.PathLike[str]) -> None:
        """Saves all state in a file that stays whole.

        The file has room for two states, and the older one is written over. When
        the call returns, the state is on the disk; after a kill or a power cut at
        any time the file has the state before or the new one.

        Args:
          path: the file; it is made if there is none.

        Raises:
          ArgumentError: the file is something else, or has the state of another
            program; it stays as it was.
          NotFoundError: there is no such folder.
          TornStateError: a run failed half-way.
          StateError: the session is in use or closed, or the file is in use.
          HostError: the reason of the system.
        """
        self._native.save_to(bytes_of(path))

    def restore_from(self, path: str | os.PathLike[str]) -> None:
        """Takes all state from the last save that was completed in a file.

        Args:
          path: the file of `save_to`.

        Raises:
          NotFoundError: there is no such file, or no save into it was completed.
          ArgumentError: it is something else, or of another program; nothing is
            changed.
          StateError: the session is in use or closed, or the file is in use.
          HostError: the reason of the system.
        """
        self._native.restore_from(bytes_of(path))

    def fork(self) -> Session:
        """Another session that starts with a copy of this one's state.

        Raises:
          OutOfMemoryError: there is no memory for it.
          StateError: the session is in use or closed.
        """
        return Session(self.program, self._native.fork())

    @property
    def is_torn(self) -> bool:
        """True after a run that failed half-way; then call `reset()` or `restore()`."""
        return self._native.is_torn

    @property
    def is_open(self) -> bool:
        """True until `close()` is called."""
        return self._native.is_open

    def close(self) -> None:
        """Gives the memory back, or the instance to its pool; without a call that
        happens when the last reference is gone.

        Raises:
          StateError: arrays still show the memory, or a thread uses the session.
        """
        if self._native.is_open:
            self.methods.let_go()
        self._native.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *reason: object) -> None:
        try:
            self.close()
        except _errors.StateError:
            # The traceback of the exception that ends the block may hold arrays.
            # The memory is given back when they are gone.
            if kind is None:
                raise

    def __reduce__(self) -> Any:
        raise _errors.StateError(
            "a session cannot be pickled",
            hint="pickle the program and session.save(), and restore() it there",
        )

    def __repr__(self) -> str:
        closed = "" if self.is_open else ", closed"
        return f"<etx session of '{self.program.path.name}'{closed}>"
