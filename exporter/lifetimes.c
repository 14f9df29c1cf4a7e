#include "exporter/lifetimes.h"

typedef struct finding {
  const etx_ir_method* method;
  const etx_placement* placement;
  etx_lifetime* lifetimes;
  uint32_t node;
} finding;

static void touch(finding* f, uint32_t value, uint32_t time) {
  const uint32_t index = etx_place_range(f->placement, value).storage;
  if (f->placement->storages[index].kind != ETX_STORAGE_SCRATCH) return;
  etx_lifetime* const lifetime = &f->lifetimes[index];
  if (lifetime->end == 0 || time < lifetime->start) lifetime->start = time;
  if (time + 1 > lifetime->end) lifetime->end = time + 1;
}

static etx_status note_read(void* context, size_t argument, uint32_t value) {
  finding* const f = context;
  (void)argument;
  touch(f, value, f->node);
  return ETX_OK;
}

etx_status etx_lifetimes_find(etx_pool* pool, const etx_ir_method* method,
                              const etx_placement* placement,
                              etx_lifetime** out_lifetimes) {
  finding f = {method, placement, NULL, 0};
  f.lifetimes =
      etx_pool_take(pool, placement->storage_count * sizeof *f.lifetimes);
  if (f.lifetimes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_arg* const arg = &method->inputs[i].arg;
    if (arg->kind == ETX_IR_ARG_VALUE) touch(&f, arg->as.value, 0);
  }
  for (; f.node < method->node_count; ++f.node) {
    const etx_ir_node* const node = &method->nodes[f.node];
    for (size_t i = 0; i < node->output_count; ++i) {
      const uint32_t value = node->outputs[i];
      if (value == ETX_IR_NONE ||
          placement->places[value].way != ETX_WAY_WRITTEN) {
        continue;
      }
      touch(&f, value, f.node);
    }
    if (!etx_place_node_runs(placement, node)) continue;
    ETX_TRY(etx_place_each_read(node, note_read, &f));
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    touch(&f, method->mutations[i].value, f.node);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_ir_output* const output = &method->outputs[i];
    if (output->arg.kind != ETX_IR_ARG_VALUE) continue;
    touch(&f, output->arg.as.value, f.node);
    const uint32_t storage =
        etx_place_range(placement, output->arg.as.value).storage;
    if (output->lifetime == ETX_IR_STABLE &&
        placement->storages[storage].kind == ETX_STORAGE_SCRATCH) {
      f.lifetimes[storage].is_stable = true;
    }
  }
  *out_lifetimes = f.lifetimes;
  return ETX_OK;
}
