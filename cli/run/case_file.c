#include "cli/run/case_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "exporter/host/host_file.h"

typedef struct case_reader {
  etx_pool* pool;
  etx_case_file* file;
  size_t call;  // position of the current call, for messages
  etx_diag* diag;
} case_reader;

static etx_status refuse(const case_reader* in, const char* what) {
  return etx_diag_fail(in->diag, ETX_BAD_FILE, "call %z: %s", in->call, what);
}

static etx_status take(const case_reader* in, size_t count, size_t bytes,
                       void** out) {
  *out = etx_pool_take(in->pool, count * bytes);
  if (*out != NULL) return ETX_OK;
  return etx_diag_fail(in->diag, ETX_OUT_OF_MEMORY,
                       "not enough memory for calls");
}

static etx_text text_of(const json_t* string) {
  const etx_text text = {json_string_value(string), json_string_length(string)};
  return text;
}

static etx_status copy_text(const case_reader* in, const json_t* string,
                            etx_text* out) {
  *out = etx_pool_copy_text(in->pool, text_of(string));
  if (out->data != NULL) return ETX_OK;
  return etx_diag_fail(in->diag, ETX_OUT_OF_MEMORY,
                       "not enough memory for a name");
}

static etx_status find_tensor(const case_reader* in, const json_t* key,
                              const etx_host_tensor** out) {
  if (!json_is_string(key)) {
    return refuse(in, "the key of a tensor is not a string");
  }
  *out = etx_tensor_set_find(&in->file->tensors, text_of(key));
  if (*out != NULL) return ETX_OK;
  return etx_diag_fail(in->diag, ETX_NOT_FOUND,
                       "call %z: expected.safetensors has no tensor '%t'",
                       in->call, text_of(key));
}

static etx_status read_value(const case_reader* in, const json_t* value,
                             etx_case_value* out) {
  const json_t* const tensor = json_object_get(value, "tensor");
  const json_t* const integer = json_object_get(value, "int");
  const json_t* const real = json_object_get(value, "float");
  const json_t* const boolean = json_object_get(value, "bool");
  const json_t* const string = json_object_get(value, "string");
  if (tensor != NULL) {
    out->kind = ETX_CASE_TENSOR;
    return find_tensor(in, tensor, &out->tensor);
  }
  if (json_is_integer(integer)) {
    out->kind = ETX_CASE_INT;
    out->integer = json_integer_value(integer);
  } else if (json_is_number(real)) {
    out->kind = ETX_CASE_REAL;
    out->real = json_number_value(real);
  } else if (json_is_boolean(boolean)) {
    out->kind = ETX_CASE_BOOL;
    out->boolean = json_is_true(boolean);
  } else if (json_is_string(string)) {
    out->kind = ETX_CASE_STRING;
    return copy_text(in, string, &out->string);
  } else if (json_object_get(value, "none") != NULL) {
    out->kind = ETX_CASE_NONE;
  } else {
    return refuse(in,
                  "a value has an unknown kind, expected tensor, int, float, "
                  "bool, string or none");
  }
  return ETX_OK;
}

static etx_status read_values(const case_reader* in, const json_t* list,
                              etx_case_value** out, size_t* out_count) {
  if (!json_is_array(list)) {
    return refuse(in, "'inputs' or 'outputs' is not a list");
  }
  void* items = NULL;
  const size_t count = json_array_size(list);
  ETX_TRY(take(in, count, sizeof **out, &items));
  *out = items;
  *out_count = count;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(read_value(in, json_array_get(list, i), &(*out)[i]));
  }
  return ETX_OK;
}

static etx_status read_mutations(const case_reader* in, const json_t* list,
                                 etx_case_call* call) {
  void* items = NULL;
  const size_t count = json_array_size(list);
  ETX_TRY(take(in, count, sizeof *call->mutations, &items));
  call->mutations = items;
  call->mutation_count = count;
  for (size_t i = 0; i < count; ++i) {
    const json_t* const row = json_array_get(list, i);
    const json_t* const input = json_object_get(row, "input");
    if (!json_is_integer(input) || json_integer_value(input) < 0 ||
        (size_t)json_integer_value(input) >= call->input_count) {
      return refuse(in, "'input_mutations' names an input that does not exist");
    }
    call->mutations[i].input = (size_t)json_integer_value(input);
    ETX_TRY(find_tensor(in, json_object_get(row, "tensor"),
                        &call->mutations[i].tensor));
  }
  return ETX_OK;
}

