#include "format/base/assertion.h"
#include "format/flatbuffers/fb_builder.h"
#include "format/pte/etx_blob.h"
#include "format/pte/etx_blob_schema.h"

static etx_fb_ref build_input(etx_fb_builder* b, const etx_blob_input* input) {
  const etx_fb_ref name = etx_fb_builder_string(b, input->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_BLOB_Input_name, name);
  etx_fb_builder_add_u8(b, ETX_BLOB_Input_is_mutable, input->is_mutable, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_inputs(etx_fb_builder* b,
                               const etx_blob_method* method) {
  const size_t refs = etx_fb_builder_reserve_refs(b, method->input_count);
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_input(b, &method->inputs[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->input_count);
}

static etx_fb_ref build_output(etx_fb_builder* b,
                               const etx_blob_output* output) {
  const etx_fb_ref name = etx_fb_builder_string(b, output->name);
#if ETX_DYNAMIC
  etx_fb_ref sizes = 0;
  if (output->sizes.size > 0) sizes = etx_fb_builder_string(b, output->sizes);
#endif
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_BLOB_Output_name, name);
#if ETX_DYNAMIC
  if (output->sizes.size > 0) {
    etx_fb_builder_add_ref(b, ETX_BLOB_Output_sizes, sizes);
  }
#endif
  etx_fb_builder_add_i32(b, ETX_BLOB_Output_mutated_input,
                         output->mutated_input, -1);
  etx_fb_builder_add_u8(b, ETX_BLOB_Output_lifetime, (uint8_t)output->lifetime,
                        0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_outputs(etx_fb_builder* b,
                                const etx_blob_method* method) {
  const size_t refs = etx_fb_builder_reserve_refs(b, method->output_count);
  for (size_t i = 0; i < method->output_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_output(b, &method->outputs[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->output_count);
}

static etx_fb_ref build_symbol(etx_fb_builder* b,
                               const etx_blob_symbol* symbol) {
  const etx_fb_ref name = etx_fb_builder_string(b, symbol->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_i64(b, ETX_BLOB_Symbol_maximum, symbol->maximum, 0);
  etx_fb_builder_add_i64(b, ETX_BLOB_Symbol_minimum, symbol->minimum, 0);
  etx_fb_builder_add_ref(b, ETX_BLOB_Symbol_name, name);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_symbols(etx_fb_builder* b,
                                const etx_blob_method* method) {
  const size_t refs = etx_fb_builder_reserve_refs(b, method->symbol_count);
  for (size_t i = 0; i < method->symbol_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_symbol(b, &method->symbols[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->symbol_count);
}

static etx_fb_ref build_input_dim(etx_fb_builder* b,
                                  const etx_blob_input_dim* dim) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_i64(b, ETX_BLOB_InputDim_offset, dim->offset, 0);
  etx_fb_builder_add_i64(b, ETX_BLOB_InputDim_factor, dim->factor, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_InputDim_symbol, dim->symbol, 0);
  etx_fb_builder_add_i32(b, ETX_BLOB_InputDim_dim, dim->dim, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_InputDim_input, dim->input, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_input_dims(etx_fb_builder* b,
                                   const etx_blob_method* method) {
  const size_t refs = etx_fb_builder_reserve_refs(b, method->input_dim_count);
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i,
                           build_input_dim(b, &method->input_dims[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->input_dim_count);
}

static etx_fb_ref build_view(etx_fb_builder* b, const etx_blob_view* view) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_u64(b, ETX_BLOB_View_offset, view->offset, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_View_base, view->base, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_View_value, view->value, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_views(etx_fb_builder* b,
                              const etx_blob_method* method) {
  const size_t refs = etx_fb_builder_reserve_refs(b, method->view_count);
  for (size_t i = 0; i < method->view_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_view(b, &method->views[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->view_count);
}

static etx_fb_ref build_place(etx_fb_builder* b, const etx_blob_place* place) {
  etx_fb_builder_start(b);
  etx_fb_builder_add_u64(b, ETX_BLOB_Place_bytes, place->bytes, 0);
  etx_fb_builder_add_u64(b, ETX_BLOB_Place_offset, place->offset, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_Place_layout, place->layout, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_Place_value, place->value, 0);
  return etx_fb_builder_end(b);
}

// Absent if there are none.
static etx_fb_ref build_places(etx_fb_builder* b,
                               const etx_blob_method* method) {
  if (method->place_count == 0) return 0;
  const size_t refs = etx_fb_builder_reserve_refs(b, method->place_count);
  for (size_t i = 0; i < method->place_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_place(b, &method->places[i]));
  }
  return etx_fb_builder_table_vector(b, refs, method->place_count);
}

static etx_fb_ref build_method(etx_fb_builder* b,
                               const etx_blob_method* method) {
  const etx_fb_ref places = build_places(b, method);
  const etx_fb_ref views = build_views(b, method);
  const etx_fb_ref input_dims = build_input_dims(b, method);
  const etx_fb_ref symbols = build_symbols(b, method);
  const etx_fb_ref outputs = build_outputs(b, method);
  const etx_fb_ref inputs = build_inputs(b, method);
  const etx_fb_ref name = etx_fb_builder_string(b, method->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_places, places);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_views, views);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_input_dims, input_dims);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_symbols, symbols);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_outputs, outputs);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_inputs, inputs);
  etx_fb_builder_add_ref(b, ETX_BLOB_Method_name, name);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_methods(etx_fb_builder* b,
                                const etx_blob_content* content) {
  const size_t refs = etx_fb_builder_reserve_refs(b, content->method_count);
  for (size_t i = 0; i < content->method_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_method(b, &content->methods[i]));
  }
  return etx_fb_builder_table_vector(b, refs, content->method_count);
}

static etx_fb_ref build_state(etx_fb_builder* b, const etx_blob_state* state) {
  const etx_fb_ref sizes =
      etx_fb_builder_vector(b, state->sizes, state->rank, 4, 4);
  const etx_fb_ref name = etx_fb_builder_string(b, state->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_u64(b, ETX_BLOB_State_offset, state->offset, 0);
  etx_fb_builder_add_u32(b, ETX_BLOB_State_data_buffer_index,
                         state->data_buffer_index, 0);
  etx_fb_builder_add_ref(b, ETX_BLOB_State_sizes, sizes);
  etx_fb_builder_add_ref(b, ETX_BLOB_State_name, name);
  etx_fb_builder_add_u8(b, ETX_BLOB_State_is_uniform, state->is_uniform, 0);
  etx_fb_builder_add_i8(b, ETX_BLOB_State_dtype, (int8_t)state->dtype, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_states(etx_fb_builder* b,
                               const etx_blob_content* content) {
  const size_t refs = etx_fb_builder_reserve_refs(b, content->state_count);
  for (size_t i = 0; i < content->state_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_state(b, &content->states[i]));
  }
  return etx_fb_builder_table_vector(b, refs, content->state_count);
}

// All pairs in one vector, two numbers each; absent if there are none.
static etx_fb_ref build_concurrent(etx_fb_builder* b,
                                   const etx_blob_content* content) {
  if (content->concurrent_count == 0) return 0;
  return etx_fb_builder_vector(b, content->concurrent,
                               2 * content->concurrent_count, 4, 4);
}

static etx_status build_blob(etx_fb_builder* b, const etx_blob_content* content,
                             etx_bytes_mut* out_blob) {
  const etx_fb_ref concurrent = build_concurrent(b, content);
  const etx_fb_ref states = build_states(b, content);
  const etx_fb_ref methods = build_methods(b, content);
  const etx_fb_ref options = etx_fb_builder_string(b, content->options);
  const etx_fb_ref target = etx_fb_builder_string(b, content->target);
  const etx_fb_ref fingerprint = etx_fb_builder_vector(
      b, content->fingerprint, ETX_FINGERPRINT_BYTES, 1, 1);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_concurrent, concurrent);
  etx_fb_builder_add_u64(b, ETX_BLOB_Blob_state_bytes, content->state_bytes, 0);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_states, states);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_methods, methods);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_options, options);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_target, target);
  etx_fb_builder_add_ref(b, ETX_BLOB_Blob_fingerprint, fingerprint);
  const etx_fb_ref root = etx_fb_builder_end(b);
  return etx_fb_builder_finish(b, root, etx_blob_schema.identifier, out_blob);
}

etx_status etx_blob_write_needed(const etx_blob_content* content,
                                 size_t* out_bytes) {
  etx_fb_builder b;
  etx_bytes_mut none = {NULL, 0};
  etx_fb_builder_init_counting(&b);
  if (build_blob(&b, content, &none) != ETX_OK) return ETX_OUT_OF_RANGE;
  *out_bytes = etx_fb_builder_peak(&b);
  return ETX_OK;
}

etx_status etx_blob_write(const etx_blob_content* content, etx_bytes_mut work,
                          etx_bytes* out_blob, etx_diag* diag) {
  etx_fb_builder b;
  etx_bytes_mut blob = {NULL, 0};
  etx_fb_builder_init(&b, work);
  if (build_blob(&b, content, &blob) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "writing '%s' needs more than %z bytes of working "
                         "memory",
                         ETX_BLOB_KEY, work.size);
  }
  out_blob->data = blob.data;
  out_blob->size = blob.size;
  return ETX_OK;
}
