// A node of the application's operator becomes one lowered node with the same
// arguments. An imported node has results before the new contents of changed
// arguments, as in PyTorch's auto_functionalized; a lowered one has them
// behind, so that its first output can take the place of its first argument.

#include "exporter/lower/own_lowering.h"

#include "exporter/ir/own_operators.h"

static etx_status lower_own(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_own_entry* const entry =
      etx_own_operators_find(builder->module, builder->node->aten);
  const size_t count = entry->result_count + entry->changed_count;
  ETX_TRY(etx_build_row_outputs(builder, &entry->node.op, builder->args,
                                builder->arg_count, NULL, values));
  for (size_t i = 0; i < count; ++i) {
    const bool is_result = i < entry->result_count;
    builder->results[i] =
        values[is_result ? i + entry->changed_count : i - entry->result_count];
  }
  return ETX_OK;
}

const etx_lowering etx_lowering_own = {"", lower_own, NULL, ETX_OP_COUNT};
