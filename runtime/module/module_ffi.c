// Opaque pointers over modules (module.h). A session has a module of its own
// over the file of its program, so that sessions of several threads share
// nothing that is written but the count of references.

#include "runtime/module/module_ffi.h"

#include <stdlib.h>

#include "format/tensor/layout.h"
#include "runtime/module/module.h"
#include "runtime/program/argument_check.h"

_Static_assert((int)ETX_FFI_MAX_RANK == ETX_MAX_RANK, "another rank");
_Static_assert((int)ETX_FFI_NONE == (int)ETX_VALUE_NONE &&
                   (int)ETX_FFI_INT == (int)ETX_VALUE_INT &&
                   (int)ETX_FFI_BOOL == (int)ETX_VALUE_BOOL &&
                   (int)ETX_FFI_DOUBLE == (int)ETX_VALUE_DOUBLE &&
                   (int)ETX_FFI_TENSOR == (int)ETX_VALUE_TENSOR &&
                   (int)ETX_FFI_STRING == (int)ETX_VALUE_STRING,
               "other numbers of kinds");

struct etx_ffi_error {
  etx_diag diag;
  etx_status status;
};

struct etx_ffi_program {
  etx_module module;
  size_t references;  // itself and its sessions; atomic
};

struct etx_ffi_method {
  etx_ffi_method* next;
  etx_method* method;   // of the session's module
  etx_value described;  // the last input or output
};

struct etx_ffi_session {
  etx_ffi_program* program;
  etx_module module;         // over the program's file
  etx_module_shared shared;  // the state
  etx_ffi_method* methods;   // that were asked for
  etx_value shown;           // the last state or constant
  etx_state_hold state_hold;
  etx_constant_hold constant_hold;
};

// ---- errors ----

static etx_diag* start_call(etx_ffi_error* error) {
  if (error == NULL) return NULL;
  etx_diag_init(&error->diag);
  return &error->diag;
}

static int32_t end_call(etx_ffi_error* error, etx_status status) {
  if (error != NULL) error->status = status;
  return (int32_t)status;
}

static etx_status refuse_null(const char* name, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "'%s' is NULL", name);
}

static etx_status check_index(const char* what, int64_t index, size_t count,
                              etx_diag* diag) {
  if (index >= 0 && (uint64_t)index < count) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "there is no %s %i, the method has %z", what, index,
                       count);
}

int32_t etx_ffi_version(void) { return ETX_FFI_VERSION; }

const char* etx_ffi_status_name(int32_t status) {
  return status >= 0 && status < (int32_t)ETX_STATUS_COUNT
             ? etx_status_name((etx_status)status)
             : "UNKNOWN";
}

etx_ffi_error* etx_ffi_error_open(void) {
  etx_ffi_error* const error = calloc(1, sizeof *error);
  (void)start_call(error);
  return error;
}

void etx_ffi_error_close(etx_ffi_error* error) { free(error); }

const char* etx_ffi_error_text(const etx_ffi_error* error) {
  if (error == NULL || error->status == ETX_OK) return "";
  return error->diag.text_size != 0 ? error->diag.text
                                    : etx_status_text(error->status);
}

// ---- programs ----

// Opens the file at `path`, or the bytes if it is NULL.
static etx_status open_program(const char* path, etx_bytes file,
                               etx_ffi_program** out_program, etx_diag* diag) {
  if (out_program == NULL) return refuse_null("out_program", diag);
  etx_ffi_program* const program = calloc(1, sizeof *program);
  if (program == NULL) return ETX_OUT_OF_MEMORY;
  program->references = 1;
  const etx_status status =
      path != NULL ? etx_module_open(&program->module, path, NULL, diag)
                   : etx_module_open_bytes(&program->module, file, NULL, diag);
  if (status == ETX_OK) {
    *out_program = program;
  } else {
    free(program);
  }
  return status;
}

