// Prints the sections of a method, one line for each input, buffer and output.

#include "exporter/ir/ir_print_internal.h"

static void put_static_type(etx_ir_printer* p, etx_dtype dtype, uint8_t rank,
                            const int64_t* sizes) {
  etx_shape shape = {0};
  shape.dtype = dtype;
  shape.rank = rank;
  for (size_t i = 0; i < rank; ++i) shape.dims[i] = sizes[i];
  etx_ir_put_type(p, &shape);
}

static void put_dims(etx_ir_printer* p) {
  const etx_symbols* const symbols = &p->method->symbols;
  if (symbols->symbol_count == 0) return;
  etx_ir_put_string(p, "dims: {");
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    if (i != 0) etx_ir_put_string(p, ", ");
    etx_ir_print_literal(p->out, symbol->name);
    etx_text_put_format(p->out, ": {min: %i, max: %i", symbol->minimum,
                        symbol->maximum);
    if (symbol->fallback > symbol->minimum) {
      etx_text_put_format(p->out, ", fallback: %i", symbol->fallback);
    }
    etx_ir_put_string(p, "}");
  }
  etx_ir_put_string(p, "}\n");
}

static void put_alias(etx_ir_printer* p, etx_text name, etx_text value_name) {
  if (etx_text_equal(name, value_name)) return;
  etx_ir_put_string(p, ", value: ");
  etx_ir_print_literal(p->out, value_name);
}

static void put_input(etx_ir_printer* p, const etx_ir_input* input) {
  etx_ir_put_string(p, "  - {name: ");
  etx_ir_print_literal(p->out, input->name);
  if (input->arg.kind == ETX_IR_ARG_VALUE) {
    const etx_ir_value* const value = &p->method->values[input->arg.as.value];
    put_alias(p, input->name, value->name);
    etx_ir_put_string(p, ", type: ");
    etx_ir_put_type(p, &value->shape);
    if (input->is_mutable) etx_ir_put_string(p, ", mutable: true");
  } else if (input->arg.kind == ETX_IR_ARG_INT &&
             !etx_dim_is_number(input->arg.as.integer)) {
    etx_ir_put_string(p, ", sym: \"");
    etx_ir_put_size(p, input->arg.as.integer);
    etx_ir_put_string(p, "\"");
  } else {
    etx_ir_put_string(p, ", fixed: ");
    etx_ir_print_fixed(p->out, &input->arg);
  }
  etx_ir_put_string(p, "}\n");
}

static void put_inputs(etx_ir_printer* p) {
  if (p->method->input_count == 0) return;
  etx_ir_put_string(p, "inputs:\n");
  for (size_t i = 0; i < p->method->input_count; ++i) {
    put_input(p, &p->method->inputs[i]);
  }
}

static void put_buffer(etx_ir_printer* p, uint32_t index, etx_text value_name,
                       const char** heading) {
  const etx_ir_buffer* const buffer = &p->module->buffers[index];
  etx_ir_put_string(p, *heading);
  *heading = "";
  etx_ir_put_string(p, "  - {name: ");
  etx_ir_print_literal(p->out, buffer->name);
  put_alias(p, buffer->name, value_name);
  etx_ir_put_string(p, ", type: ");
  put_static_type(p, buffer->dtype, buffer->rank, buffer->sizes);
  etx_ir_put_string(p, ", init: ");
  if (buffer->initial == ETX_IR_NONE) {
    etx_ir_put_string(p, "0");
  } else {
    etx_ir_print_constant(p->module, buffer->initial, p->options, p->out);
  }
  etx_ir_put_string(p, "}\n");
}

static bool has_buffer_value(const etx_ir_method* method, uint32_t buffer) {
  for (size_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].origin == ETX_IR_FROM_BUFFER &&
        method->values[i].index == buffer) {
      return true;
    }
  }
  return false;
}

// The name under which a buffer is listed: the name of its value or, if the
// method does not read it, the buffer's own name, made different from the names
// of all values.
static etx_text buffer_label(etx_ir_printer* p, uint32_t buffer) {
  const etx_ir_method* const method = p->method;
  for (size_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].origin == ETX_IR_FROM_BUFFER &&
        method->values[i].index == buffer) {
      return method->values[i].name;
    }
  }
  etx_text word = p->module->buffers[buffer].name;
  uint32_t taken = 0;
  while (etx_ir_find_value(method, word, &taken)) {
    char* const longer = etx_pool_take(p->out->pool, word.size + 6);
    if (longer == NULL) {
      p->status = ETX_OUT_OF_MEMORY;
      break;
    }
    memcpy(longer, word.data, word.size);
    memcpy(longer + word.size, "_state", 6);
    word.data = longer;
    word.size += 6;
  }
  return word;
}

