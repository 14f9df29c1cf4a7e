"""ExecuTorch's files: XNNPACK for the operators that it has, portable kernels
for the rest."""

import torch


def quantised(programs, examples, is_dynamic=True):
    """Quantises with XNNPACK's quantiser: weights per channel, activations
    dynamically per row, or statically with the ranges of the examples."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer, get_symmetric_quantization_config)
    from torchao.quantization.pt2e.quantize_pt2e import (convert_pt2e,
                                                         prepare_pt2e)
    recipe = get_symmetric_quantization_config(is_per_channel=True,
                                               is_dynamic=is_dynamic)
    out = {}
    for name, example in examples.items():
        graph = programs[name].module()
        # Buffers of the module become parameters of the graph.
        graph.requires_grad_(False)
        graph = prepare_pt2e(graph, XNNPACKQuantizer().set_global(recipe))
        graph(*example)
        graph = convert_pt2e(graph)
        graph.requires_grad_(False)
        out[name] = torch.export.export(graph, example, strict=False)
    return out


def lower(programs, examples, path, is_int8):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner)
    from executorch.exir import (ExecutorchBackendConfig,
                                 to_edge_transform_and_lower)
    from executorch.exir.passes import MemoryPlanningPass
    partitioners = [XnnpackPartitioner()]
    if is_int8:
        programs = quantised(programs, examples)
        partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    edge = to_edge_transform_and_lower(programs, partitioner=partitioners)
    program = edge.to_executorch(ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True),
        run_reinplace_pass=True))
    with open(path, "wb") as file:
        program.write_to_file(file)