int32_t etx_ffi_program_open(const char* path, etx_ffi_program** out_program,
                             etx_ffi_error* error) {
  etx_diag* const diag = start_call(error);
  const etx_bytes none = {NULL, 0};
  return end_call(error, path == NULL
                             ? refuse_null("path", diag)
                             : open_program(path, none, out_program, diag));
}

int32_t etx_ffi_program_open_bytes(const void* file, size_t file_bytes,
                                   etx_ffi_program** out_program,
                                   etx_ffi_error* error) {
  etx_diag* const diag = start_call(error);
  const etx_bytes bytes = {(const uint8_t*)file, file_bytes};
  return end_call(error, file == NULL
                             ? refuse_null("file", diag)
                             : open_program(NULL, bytes, out_program, diag));
}

void etx_ffi_program_close(etx_ffi_program* program) {
  if (program == NULL ||
      __atomic_sub_fetch(&program->references, 1, __ATOMIC_ACQ_REL) != 0) {
    return;
  }
  etx_module_close(&program->module);
  free(program);
}

int64_t etx_ffi_program_method_count(const etx_ffi_program* program) {
  return program == NULL
             ? 0
             : (int64_t)etx_program_method_count(&program->module.program);
}

// Returns the text and its length; text without bytes is not NULL.
static const char* give_text(etx_text text, size_t* out_bytes) {
  if (out_bytes != NULL) *out_bytes = text.size;
  return text.data == NULL ? "" : text.data;
}

const char* etx_ffi_program_method_name(const etx_ffi_program* program,
                                        int64_t index, size_t* out_bytes) {
  etx_method_info info;
  if (index < 0 || index >= etx_ffi_program_method_count(program)) return NULL;
  if (etx_program_method_at(&program->module.program, (size_t)index, &info) !=
      ETX_OK) {
    return NULL;
  }
  return give_text(info.name, out_bytes);
}

// ---- sessions ----

static etx_status open_session(etx_ffi_program* program,
                               etx_ffi_session** out_session, etx_diag* diag) {
  if (program == NULL) return refuse_null("program", diag);
  if (out_session == NULL) return refuse_null("out_session", diag);
  etx_ffi_session* const session = calloc(1, sizeof *session);
  if (session == NULL) return ETX_OUT_OF_MEMORY;
  etx_module_share(&session->module, &program->module);
  const etx_status status =
      etx_module_shared_open(&session->shared, &session->module, diag);
  if (status != ETX_OK) {
    free(session);
    return status;
  }
  (void)__atomic_add_fetch(&program->references, 1, __ATOMIC_RELAXED);
  session->program = program;
  *out_session = session;
  return ETX_OK;
}

int32_t etx_ffi_session_open(etx_ffi_program* program,
                             etx_ffi_session** out_session,
                             etx_ffi_error* error) {
  return end_call(error, open_session(program, out_session, start_call(error)));
}

void etx_ffi_session_close(etx_ffi_session* session) {
  if (session == NULL) return;
  while (session->methods != NULL) {
    etx_ffi_method* const method = session->methods;
    session->methods = method->next;
    free(method);
  }
  etx_module_shared_close(&session->shared);
  etx_module_close(&session->module);
  etx_ffi_program_close(session->program);
  free(session);
}

// Loads the method unless it is loaded, and adds it to those of the session.
static etx_status add_method(etx_ffi_session* session, const char* name,
                             etx_ffi_method** out_method, etx_diag* diag) {
  etx_module* const module = &session->module;
  etx_planned_memory state;
  if (etx_module_method(module, name) == NULL) {
    ETX_TRY(etx_module_shared_allocator(&session->shared, name, &state, diag));
    ETX_TRY(etx_module_load_method(module, name, &state, diag));
  }
  etx_ffi_method* const method = calloc(1, sizeof *method);
  if (method == NULL) return ETX_OUT_OF_MEMORY;
  method->method = etx_module_method(module, name);
  method->next = session->methods;
  session->methods = method;
  *out_method = method;
  return ETX_OK;
}

