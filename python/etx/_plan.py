"""Calls the C planner, which makes a program file from a directory of methods."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _errors, _recorded_calls
from ._paths import bytes_of, paths_of
from ._progress import Progress, progress_callback
from ._report import Report

TARGETS = ("etx", "executorch")
_INPUT_SUFFIXES = (".yaml", ".pt2", ".safetensors", ".gguf")
_HALVES = ("f16", "bf16")  # values of `weights` that name no file
_CLASSES_OF_INPUT = {"BAD_ARGUMENT", "BAD_FILE", "UNSUPPORTED", "MISSING_OPERATOR", "OUT_OF_RANGE"}


def native() -> Any:
    """The extension that plans. Raises UnsupportedError in a build without it."""
    try:
        from . import _planner
    except ImportError as cause:
        raise _errors.UnsupportedError(
            f"this installation of etx cannot make programs: {cause}",
            hint="install libyaml, jansson and libzip (Debian: libyaml-dev libjansson-dev "
            "libzip-dev) and then etx again",
        ) from cause
    return _planner


def _words(value: str | Sequence[str] | None) -> tuple[bytes, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = (value,)
    return tuple(bytes_of(item, "word") for item in value)


def _rules(
    quantize: str | Sequence[str] | None,
    weights: str | os.PathLike[str] | None,
    names: str | os.PathLike[str] | None,
) -> tuple[tuple[bytes, ...], str | os.PathLike[str] | None]:
    """The rules with that of `weights`, and the file of weights."""
    rules = _words(quantize)
    if weights in _HALVES:
        rules, weights = _words(str(weights)) + rules, None
        if names is not None:
            raise _errors.ArgumentError("'weights_names' needs a file of weights")
    if names is not None and weights is None:
        raise _errors.ArgumentError("'weights_names' needs 'weights'")
    return rules, weights


def _text(value: str | os.PathLike[str] | None) -> bytes | None:
    return None if value is None else bytes_of(value)


def _describe(problem: Mapping[str, Any]) -> str:
    place = problem.get("file") or ""
    if "line" in problem:
        place += f":{problem['line']}:{problem.get('column', 0)}"
    node = problem.get("node")
    if node and not problem["message"].startswith(f"node '{node}"):
        place += f": node '{node}'"
    source = f"\n  from the source line: {problem['source']}" if "source" in problem else ""
    return f"{place.lstrip(': ')}: {problem['message']}{source}".lstrip(": ")


def _raise(answer: dict[str, Any]) -> None:
    problems = answer["problems"]
    status = answer["status"]
    text = "\n".join(map(_describe, problems)) or answer["message"]
    if status in _CLASSES_OF_INPUT or problems:
        error = _errors.ExportError(text, problems=problems)
        error.code = status.lower()
        raise error
    raise _errors.make(status, text, answer["line"], answer["column"], answer["offset"], None)


def _warn(text: str) -> None:
    """Warns at the line outside of this package that called it."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def _warned_of_idle_rules(report: Report, kv: str | None) -> Report:
    """The report, after a warning of each rule that quantised no weight, or no cache."""
    for rule in report.get("quantize_rules", ()):
        if rule["rounded"] == 0 and rule["rule"].partition(":")[0] != "none":
            _warn(
                f"the rule '{rule['rule']}' quantised no weight: rules apply to float32 weights "
                "of linear layers and embedding tables"
            )
    if kv not in (None, "f32", "float32") and all(row["reason"] for row in report.get("caches", ())):
        _warn(f"no cache is stored as {kv}: 'caches' of the report says why")
    return report


@contextlib.contextmanager
def _directory_of(
    calls: str | os.PathLike[str] | Iterable[_recorded_calls.Call] | None,
) -> Iterator[bytes | None]:
    """The path of a directory with the calls, which are written if they are a list."""
    if calls is None or isinstance(calls, (str, os.PathLike)):
        yield _text(calls)
        return
    with tempfile.TemporaryDirectory(prefix="etx-") as folder:
        _recorded_calls.write(Path(folder), calls)
        yield bytes_of(folder)


def _program_path(output: str | os.PathLike[str]) -> Path:
    """The path of the program, if one can be written there."""
    final = Path(output)
    if final.suffix in _INPUT_SUFFIXES:
        raise _errors.ArgumentError(
            f"cannot write '{final}': what ends in {', '.join(_INPUT_SUFFIXES)} is read, "
            "a program ends in .pte"
        )
    if not final.absolute().parent.is_dir():
        raise _errors.NotFoundError(f"there is no directory '{final.absolute().parent}'")
    return final


def _check_target(target: str, specialize: str | Sequence[str] | None) -> None:
    if target not in TARGETS:
        raise _errors.ArgumentError(f"target '{target}' is none of {', '.join(TARGETS)}")
    if specialize and target != "etx":
        raise _errors.ArgumentError(
            f"'specialize' needs target 'etx': the runtime of '{target}' chooses no variants"
        )


