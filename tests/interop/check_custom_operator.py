"""The example of an operator of one's own in ExecuTorch's runtime and in etx's.

  check_custom_operator.py ETX SOURCE MY_KERNELS    the command, the source tree, the
                                                    library of kernels for etx

A graph with my::scale is planned for both runtimes. The stock one refuses it, by name,
until the shared library of examples/custom_operator/stock_kernels.cpp is loaded; then
both give the bits of PyTorch. Ends with 77 where the package executorch, its headers
and libraries or a compiler of C++ are missing.
"""

import ctypes
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

GRAPH = """etx: 1
method: forward
inputs:
  - {name: x, type: "float32[2, 3]"}
nodes:
  - {out: y, op: my.scale.default, args: [x, 2.5]}
  - {out: z, op: aten.add.Tensor, args: [y, x]}
outputs: [z]
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def build_library(source, out):
    found = importlib.util.find_spec("executorch")
    if found is None:
        skip("there is no package executorch")
    package = pathlib.Path(list(found.submodule_search_locations)[0])
    include, libraries = package / "include", package / "lib"
    if not (libraries / "libexecutorch.so").exists():
        skip("this package executorch has no libraries to link with")
    compiler = shutil.which("c++") or skip("there is no compiler of C++")
    run(compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-w",
        "-DC10_USING_CUSTOM_GENERATED_MACROS", f"-I{include}",
        f"-I{include}/executorch/runtime/core/portable_type/c10",
        source / "examples/custom_operator/stock_kernels.cpp", "-o", out,
        f"-L{libraries}", "-lexecutorch")


def call(program, x):
    from executorch.runtime import Runtime
    return Runtime.get().load_program(program).load_method("forward").execute([x])[0]


def main():
    etx, source, kernels = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library, graph = folder / "stock_kernels.so", folder / "forward.yaml"
        build_library(source, library)
        import numpy
        import torch
        graph.write_text(GRAPH)
        for target in ("etx", "executorch"):
            run(etx, "plan", graph, "-o", folder / f"{target}.pte", "--target", target,
                "--ops", source / "examples/custom_operator/my.ops", "-q")
        x = torch.randn(2, 3, generator=torch.Generator().manual_seed(35))
        numpy.save(folder / "x.npy", x.numpy())
        run(etx, "run", folder / "etx.pte", "forward", "--in", f"x={folder}/x.npy",
            "--out", f"output_0={folder}/z.npy", "--kernels", kernels)
        ours = torch.from_numpy(numpy.load(folder / "z.npy"))
        try:
            call(folder / "executorch.pte", x)
            sys.exit("the stock runtime runs my::scale.out without a kernel")
        except RuntimeError as error:
            print(f"without the library: {error}")
        ctypes.CDLL(str(library))  # registers its kernels
        stock = call(folder / "executorch.pte", x)
        expected = x * 2.5 + x
        if not torch.equal(stock, expected) or not torch.equal(ours, expected):
            sys.exit(f"stock {stock}, etx {ours}, expected {expected}")
        print("both runtimes give what PyTorch gives")


if __name__ == "__main__":
    main()