static etx_status find_method(etx_ffi_session* session, const char* name,
                              etx_ffi_method** out_method, etx_diag* diag) {
  if (session == NULL) return refuse_null("session", diag);
  if (name == NULL) return refuse_null("name", diag);
  if (out_method == NULL) return refuse_null("out_method", diag);
  const etx_method* const loaded = etx_module_method(&session->module, name);
  etx_ffi_method* found = loaded == NULL ? NULL : session->methods;
  while (found != NULL && found->method != loaded) found = found->next;
  if (found == NULL) return add_method(session, name, out_method, diag);
  *out_method = found;
  return ETX_OK;
}

int32_t etx_ffi_session_method(etx_ffi_session* session, const char* name,
                               etx_ffi_method** out_method,
                               etx_ffi_error* error) {
  return end_call(error,
                  find_method(session, name, out_method, start_call(error)));
}

static const etx_ffi_value* give_value(const etx_value* value) {
  return (const etx_ffi_value*)(const void*)value;
}

static etx_status find_constant(etx_ffi_session* session, const char* name,
                                const etx_ffi_value** out_value,
                                etx_diag* diag) {
  etx_value value;
  etx_constant_hold hold;
  if (session == NULL) return refuse_null("session", diag);
  if (name == NULL) return refuse_null("name", diag);
  if (out_value == NULL) return refuse_null("out_value", diag);
  ETX_TRY(etx_program_constant(&session->module.program, etx_text_of(name),
                               &value, &hold, diag));
  session->shown = value;
  session->constant_hold = hold;
  if (value.kind == ETX_VALUE_TENSOR) {
    session->shown.as.tensor.strides = session->constant_hold.strides;
  }
  *out_value = give_value(&session->shown);
  return ETX_OK;
}

int32_t etx_ffi_session_constant(etx_ffi_session* session, const char* name,
                                 const etx_ffi_value** out_value,
                                 etx_ffi_error* error) {
  return end_call(error,
                  find_constant(session, name, out_value, start_call(error)));
}

// ---- state ----

int64_t etx_ffi_session_state_count(const etx_ffi_session* session) {
  return session == NULL
             ? 0
             : (int64_t)etx_shared_memory_count(&session->shared.memory);
}

const char* etx_ffi_session_state_name(const etx_ffi_session* session,
                                       int64_t index, size_t* out_bytes) {
  if (index < 0 || index >= etx_ffi_session_state_count(session)) return NULL;
  return give_text(
      etx_shared_memory_name_at(&session->shared.memory, (size_t)index),
      out_bytes);
}

static etx_status find_state(etx_ffi_session* session, const char* name,
                             const etx_ffi_value** out_value, etx_diag* diag) {
  etx_tensor tensor;
  if (session == NULL) return refuse_null("session", diag);
  if (name == NULL) return refuse_null("name", diag);
  if (out_value == NULL) return refuse_null("out_value", diag);
  ETX_TRY(etx_shared_memory_find(&session->shared.memory, etx_text_of(name),
                                 &tensor, &session->state_hold, diag));
  session->shown = (etx_value){.kind = ETX_VALUE_TENSOR, .as.tensor = tensor};
  *out_value = give_value(&session->shown);
  return ETX_OK;
}

int32_t etx_ffi_session_state(etx_ffi_session* session, const char* name,
                              const etx_ffi_value** out_value,
                              etx_ffi_error* error) {
  return end_call(error,
                  find_state(session, name, out_value, start_call(error)));
}

int32_t etx_ffi_session_reset(etx_ffi_session* session, const char* name,
                              etx_ffi_error* error) {
  etx_diag* const diag = start_call(error);
  if (session == NULL) return end_call(error, refuse_null("session", diag));
  return end_call(error, etx_shared_memory_reset(&session->shared.memory,
                                                 etx_text_of(name), diag));
}

