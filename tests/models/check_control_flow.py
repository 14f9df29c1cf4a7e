#!/usr/bin/env python3
"""Plans and runs models with control flow and sizes from data, against PyTorch.

    check_control_flow.py ETX [--sample] [--table] [--each-pass] [--jobs N]
                          [--keep DIRECTORY] [NAME...]

The models are in control_flow/. Each is exported as torch.export gives it, after
run_decompositions({}) and after run_decompositions(); planned for etx with all
passes, with no optional pass, with --pack, with no loop unrolled and with loops
over small blocks of rows, and for ExecuTorch's runtime with and without optional passes; proved with `etx verify`,
and called with `etx run --case` at its least, middle and largest sizes and at 0.
Outputs and states are compared after each call. Inputs beyond the plan must be
refused and change no state. What ExecuTorch's runtime has no operator for must be refused with that
reason; the other files run there too if its package is installed.

--sample takes a few models, --each-pass also plans without each optional pass,
--table prints the list of the models for docs/control-flow.md instead.

Ends with 0 if all agree, 1 if something does not, 77 (skipped) if a package is
not there.
"""

import argparse
import copy
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

try:
    import torch
    from etx_commands import has_stock_runtime, optional_passes, step, try_stock
    from control_flow import MODELS
    from model_files import described, quiet, save_case
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SAMPLE = ("greedy_prompt", "rnnt_greedy", "kalman_filter", "while_in_cond_in_scan",
          "ragged_batch", "moe_where", "nms_head")
LEAVES = torch.utils._pytree.tree_leaves


def forms_of(program):
    yield "raw", program
    yield "decomposed", program.run_decompositions({})
    yield "core", program.run_decompositions()


def forget_sources(program):
    """Source lines differ between machines and say nothing here."""
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            for key in ("stack_trace", "from_node", "nn_module_stack"):
                node.meta.pop(key, None)


def recorded(flow):
    """The calls with PyTorch's answers, as cases.json has them, and tensors."""
    tensors, calls = {}, []
    model = copy.deepcopy(flow.model)

    def note(values, mark):
        return [described(v, f"{mark}{i}", tensors) for i, v in
                enumerate(LEAVES(values))]

    for number, inputs in enumerate(flow.calls.values()):
        mark = f"c{number:03d}."
        given = note(inputs, mark + "in")
        with torch.no_grad():
            outputs = model(*[value.clone() for value in inputs])
        states = {name: described(getattr(model, name), mark + name, tensors)["tensor"]
                  for name in model.states}
        calls.append({"method": "forward", "inputs": given, "input_mutations": [],
                      "outputs": note(outputs, mark + "out"), "state": states})
    refused = [{"method": "forward", "refused": True, "outputs": [], "state": {},
                "input_mutations": [], "inputs": note(inputs, f"r{number}.in")}
               for number, inputs in enumerate(flow.overflow)]
    # Refused calls stand between others, which see the state as it was.
    middle = len(calls) // 2
    return calls[:middle] + refused + calls[middle:], tensors


def exported(flow, directory):
    """Writes the forms of a model and its calls; returns the forms' names."""
    model = copy.deepcopy(flow.model)
    example = next(iter(flow.calls.values()))
    sizes = (flow.dynamic,) if flow.dynamic else None
    program = torch.export.export(model, example, dynamic_shapes=sizes, strict=False)
    names = []
    for name, form in forms_of(program):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
        forget_sources(form)
        torch.export.save(form, os.path.join(directory, name, "forward.pt2"))
        names.append(name)
    calls, tensors = recorded(flow)
    save_case({"format": 1, "atol": flow.tolerance, "rtol": flow.tolerance,
               "calls": calls}, tensors, directory)
    return names


def plans_of(etx, words):
    """Names of the ways of planning, with target and options."""
    passes = optional_passes(etx)
    none = "--passes=" + ",".join("-" + name for name in passes)
    yield "etx", "etx", []
    yield "etx, no optional pass", "etx", [none]
    yield "etx, packed", "etx", ["--pack"]
    yield "etx, no loop unrolled", "etx", ["--unroll", "1"]
    yield "etx, loops over blocks", "etx", ["--unroll", "30"]
    yield "executorch", "executorch", []
    yield "executorch, no optional pass", "executorch", [none]
    for name in passes if words.each_pass else ():
        yield f"etx, without {name}", "etx", [f"--passes=-{name}"]