static etx_status read_states(const case_reader* in, json_t* object,
                              etx_case_call* call) {
  void* items = NULL;
  ETX_TRY(take(in, json_object_size(object), sizeof *call->states, &items));
  call->states = items;
  const char* key = NULL;
  json_t* value = NULL;
  json_object_foreach(object, key, value) {
    etx_case_state* const state = &call->states[call->state_count++];
    state->name = etx_pool_copy_text(in->pool, etx_text_of(key));
    if (state->name.data == NULL) {
      return etx_diag_fail(in->diag, ETX_OUT_OF_MEMORY,
                           "not enough memory for a name");
    }
    ETX_TRY(find_tensor(in, value, &state->tensor));
  }
  return ETX_OK;
}

static etx_status read_call(const case_reader* in, const json_t* object,
                            etx_case_call* call) {
  call->is_reset = json_is_true(json_object_get(object, "reset"));
  if (call->is_reset) return ETX_OK;
  const json_t* const length = json_object_get(object, "truncate");
  call->truncates = json_is_integer(length) && json_integer_value(length) >= 0;
  call->length = (uint64_t)json_integer_value(length);
  if (call->truncates) return ETX_OK;
  const json_t* const method = json_object_get(object, "method");
  if (!json_is_string(method)) {
    return refuse(in, "it has none of 'method', 'reset', 'truncate'");
  }
  etx_text name;
  ETX_TRY(copy_text(in, method, &name));
  call->method = name.data;
  call->is_refused = json_is_true(json_object_get(object, "refused"));
  ETX_TRY(read_values(in, json_object_get(object, "inputs"), &call->inputs,
                      &call->input_count));
  const json_t* const outputs = json_object_get(object, "outputs");
  if (outputs != NULL) {
    ETX_TRY(read_values(in, outputs, &call->outputs, &call->output_count));
  }
  ETX_TRY(read_mutations(in, json_object_get(object, "input_mutations"), call));
  return read_states(in, json_object_get(object, "state"), call);
}

static etx_status read_document(case_reader* in, const json_t* document) {
  const json_t* const calls = json_object_get(document, "calls");
  const json_t* const absolute = json_object_get(document, "atol");
  const json_t* const relative = json_object_get(document, "rtol");
  if (!json_is_array(calls) || !json_is_number(absolute) ||
      !json_is_number(relative)) {
    return etx_diag_fail(in->diag, ETX_BAD_FILE,
                         "cases.json lacks 'calls', 'atol' or 'rtol'");
  }
  in->file->tolerance.absolute = json_number_value(absolute);
  in->file->tolerance.relative = json_number_value(relative);
  void* items = NULL;
  ETX_TRY(take(in, json_array_size(calls), sizeof *in->file->calls, &items));
  in->file->calls = items;
  in->file->call_count = json_array_size(calls);
  for (in->call = 0; in->call < in->file->call_count; ++in->call) {
    ETX_TRY(read_call(in, json_array_get(calls, in->call),
                      &in->file->calls[in->call]));
  }
  return ETX_OK;
}

etx_status etx_case_file_read(const char* directory, etx_pool* pool,
                              etx_case_file* out_file, etx_diag* diag) {
  const etx_text cases = etx_pool_format(pool, "%s/cases.json", directory);
  const etx_text tensors =
      etx_pool_format(pool, "%s/expected.safetensors", directory);
  if (cases.data == NULL || tensors.data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for a path");
  }
  etx_case_file file = {.call_count = 0};
  ETX_TRY(etx_tensor_set_read(tensors.data, pool, &file.tensors, diag));
  etx_bytes text;
  ETX_TRY(etx_file_read(pool, cases.data, &text, diag));
  json_error_t error;
  errno = 0;
  json_t* const document = json_loadb((const char*)text.data, text.size,
                                      JSON_REJECT_DUPLICATES, &error);
  if (document == NULL && errno == ENOMEM) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "not enough memory for '%s'",
                         cases.data);
  }
  if (document == NULL) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "'%s' line %i: %s", cases.data,
                         (int64_t)error.line, error.text);
  }
  case_reader in = {pool, &file, 0, diag};
  const etx_status status = read_document(&in, document);
  json_decref(document);
  if (status == ETX_OK) *out_file = file;
  return status;
}

etx_value etx_case_scalar(const etx_case_value* from) {
  etx_value value = {.kind = ETX_VALUE_NONE};
  switch (from->kind) {
    case ETX_CASE_INT:
      value.kind = ETX_VALUE_INT;
      value.as.integer = from->integer;
      break;
    case ETX_CASE_REAL:
      value.kind = ETX_VALUE_DOUBLE;
      value.as.real = from->real;
      break;
    case ETX_CASE_BOOL:
      value.kind = ETX_VALUE_BOOL;
      value.as.boolean = from->boolean;
      break;
    case ETX_CASE_STRING:
      value.kind = ETX_VALUE_STRING;
      value.as.string = from->string;
      break;
    case ETX_CASE_NONE:
    case ETX_CASE_TENSOR:
      break;
  }
  return value;
}