size_t etx_ffi_session_save_bytes(const etx_ffi_session* session) {
  return session == NULL
             ? 0
             : etx_shared_memory_save_needed(&session->shared.memory);
}

int32_t etx_ffi_session_save(const etx_ffi_session* session, void* out,
                             size_t out_bytes, etx_ffi_error* error) {
  size_t written = 0;
  etx_diag* const diag = start_call(error);
  const etx_bytes_mut memory = {(uint8_t*)out, out_bytes};
  if (session == NULL) return end_call(error, refuse_null("session", diag));
  if (out == NULL) return end_call(error, refuse_null("out", diag));
  return end_call(error, etx_shared_memory_save(&session->shared.memory, memory,
                                                &written, diag));
}

int32_t etx_ffi_session_restore(etx_ffi_session* session, const void* saved,
                                size_t saved_bytes, etx_ffi_error* error) {
  etx_diag* const diag = start_call(error);
  const etx_bytes snapshot = {(const uint8_t*)saved, saved_bytes};
  if (session == NULL) return end_call(error, refuse_null("session", diag));
  if (saved == NULL) return end_call(error, refuse_null("saved", diag));
  return end_call(error, etx_shared_memory_restore(&session->shared.memory,
                                                   snapshot, diag));
}

// ---- descriptions of methods ----

int64_t etx_ffi_method_input_count(const etx_ffi_method* method) {
  return method == NULL ? 0 : (int64_t)method->method->input_count;
}

int64_t etx_ffi_method_output_count(const etx_ffi_method* method) {
  return method == NULL ? 0 : (int64_t)method->method->output_count;
}

static etx_status find_port(const etx_ffi_method* method, int64_t index,
                            bool is_output, etx_port_info* out_info,
                            etx_diag* diag) {
  if (method == NULL) return refuse_null("method", diag);
  const etx_method* const loaded = method->method;
  const etx_text name = etx_pte_plan_name(&loaded->plan);
  if (is_output) {
    ETX_TRY(check_index("output", index, loaded->output_count, diag));
    return etx_program_output_at(loaded->program, name, (size_t)index, out_info,
                                 diag);
  }
  ETX_TRY(check_index("input", index, loaded->input_count, diag));
  return etx_program_input_at(loaded->program, name, (size_t)index, out_info,
                              diag);
}

const char* etx_ffi_method_input_name(const etx_ffi_method* method,
                                      int64_t index, size_t* out_bytes) {
  etx_port_info info;
  return find_port(method, index, false, &info, NULL) == ETX_OK
             ? give_text(info.name, out_bytes)
             : NULL;
}

const char* etx_ffi_method_output_name(const etx_ffi_method* method,
                                       int64_t index, size_t* out_bytes) {
  etx_port_info info;
  return find_port(method, index, true, &info, NULL) == ETX_OK
             ? give_text(info.name, out_bytes)
             : NULL;
}

static etx_status describe(etx_ffi_method* method, int64_t index,
                           bool is_output, const etx_ffi_value** out_value,
                           etx_diag* diag) {
  etx_port_info info;
  if (out_value == NULL) return refuse_null("out_value", diag);
  ETX_TRY(find_port(method, index, is_output, &info, diag));
  etx_value* const value = &method->described;
  memset(value, 0, sizeof *value);
  if (info.kind == ETX_PTE_TENSOR) {
    const etx_pte_tensor* const tensor = &info.value.as.tensor;
    value->kind = ETX_VALUE_TENSOR;
    value->as.tensor = (etx_tensor){
        .sizes = tensor->sizes, .rank = tensor->rank, .dtype = tensor->dtype};
  } else {
    etx_value_from_scalar(&info.value, value);
  }
  *out_value = give_value(value);
  return ETX_OK;
}

