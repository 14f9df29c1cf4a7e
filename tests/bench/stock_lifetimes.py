#!/usr/bin/env python3
"""Writes the problems that ExecuTorch's exporter gives to its planners.

    stock_lifetimes.py DIRECTORY set NAME FILE.pt2...
    stock_lifetimes.py DIRECTORY model NAME
    stock_lifetimes.py DIRECTORY deep NAME

Each method becomes DIRECTORY/NAME.METHOD.csv, in the form of MiniMalloc: the
tensors that ExecuTorch's memory planning pass hands over, with its lifetimes,
sizes rounded up to its alignment. A graph inside of a method (a branch, the
body of a loop) is a problem of its own, NAME.METHOD.1.csv and so on.
DIRECTORY/NAME.json has the sizes of the planned arenas of each method, or the
reason why there is none. A model of large_models.py is also saved to
DIRECTORY/NAME/ for `etx plan`. A deep model is only saved, because
ExecuTorch's exporter takes too long for it.
"""

import csv
import json
import logging
import os
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402
import torch.ao.quantization.fx._decomposed  # noqa: E402,F401
import executorch.exir.passes._quant_patterns_and_replacements  # noqa: E402,F401
from executorch.extension.llm.custom_ops import custom_ops  # noqa: E402,F401
from executorch.exir import (  # noqa: E402
    EdgeCompileConfig, ExecutorchBackendConfig, to_edge)
from executorch.exir.memory_planning import (  # noqa: E402
    MemoryPlanningAlgorithmSuite, greedy)
from executorch.exir.passes import MemoryPlanningPass  # noqa: E402


def collect(problems):
    """ExecuTorch's greedy planner, which also records its arguments."""
    def planner(alignment, specs, graph_module, signature, padding):
        specs = list(specs)
        rows = [(s.lifetime[0], s.lifetime[1] + 1,
                 -(-s.allocated_memory // alignment) * alignment)
                for s in specs if s.allocated_memory]
        problems.append(sorted(rows))
        return MemoryPlanningAlgorithmSuite([greedy])(
            alignment, specs, graph_module, signature, padding)
    return planner


def write_problem(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "lower", "upper", "size"])
        writer.writerows([i, *row] for i, row in enumerate(rows))


def plan(program, directory, stem):
    """Its plan of a method, written as the head of this file says."""
    problems = []
    edge = to_edge(program,
                   compile_config=EdgeCompileConfig(_check_ir_validity=False))
    done = edge.to_executorch(ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(
            memory_planning_algo=collect(problems))))
    # The method's own graph is planned last.
    for index, rows in enumerate(reversed(problems)):
        number = f".{index}" if index else ""
        write_problem(os.path.join(directory, f"{stem}{number}.csv"), rows)
    sizes = done.exported_program().graph_module.meta["non_const_buffer_sizes"]
    return {"arena": sum(sizes[1:]), "problems": len(problems)}


def export(name, directory):
    """The methods of a large model, exported and saved."""
    from large_models import DEEP, MODELS
    torch.manual_seed(0)
    os.makedirs(os.path.join(directory, name), exist_ok=True)
    for method, (module, inputs) in {**MODELS, **DEEP}[name]().items():
        program = torch.export.export(module.eval(), inputs, strict=False)
        program = program.run_decompositions({})
        torch.export.save(program,
                          os.path.join(directory, name, f"{method}.pt2"))
        yield method, program


def load(files):
    """A program, or why it cannot be read."""
    for path in files:
        method = os.path.splitext(os.path.basename(path))[0]
        try:
            yield method, torch.export.load(path)
        except RuntimeError as error:
            yield method, error


def main():
    directory, kind, name, *files = sys.argv[1:]
    torch.set_num_threads(1)
    result = {}
    programs = load(files) if kind == "set" else export(name, directory)
    with torch.no_grad():
        for method, program in programs:
            if kind == "deep":
                continue
            try:
                if isinstance(program, Exception):
                    raise program
                result[method] = plan(program, directory, f"{name}.{method}")
            except Exception as error:  # the others are planned all the same
                text = str(error).strip().splitlines() or [""]
                result[method] = {"error":
                                  f"{type(error).__name__}: {text[0][:160]}"}
            print(name, method, result[method], flush=True)
    with open(os.path.join(directory, f"{name}.json"), "w") as file:
        json.dump(result, file, indent=1)


main()