def refuses(command, *reasons):
    """What is wrong unless the plan is refused for these reasons."""
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stderr + done.stdout
    if done.returncode == 2 and all(reason in said for reason in reasons):
        return None
    return (f"expected to be refused with {reasons}, ended with "
            f"{done.returncode}\n  {said.strip()[:300]}")


def without_refused_calls(directory):
    """The calls for ExecuTorch's files, which have no operator that checks a
    number: the memory of the tensors limits them.
    """
    path = os.path.join(directory, "stock")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(directory, "cases.json")) as file:
        case = json.load(file)
    case["calls"] = [call for call in case["calls"] if not call.get("refused")]
    with open(os.path.join(path, "cases.json"), "w") as file:
        json.dump(case, file)
    link = os.path.join(path, "expected.safetensors")
    if not os.path.lexists(link):
        os.symlink("../expected.safetensors", link)
    return path


def try_plan(etx, directory, form, plan, flow):
    name, target, options = plan
    program = os.path.join(directory, f"{form}.pte")
    command = [etx, "plan", os.path.join(directory, form, "forward.pt2"), "-o", program,
               "-q", "--target", target, *options]
    for cap in flow.caps:
        command += ["--cap", cap]
    if target == "executorch" and flow.only_etx:
        return refuses(command, flow.only_etx, "runs only in etx")
    cases = directory if target == "etx" else without_refused_calls(directory)
    return (step(command) or step([etx, "verify", program]) or
            step([etx, "run", program, "--case", cases]) or
            (try_stock(cases, program)
             if target == "executorch" and has_stock_runtime() else None))


def try_one(words, name, root):
    """What is wrong with a model, as lines, how many plans ran, and seconds."""
    start = time.monotonic()
    wrong, count = [], 0
    directory = os.path.join(root, name)
    try:
        torch.manual_seed(0)
        torch._dynamo.reset()  # what it keeps of one model can break another
        flow = MODELS[name]()
        flow.model.eval()
        for form in exported(flow, directory):
            for plan in plans_of(words.etx, words):
                problem = try_plan(words.etx, directory, form, plan, flow)
                count += 1
                if problem:
                    wrong.append(f"{form}, {plan[0]}: {problem}")
    except Exception:  # of torch.export: other models are tried all the same
        wrong.append(traceback.format_exc(limit=-2))
    return wrong, count, time.monotonic() - start


def try_all(words, names, root):
    bad = plans = 0
    # Forked, so that the packages are imported once.
    with ProcessPoolExecutor(words.jobs, get_context("fork")) as pool:
        jobs = [pool.submit(try_one, words, name, root) for name in names]
        for name, job in zip(names, jobs):
            wrong, count, seconds = job.result()
            bad += bool(wrong)
            plans += count
            print(f"{name}: {'agrees' if not wrong else 'DIFFERS'} "
                  f"({count} plans, {seconds:.1f} s)", flush=True)
            for line in wrong:
                print(f"  {line}", flush=True)
    print(f"{len(names) - bad} of {len(names)} models agree in {plans} plans")
    return 1 if bad else 0


def print_table():
    print("| model | what it does | calls | refused | only in etx |")
    print("|---|---|---|---|---|")
    for name, make in MODELS.items():
        torch.manual_seed(0)
        flow = make()
        text = " ".join(make.__doc__.split()).rstrip(".")
        calls = "; ".join(flow.calls)
        only = f"`{flow.only_etx}`" if flow.only_etx else ""
        print(f"| `{name}` | {text} | {calls} | {len(flow.overflow) or ''} | {only} |")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--each-pass", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count()))
    words = parser.parse_intermixed_args()
    quiet()
    logging.disable(logging.WARNING)
    if words.table:
        return print_table()
    names = words.names or [n for n in MODELS if not words.sample or n in SAMPLE]
    if words.keep:
        return try_all(words, names, words.keep)
    with tempfile.TemporaryDirectory() as root:
        return try_all(words, names, root)


if __name__ == "__main__":
    sys.exit(main())