int32_t etx_ffi_method_describe_input(etx_ffi_method* method, int64_t index,
                                      const etx_ffi_value** out_value,
                                      etx_ffi_error* error) {
  return end_call(error,
                  describe(method, index, false, out_value, start_call(error)));
}

int32_t etx_ffi_method_describe_output(etx_ffi_method* method, int64_t index,
                                       const etx_ffi_value** out_value,
                                       etx_ffi_error* error) {
  return end_call(error,
                  describe(method, index, true, out_value, start_call(error)));
}

// ---- inputs, runs, outputs ----

static etx_status set_value(etx_ffi_method* method, int64_t index,
                            const etx_value* value, etx_diag* diag) {
  if (method == NULL) return refuse_null("method", diag);
  ETX_TRY(check_index("input", index, method->method->input_count, diag));
  return etx_method_set_value(method->method, (size_t)index, value, diag);
}

// Copies sizes to 32 bits.
static etx_status take_sizes(int32_t rank, const int64_t* sizes, int32_t* out,
                             etx_diag* diag) {
  if (rank < 0 || rank > ETX_MAX_RANK) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a tensor has rank %i, expected 0 to %i",
                         (int64_t)rank, (int64_t)ETX_MAX_RANK);
  }
  if (rank > 0 && sizes == NULL) return refuse_null("sizes", diag);
  for (int32_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "a tensor has size %i in dimension %i, expected 0 "
                           "to 2147483647",
                           sizes[i], (int64_t)i);
    }
    out[i] = (int32_t)sizes[i];
  }
  return ETX_OK;
}

int32_t etx_ffi_method_set_tensor(etx_ffi_method* method, int64_t index,
                                  void* data, int32_t dtype, int32_t rank,
                                  const int64_t* sizes, etx_ffi_error* error) {
  int32_t own_sizes[ETX_MAX_RANK];
  etx_diag* const diag = start_call(error);
  etx_status status = take_sizes(rank, sizes, own_sizes, diag);
  if (status == ETX_OK && !etx_dtype_is_valid((etx_dtype)dtype)) {
    status = etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "%i is not the number of a type of elements",
                           (int64_t)dtype);
  }
  if (status == ETX_OK) {
    const etx_value value =
        etx_module_tensor(data, (etx_dtype)dtype, own_sizes, (uint8_t)rank);
    status = set_value(method, index, &value, diag);
  }
  return end_call(error, status);
}

int32_t etx_ffi_method_set_int(etx_ffi_method* method, int64_t index,
                               int64_t value, etx_ffi_error* error) {
  etx_port_info info;
  etx_diag* const diag = start_call(error);
  etx_value number = {.kind = ETX_VALUE_INT, .as.integer = value};
  etx_status status = find_port(method, index, false, &info, diag);
  if (status == ETX_OK && info.kind == ETX_PTE_BOOL) {
    number = (etx_value){.kind = ETX_VALUE_BOOL, .as.boolean = value != 0};
  }
  if (status == ETX_OK) status = set_value(method, index, &number, diag);
  return end_call(error, status);
}

int32_t etx_ffi_method_set_double(etx_ffi_method* method, int64_t index,
                                  double value, etx_ffi_error* error) {
  const etx_value number = {.kind = ETX_VALUE_DOUBLE, .as.real = value};
  return end_call(error, set_value(method, index, &number, start_call(error)));
}

// Forgets the inputs afterwards, so that nothing is borrowed between runs.
static etx_status run(etx_ffi_method* method, etx_diag* diag) {
  if (method == NULL) return refuse_null("method", diag);
  const etx_status status = etx_method_run(method->method, diag);
  const etx_status forgotten = etx_method_forget(method->method, diag);
  return status != ETX_OK ? status : forgotten;
}

int32_t etx_ffi_method_run(etx_ffi_method* method, etx_ffi_error* error) {
  return end_call(error, run(method, start_call(error)));
}

