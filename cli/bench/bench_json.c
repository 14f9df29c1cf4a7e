#include "cli/bench/bench_report.h"

static json_t* json_of_cost(const etx_operator_cost* cost) {
  json_t* const row = json_object();
  json_object_set_new(row, "multiply_adds",
                      etx_json_unsigned(cost->multiply_adds));
  json_object_set_new(row, "byte_multiply_adds",
                      etx_json_unsigned(cost->byte_multiply_adds));
  json_object_set_new(row, "bytes", etx_json_unsigned(cost->bytes));
  json_object_set_new(row, "constant_bytes",
                      etx_json_unsigned(cost->constant_bytes));
  return row;
}

static json_t* json_of_operator(const etx_bench_operator* from,
                                const etx_bench_program* program) {
  json_t* const row = json_object();
  json_object_set_new(row, "name", json_string(from->op->name));
  json_object_set_new(row, "overload", json_string(from->op->overload));
  json_object_set_new(row, "kind",
                      json_string(etx_operator_cost_kind(from->op)));
  json_object_set_new(row, "calls", etx_json_unsigned(from->calls));
  if (!program->is_static) {
    json_object_set_new(row, "seconds", json_real(from->seconds));
  }
  json_object_set_new(row, "cost", json_of_cost(&from->cost));
  return row;
}

static json_t* json_of_times(const etx_bench_times* times) {
  json_t* const row = json_object();
  json_object_set_new(row, "calls", etx_json_unsigned(times->calls));
  json_object_set_new(row, "least", json_real(times->least));
  json_object_set_new(row, "p10", json_real(times->tenth));
  json_object_set_new(row, "median", json_real(times->median));
  json_object_set_new(row, "p90", json_real(times->ninetieth));
  json_object_set_new(row, "p99", json_real(times->ninety_ninth));
  return row;
}

static json_t* json_of_inputs(const etx_synthetic_inputs* inputs) {
  json_t* const list = json_array();
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_synthetic_input* const input = &inputs->items[i];
    json_t* const row = json_object();
    json_object_set_new(row, "name",
                        etx_json_text(etx_text_of(input->port.name)));
    if (input->ordered.data != NULL) {
      json_object_set_new(row, "type",
                          json_string(etx_dtype_name(input->tensor.dtype)));
      json_object_set_new(
          row, "sizes",
          etx_json_sizes(input->tensor.sizes, input->tensor.rank));
    }
    json_array_append_new(list, row);
  }
  return list;
}

static json_t* json_of_memory(const etx_memory_needed* memory) {
  json_t* const row = json_object();
  json_object_set_new(row, "scratch", etx_json_unsigned(memory->scratch_bytes));
  json_object_set_new(row, "temporary",
                      etx_json_unsigned(memory->temporary_bytes));
  json_object_set_new(row, "state", etx_json_unsigned(memory->state_bytes));
  json_object_set_new(row, "structures",
                      etx_json_unsigned(memory->structure_bytes));
  return row;
}

static json_t* json_of_changes(const etx_bench_changes* changes) {
  json_t* const row = json_object();
  json_object_set_new(row, "shape_phases", etx_json_unsigned(changes->phases));
  json_object_set_new(row, "kept_sizes_found",
                      etx_json_unsigned(changes->hits));
  json_object_set_new(row, "address_updates",
                      etx_json_unsigned(changes->addresses));
  return row;
}

static json_t* json_of_method(const etx_bench_result* from,
                              const etx_bench_program* program) {
  json_t* const row = json_object();
  json_object_set_new(row, "name", etx_json_text(etx_text_of(from->name)));
  json_object_set_new(row, "instructions",
                      etx_json_unsigned(from->instructions));
  if (!program->is_static) {
    json_object_set_new(row, "kernel_calls", etx_json_unsigned(from->calls));
    json_object_set_new(
        row, "variant",
        from->variant.size == 0 ? json_null() : etx_json_text(from->variant));
  }
  json_object_set_new(row, "memory", json_of_memory(&from->memory));
  json_object_set_new(row, "cost", json_of_cost(&from->cost));
  if (!program->is_static) {
    json_object_set_new(row, "load_seconds", json_real(from->load_seconds));
    json_object_set_new(row, "first_seconds", json_real(from->first_seconds));
    json_object_set_new(row, "seconds", json_of_times(&from->times));
    json_object_set_new(row, "restored", json_boolean(from->restores));
    json_object_set_new(row, "changes", json_of_changes(&from->changes));
    json_object_set_new(row, "inputs", json_of_inputs(&from->inputs));
    json_t* const limits = json_object();
    json_object_set_new(limits, "read_bytes_per_second",
                        json_real(from->limits.read_bytes));
    json_object_set_new(limits, "multiply_adds_per_second",
                        json_real(from->limits.multiply_adds));
    json_object_set_new(limits, "byte_multiply_adds_per_second",
                        json_real(from->limits.byte_multiply_adds));
    json_object_set_new(row, "limits", limits);
    json_object_set_new(
        row, "bound_seconds",
        json_real(etx_bench_roofline_seconds(&from->cost, &from->limits)));
  }
  json_t* const list = json_array();
  for (size_t i = 0; i < from->operator_count; ++i) {
    json_array_append_new(list, json_of_operator(&from->operators[i], program));
  }
  json_object_set_new(row, "operators", list);
  return row;
}

json_t* etx_bench_json(const etx_bench_program* program) {
  json_t* const root = json_object();
  json_object_set_new(root, "file", etx_json_text(etx_text_of(program->path)));
  json_object_set_new(root, "file_bytes",
                      etx_json_unsigned(program->file_bytes));
  json_object_set_new(root, "state_bytes",
                      etx_json_unsigned(program->state_bytes));
  json_object_set_new(root, "open_seconds", json_real(program->open_seconds));
  if (!program->is_static) {
    json_object_set_new(root, "threads", etx_json_unsigned(program->threads));
    json_object_set_new(root, "peak_bytes",
                        etx_json_unsigned(program->memory.peak_bytes));
    json_object_set_new(root, "own_bytes",
                        etx_json_unsigned(program->memory.own_bytes));
  }
  json_t* const list = json_array();
  for (size_t i = 0; i < program->method_count; ++i) {
    json_array_append_new(list, json_of_method(&program->methods[i], program));
  }
  json_object_set_new(root, "methods", list);
  return root;
}