def plan(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    target: str = "etx",
    weights: str | os.PathLike[str] | None = None,
    weights_names: str | os.PathLike[str] | None = None,
    quantize: str | Sequence[str] | None = None,
    calibrate: str | os.PathLike[str] | Iterable[_recorded_calls.Call] | None = None,
    kv: str | None = None,
    concurrent: str | Sequence[str] | None = None,
    cap: Mapping[str, int] | None = None,
    specialize: str | Sequence[str] | None = None,
    passes: str | None = None,
    state_layout: str | os.PathLike[str] | None = None,
    algorithm: str | None = None,
    source_lines: bool = False,
    pack: bool = False, pack_budget: int = 0,
    parallel_regions: bool = False,
    ops: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    progress: Progress = None,
) -> Report:
    """Compiles a directory of methods (.yaml, .pt2, program.yaml) into a program.

    What `etx plan` does, in this process: the file is renamed to its path after its plan
    was proved from the bytes; until then nothing under that name changes.

    Args:
      source: the directory, or one file.
      output: the program to write, .pte.
      target: "etx", or "executorch" for ExecuTorch's runtime.
      weights: a GGUF file, whose tensors take the place of the weights of the
        graphs, by name (docs/gguf.md). Or "f16" or "bf16": a rule of `quantize` for
        all weights, which are stored as halves beside float32 activations.
      weights_names: a file with lines "TENSOR = WEIGHT" for models whose names of
        tensors etx does not know.
      quantize: rules such as "int8" or "int4:decoder.*", the last that matches
        a weight decides.
      calibrate: calls that are typical, in order: (method, inputs), or None to reset all
        states. Weights are then rounded so that the results of layers on such inputs
        change little, which takes longer. Or a directory of recorded calls.
      kv: "int8", "f16" or "bf16": stores caches of keys and values that only attention
        reads in this type; `caches` of the report lists them, and those that stay float32.
      concurrent: groups such as "encode,decode" that may run at the same time.
      cap: the most that sizes and integers may be that the data of tensors decide,
        such as {"u0": 64}, or {"forward.u0": 64} for one method.
      specialize: sizes that have variants of their methods, such as "T=1,2..16"
        or "forward:ids[1]=1"; calls of these sizes run the variant.
      passes: "-name,-name": optional passes to switch off.
      state_layout: an older program whose offsets of state are kept.
      algorithm: one planner instead of the best of all.
      source_lines: keep in the program which lines of which files each
        instruction comes from, for messages, profiles and `etx diff`.
      pack: put the weights of layers with many rows, and of convolutions,
        into the program as products read them.
      pack_budget: most bytes of weights that the program has twice, because methods
        or variants read them in different orders; more than 0 includes `pack`.
      parallel_regions: keep the memory of independent parts of a method apart, so
        that `load(..., parallel_regions=True)` can run them at the same time. The
        method needs more scratch.
      ops: files with the schemas and sizes of your own operators
        (docs/custom-operators.md); `load(..., kernels=...)` runs them.
      progress: called with (stage, done, total) as stages begin; True shows them
        on the terminal, if there is one. What it raises ends up with the
        caller, and no program is written.

    Raises:
      ExportError: the methods cannot be planned; `problems` holds each reason.
      ArgumentError: an option is wrong, or `output` is named like an input.
      NotFoundError: `source`, or the directory of `output`, is not there.
      HostError: a file cannot be read or written.
      PlanError: no plan, or one whose proof failed.
      UnsupportedError: this build cannot make programs.

    Returns:
      The report of the plan.
    """
    _check_target(target, specialize)
    if not 0 <= pack_budget < 1 << 63:
        raise _errors.ArgumentError(f"'pack_budget' is {pack_budget}, expected a number of bytes")
    rules, weights = _rules(quantize, weights, weights_names)
    bytes_of(output)  # a path, before anything is made from it
    if not os.path.exists(source):
        raise _errors.NotFoundError(f"there is no '{os.fspath(source)}'")
    final = _program_path(output)
    with _directory_of(calibrate) as calls, progress_callback(progress) as tell:
        answer = json.loads(
            native().plan(
                bytes_of(source), bytes_of(output), TARGETS.index(target),
                rules, _words(concurrent),
                _words([f"{name}={most}" for name, most in (cap or {}).items()]),
                _words(specialize), tuple(map(bytes_of, paths_of(ops))), _text(passes), _text(state_layout),
                _text(algorithm), source_lines, pack, pack_budget, parallel_regions, _text(weights),
                _text(weights_names), _text(kv), calls, tell,
            )
        )
    if answer["status"] != "OK":
        _raise(answer)
    return _warned_of_idle_rules(Report(answer["report"] | {"file": str(final)}), kv)