// Buffers that the method reads, in the order of their values; then buffers
// that it only writes or that options->listed asks for.
static void put_buffers(etx_ir_printer* p) {
  const char* heading = "buffers:\n";
  const etx_ir_method* const method = p->method;
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_ir_value* const value = &method->values[i];
    if (value->origin != ETX_IR_FROM_BUFFER) continue;
    put_buffer(p, value->index, value->name, &heading);
  }
  for (uint32_t i = 0; i < p->module->buffer_count; ++i) {
    const bool is_listed = p->options != NULL && p->options->listed != NULL &&
                           p->options->listed[i];
    if (has_buffer_value(method, i) ||
        !(is_listed || etx_ir_mutation_of_buffer(method, i) != ETX_IR_NONE)) {
      continue;
    }
    put_buffer(p, i, buffer_label(p, i), &heading);
  }
}

static void put_constants(etx_ir_printer* p) {
  const char* heading = "constants:\n";
  for (size_t i = 0; i < p->method->value_count; ++i) {
    const etx_ir_value* const value = &p->method->values[i];
    if (value->origin != ETX_IR_FROM_CONSTANT) continue;
    etx_ir_put_string(p, heading);
    heading = "";
    etx_ir_put_string(p, "  - {name: ");
    etx_ir_print_literal(p->out, value->name);
    etx_ir_put_string(p, ", type: ");
    etx_ir_put_type(p, &value->shape);
    etx_ir_put_string(p, ", init: ");
    etx_ir_print_constant(p->module, value->index, p->options, p->out);
    etx_ir_put_string(p, "}\n");
  }
}

static void put_outputs(etx_ir_printer* p) {
  if (p->method->output_count == 0) {
    etx_ir_put_string(p, "outputs: []\n");
    return;
  }
  etx_ir_put_string(p, "outputs:\n");
  for (size_t i = 0; i < p->method->output_count; ++i) {
    const etx_ir_output* const output = &p->method->outputs[i];
    etx_ir_put_string(p, "  - {name: ");
    etx_ir_print_literal(p->out, output->name);
    if (output->arg.kind == ETX_IR_ARG_VALUE) {
      etx_ir_put_string(p, output->is_number ? ", number: " : ", value: ");
      etx_ir_put_value(p, output->arg.as.value);
    } else if (output->arg.kind == ETX_IR_ARG_INT &&
               !etx_dim_is_number(output->arg.as.integer)) {
      etx_ir_put_string(p, ", sym: \"");
      etx_ir_put_size(p, output->arg.as.integer);
      etx_ir_put_string(p, "\"");
    } else {
      etx_ir_put_string(p, ", fixed: ");
      etx_ir_print_fixed(p->out, &output->arg);
    }
    etx_ir_put_string(p, "}\n");
  }
}

static etx_text target_label(etx_ir_printer* p,
                             const etx_ir_mutation* mutation) {
  if (!mutation->is_input) return buffer_label(p, mutation->target);
  const etx_ir_input* const input = &p->method->inputs[mutation->target];
  return p->method->values[input->arg.as.value].name;
}

static void put_mutations(etx_ir_printer* p) {
  if (p->method->mutation_count == 0) return;
  etx_ir_put_string(p, "mutates:\n");
  for (size_t i = 0; i < p->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &p->method->mutations[i];
    etx_ir_put_string(p, "  ");
    etx_ir_print_literal(p->out, target_label(p, mutation));
    etx_ir_put_string(p, ": ");
    etx_ir_put_value(p, mutation->value);
    etx_ir_put_string(p, "\n");
  }
}

etx_status etx_ir_print_method(const etx_ir_module* module,
                               const etx_ir_method* method,
                               const etx_ir_print_options* options,
                               etx_text_buffer* out) {
  etx_ir_printer p = {module, method, options, out, ETX_OK};
  etx_ir_put_string(&p, "etx: 1\nmethod: ");
  etx_ir_print_literal(out, method->name);
  etx_ir_put_string(&p, "\n");
  put_dims(&p);
  put_inputs(&p);
  put_buffers(&p);
  put_constants(&p);
  etx_ir_put_nodes(&p);
  put_outputs(&p);
  put_mutations(&p);
  return p.status != ETX_OK ? p.status : out->status;
}

etx_status etx_ir_print(const etx_ir_module* module, const etx_sink* sink) {
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_pool scratch;
    etx_text_buffer out;
    etx_pool_init(&scratch);
    etx_text_buffer_init(&out, &scratch);
    if (i != 0) etx_text_put_string(&out, "---\n");
    etx_status status =
        etx_ir_print_method(module, &module->methods[i], NULL, &out);
    if (status == ETX_OK) status = etx_sink_write(sink, out.data, out.size);
    etx_pool_close(&scratch);
    ETX_TRY(status);
  }
  return ETX_OK;
}