static etx_status find_output(const etx_ffi_method* method, int64_t index,
                              const etx_ffi_value** out_value, etx_diag* diag) {
  const etx_value* value = NULL;
  if (method == NULL) return refuse_null("method", diag);
  if (out_value == NULL) return refuse_null("out_value", diag);
  ETX_TRY(check_index("output", index, method->method->output_count, diag));
  ETX_TRY(etx_method_output(method->method, (size_t)index, &value));
  *out_value = give_value(value);
  return ETX_OK;
}

int32_t etx_ffi_method_output(const etx_ffi_method* method, int64_t index,
                              const etx_ffi_value** out_value,
                              etx_ffi_error* error) {
  return end_call(error,
                  find_output(method, index, out_value, start_call(error)));
}

// ---- values ----

static const etx_value* value_of(const etx_ffi_value* value) {
  return (const etx_value*)(const void*)value;
}

// The tensor, or NULL.
static const etx_tensor* tensor_of(const etx_ffi_value* value) {
  return etx_ffi_value_kind(value) == ETX_FFI_TENSOR
             ? &value_of(value)->as.tensor
             : NULL;
}

int32_t etx_ffi_value_kind(const etx_ffi_value* value) {
  if (value == NULL) return ETX_FFI_NONE;
  const etx_value_kind kind = value_of(value)->kind;
  return kind > ETX_VALUE_STRING ? ETX_FFI_LIST : (int32_t)kind;
}

int64_t etx_ffi_value_int(const etx_ffi_value* value) {
  switch (etx_ffi_value_kind(value)) {
    case ETX_FFI_INT:
      return value_of(value)->as.integer;
    case ETX_FFI_BOOL:
      return value_of(value)->as.boolean;
    default:
      return 0;
  }
}

double etx_ffi_value_double(const etx_ffi_value* value) {
  return etx_ffi_value_kind(value) == ETX_FFI_DOUBLE ? value_of(value)->as.real
                                                     : 0;
}

int32_t etx_ffi_value_dtype(const etx_ffi_value* value) {
  const etx_tensor* const tensor = tensor_of(value);
  return tensor == NULL ? -1 : (int32_t)tensor->dtype;
}

int32_t etx_ffi_value_rank(const etx_ffi_value* value) {
  const etx_tensor* const tensor = tensor_of(value);
  return tensor == NULL ? 0 : tensor->rank;
}

int64_t etx_ffi_value_size(const etx_ffi_value* value, int32_t dimension) {
  const etx_tensor* const tensor = tensor_of(value);
  if (tensor == NULL || dimension < 0 || dimension >= tensor->rank) return 0;
  return tensor->sizes[dimension];
}

int64_t etx_ffi_value_stride(const etx_ffi_value* value, int32_t dimension) {
  const etx_tensor* const tensor = tensor_of(value);
  if (tensor == NULL || dimension < 0 || dimension >= tensor->rank) return 0;
  if (tensor->strides != NULL) return tensor->strides[dimension];
  int32_t strides[ETX_MAX_RANK];
  if (!etx_layout_strides(tensor->sizes, NULL, tensor->rank, strides)) return 0;
  return strides[dimension];
}

void* etx_ffi_value_data(const etx_ffi_value* value) {
  switch (etx_ffi_value_kind(value)) {
    case ETX_FFI_TENSOR:
      return value_of(value)->as.tensor.data;
    case ETX_FFI_STRING:
      return (void*)(uintptr_t)value_of(value)->as.string.data;
    default:
      return NULL;
  }
}

size_t etx_ffi_value_bytes(const etx_ffi_value* value) {
  switch (etx_ffi_value_kind(value)) {
    case ETX_FFI_TENSOR:
      return etx_tensor_bytes(&value_of(value)->as.tensor);
    case ETX_FFI_STRING:
      return value_of(value)->as.string.size;
    default:
      return 0;
  }
}
