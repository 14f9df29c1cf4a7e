#include "javascript/web_program.h"

#include <stdlib.h>

#include "runtime/module/module.h"

enum {
  BLOCK_ALIGNMENT = 64,
  NO_SESSION = -1,
};

struct etx_web_program {
  etx_program program;
  etx_instance_pool pool;
  etx_bytes file;
  uint8_t* memory;     // of all sessions, then of the inputs
  size_t bytes;        // of memory
  uint8_t* inputs;     // elements of the chosen method's inputs
  etx_method* method;  // the chosen one, or NULL
  size_t method_index;
  size_t session_count;
  etx_instance_lease* leases;  // session_count of them
  bool* is_out;                // sessions that are in use
};

// One thread calls, and reads what a call left before it makes the next one.
static etx_diag last;
static etx_web_view view;
static int32_t sizes_of_input[ETX_MAX_RANK];

static etx_diag* new_diag(void) {
  etx_diag_init(&last);
  return &last;
}

static etx_status no_memory(size_t bytes) {
  return etx_diag_fail(&last, ETX_OUT_OF_MEMORY,
                       "WebAssembly has no memory of %z bytes", bytes);
}

void* etx_web_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - BLOCK_ALIGNMENT) return NULL;
  const size_t blocks = bytes / BLOCK_ALIGNMENT + 1;
  return aligned_alloc(BLOCK_ALIGNMENT, blocks * BLOCK_ALIGNMENT);
}

void etx_web_release(void* memory) { free(memory); }

const char* etx_web_message(void) { return last.text; }

size_t etx_web_message_bytes(void) { return last.text_size; }

// ---- opening ----

// The start of what comes after `bytes` bytes, or SIZE_MAX.
static size_t aligned_end(size_t start, uint64_t bytes) {
  if (bytes > SIZE_MAX - BLOCK_ALIGNMENT - start) return SIZE_MAX;
  return (start + (size_t)bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT *
         BLOCK_ALIGNMENT;
}

// Bytes of a tensor at its largest sizes, or UINT64_MAX.
static uint64_t largest_bytes(const etx_pte_tensor* tensor) {
  uint64_t bytes = etx_dtype_bytes(tensor->dtype);
  for (uint8_t i = 0; i < tensor->rank; ++i) {
    const uint64_t size = tensor->sizes[i] < 0 ? 0 : (uint64_t)tensor->sizes[i];
    if (size != 0 && bytes > UINT64_MAX / size) return UINT64_MAX;
    bytes *= size;
  }
  return bytes;
}

// Where the elements of input `index` begin: the inputs of a method lie one
// behind the other. SIZE_MAX if they do not fit into memory.
static etx_status find_input(const etx_program* program, etx_text method,
                             size_t index, size_t* out_offset) {
  size_t offset = 0;
  for (size_t i = 0; i < index && offset != SIZE_MAX; ++i) {
    etx_port_info input;
    ETX_TRY(etx_program_input_at(program, method, i, &input, &last));
    if (input.kind == ETX_PTE_TENSOR) {
      offset = aligned_end(offset, largest_bytes(&input.value.as.tensor));
    }
  }
  *out_offset = offset;
  return ETX_OK;
}

// Bytes of the inputs of any method.
static etx_status count_input_bytes(const etx_program* program,
                                    size_t* out_bytes) {
  size_t most = 0;
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    size_t bytes = 0;
    ETX_TRY(etx_program_method_at(program, i, &info));
    ETX_TRY(find_input(program, info.name, info.input_count, &bytes));
    if (bytes > most) most = bytes;
  }
  *out_bytes = most;
  return ETX_OK;
}

static etx_status start_sessions(etx_web_program* web, size_t sessions) {
  const etx_instance_pool_options options = {.instance_count = sessions};
  size_t pool_bytes = 0;
  size_t input_bytes = 0;
  ETX_TRY(
      etx_instance_pool_needed(&web->program, &options, &pool_bytes, &last));
  ETX_TRY(count_input_bytes(&web->program, &input_bytes));
  const size_t inputs_at = aligned_end(0, pool_bytes);
  const size_t leases_at =
      inputs_at == SIZE_MAX ? SIZE_MAX : aligned_end(inputs_at, input_bytes);
  const uint64_t of_session = sizeof *web->leases + sizeof *web->is_out;
  web->bytes = leases_at == SIZE_MAX
                   ? SIZE_MAX
                   : aligned_end(leases_at, sessions * of_session);
  web->memory = etx_web_allocate(web->bytes);
  if (web->memory == NULL) return no_memory(web->bytes);
  web->inputs = web->memory + inputs_at;
  web->leases = (etx_instance_lease*)(void*)(web->memory + leases_at);
  web->is_out = (bool*)(web->leases + sessions);
  memset(web->memory + leases_at, 0, web->bytes - leases_at);
  web->session_count = sessions;
  const etx_bytes_mut memory = {web->memory, pool_bytes};
  return etx_instance_pool_init(&web->pool, &web->program, &options, memory,
                                NULL, &last);
}

static etx_status open_file(etx_web_program* web, size_t sessions) {
  ETX_TRY(etx_program_open(&web->program, web->file, etx_default_kernels, NULL,
                           &last));
  return start_sessions(web, sessions);
}

etx_web_program* etx_web_open(uint8_t* file, size_t bytes, size_t sessions) {
  new_diag();
  etx_web_program* const web = etx_web_allocate(sizeof *web);
  if (web == NULL) {
    (void)no_memory(sizeof *web);
    free(file);
    return NULL;
  }
  memset(web, 0, sizeof *web);
  web->file = (etx_bytes){file, bytes};
  if (open_file(web, sessions) == ETX_OK) return web;
  etx_web_close(web);
  return NULL;
}

void etx_web_close(etx_web_program* program) {
  free(program->memory);
  free((void*)(uintptr_t)program->file.data);
  free(program);
}

size_t etx_web_memory_bytes(const etx_web_program* program) {
  return program->bytes;
}

// ---- what a program has ----

static void view_tensor(const etx_pte_tensor* tensor) {
  view.dtype = (int32_t)tensor->dtype;
  view.rank = tensor->rank;
  view.element_bytes = (int32_t)etx_dtype_bytes(tensor->dtype);
  view.is_dynamic = tensor->dynamism != ETX_PTE_STATIC;
  for (uint8_t i = 0; i < tensor->rank; ++i) view.sizes[i] = tensor->sizes[i];
}

// The view of a value of a loaded method, or of a constant.
static const etx_web_view* view_value(const etx_value* value) {
  memset(&view, 0, sizeof view);
  view.kind = (int32_t)value->kind + 1;  // of the file
  if (value->kind == ETX_VALUE_INT) view.integer = value->as.integer;
  if (value->kind == ETX_VALUE_BOOL) view.integer = value->as.boolean;
  if (value->kind == ETX_VALUE_DOUBLE) view.real = value->as.real;
  if (value->kind != ETX_VALUE_TENSOR) return &view;
  const etx_tensor* const tensor = &value->as.tensor;
  view.dtype = (int32_t)tensor->dtype;
  view.rank = tensor->rank;
  view.element_bytes = (int32_t)etx_dtype_bytes(tensor->dtype);
  view.data = tensor->data;
  int32_t stride = 1;
  for (size_t i = tensor->rank; i-- > 0;) {
    view.sizes[i] = tensor->sizes[i];
    view.strides[i] = tensor->strides == NULL ? stride : tensor->strides[i];
    stride *= tensor->sizes[i];
  }
  return &view;
}

const etx_web_view* etx_web_method(const etx_web_program* program,
                                   size_t method) {
  etx_method_info info;
  if (etx_program_method_at(&program->program, method, &info) != ETX_OK) {
    return NULL;
  }
  memset(&view, 0, sizeof view);
  view.integer = (int64_t)info.input_count;
  view.kind = (int32_t)info.output_count;
  view.varies = info.is_constant;
  view.name = info.name.data;
  view.name_bytes = info.name.size;
  return &view;
}

const etx_web_view* etx_web_port(const etx_web_program* program, size_t method,
                                 bool is_output, size_t index) {
  etx_method_info info;
  etx_port_info port;
  etx_diag* const diag = new_diag();
  if (etx_program_method_at(&program->program, method, &info) != ETX_OK) {
    return NULL;
  }
  const etx_status status =
      is_output ? etx_program_output_at(&program->program, info.name, index,
                                        &port, diag)
                : etx_program_input_at(&program->program, info.name, index,
                                       &port, diag);
  if (status != ETX_OK) return NULL;
  memset(&view, 0, sizeof view);
  view.kind = (int32_t)port.kind;
  view.name = port.name.data;
  view.name_bytes = port.name.size;
  view.is_mutable = port.is_mutable;
  view.varies = port.varies;
  if (port.kind == ETX_PTE_INT) view.integer = port.value.as.integer;
  if (port.kind == ETX_PTE_BOOL) view.integer = port.value.as.boolean;
  if (port.kind == ETX_PTE_DOUBLE) view.real = port.value.as.real;
  if (port.kind != ETX_PTE_TENSOR) return &view;
  view_tensor(&port.value.as.tensor);
  if (is_output) return &view;
  size_t offset = 0;
  if (find_input(&program->program, info.name, index, &offset) != ETX_OK) {
    return NULL;
  }
  view.data = program->inputs + offset;
  return &view;
}

const etx_web_view* etx_web_constant(const etx_web_program* program,
                                     size_t method, size_t index) {
  etx_method_info info;
  etx_value value;
  etx_constant_hold hold;
  etx_diag* const diag = new_diag();
  if (etx_program_method_at(&program->program, method, &info) != ETX_OK ||
      etx_program_constant_at(&program->program, info.name, index, &value,
                              &hold, diag) != ETX_OK) {
    return NULL;
  }
  return view_value(&value);
}

// ---- sessions ----

int32_t etx_web_session_open(etx_web_program* program) {
  for (size_t i = 0; i < program->session_count; ++i) {
    if (program->is_out[i]) continue;
    if (etx_instance_pool_get(&program->pool, &program->leases[i]) != ETX_OK) {
      return NO_SESSION;
    }
    program->is_out[i] = true;
    return (int32_t)i;
  }
  return NO_SESSION;
}

etx_status etx_web_session_close(etx_web_program* program, size_t session) {
  program->is_out[session] = false;
  program->method = NULL;
  return etx_instance_pool_put(&program->pool, &program->leases[session],
                               new_diag());
}

etx_status etx_web_reset(etx_web_program* program, size_t session) {
  const etx_text all = {NULL, 0};
  return etx_shared_memory_reset(program->leases[session].session, all,
                                 new_diag());
}

void etx_web_seed(etx_web_program* program, size_t session, uint64_t seed) {
  const etx_instance_lease* const lease = &program->leases[session];
  for (size_t i = 0; i < lease->method_count; ++i) {
    etx_method_seed(&lease->methods[i], seed);
  }
}

size_t etx_web_save_bytes(const etx_web_program* program, size_t session) {
  return etx_shared_memory_save_needed(program->leases[session].session);
}

etx_status etx_web_save(const etx_web_program* program, size_t session,
                        uint8_t* out, size_t bytes) {
  const etx_bytes_mut memory = {out, bytes};
  size_t size = 0;
  return etx_shared_memory_save(program->leases[session].session, memory, &size,
                                new_diag());
}

etx_status etx_web_restore(etx_web_program* program, size_t session,
                           const uint8_t* snapshot, size_t bytes) {
  const etx_bytes memory = {snapshot, bytes};
  return etx_shared_memory_restore(program->leases[session].session, memory,
                                   new_diag());
}

etx_status etx_web_truncate(etx_web_program* program, size_t session,
                            uint64_t length) {
  const etx_text all = {NULL, 0};
  return etx_shared_memory_truncate(program->leases[session].session, all,
                                    length, new_diag());
}

const etx_web_view* etx_web_state(const etx_web_program* program,
                                  size_t session, size_t index) {
  const etx_shared_memory* const shared = program->leases[session].session;
  etx_diag* const diag = new_diag();
  etx_value value = {.kind = ETX_VALUE_TENSOR};
  etx_state_hold hold;
  if (index >= etx_shared_memory_count(shared)) return NULL;
  const etx_text name = etx_shared_memory_name_at(shared, index);
  if (etx_shared_memory_find(shared, name, &value.as.tensor, &hold, diag) !=
      ETX_OK) {
    return NULL;
  }
  (void)view_value(&value);
  view.name = name.data;
  view.name_bytes = name.size;
  return &view;
}

// ---- runs ----

etx_status etx_web_choose(etx_web_program* program, size_t session,
                          size_t method) {
  etx_method_info info;
  etx_diag* const diag = new_diag();
  ETX_TRY(etx_program_method_at(&program->program, method, &info));
  program->method =
      etx_instance_pool_method(&program->leases[session], info.name);
  if (program->method != NULL) return ETX_OK;
  return etx_diag_fail(diag, ETX_NOT_FOUND,
                       "method '%t' cannot be run: it is a constant or belongs "
                       "to etx",
                       info.name);
}

int32_t* etx_web_sizes(void) { return sizes_of_input; }

etx_status etx_web_set_tensor(etx_web_program* program, size_t input,
                              int32_t dtype, size_t rank) {
  etx_diag* const diag = new_diag();
  size_t offset = 0;
  if (rank > ETX_MAX_RANK) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a tensor of %z dimensions, at most %z are possible",
                         rank, (size_t)ETX_MAX_RANK);
  }
  ETX_TRY(find_input(&program->program,
                     etx_pte_plan_name(&program->method->plan), input,
                     &offset));
  const etx_tensor tensor = {program->inputs + offset, sizes_of_input, NULL,
                             (uint8_t)rank, (etx_dtype)dtype};
  return etx_method_set_input(program->method, input, &tensor, diag);
}

etx_status etx_web_set_number(etx_web_program* program, size_t input,
                              int32_t kind, int64_t integer, double real) {
  etx_value value;
  memset(&value, 0, sizeof value);
  value.kind = (etx_value_kind)(kind - 1);
  if (value.kind == ETX_VALUE_INT) value.as.integer = integer;
  if (value.kind == ETX_VALUE_BOOL) value.as.boolean = integer != 0;
  if (value.kind == ETX_VALUE_DOUBLE) value.as.real = real;
  return etx_method_set_value(program->method, input, &value, new_diag());
}

etx_status etx_web_run(etx_web_program* program) {
  return etx_method_run(program->method, new_diag());
}

const etx_web_view* etx_web_output(const etx_web_program* program,
                                   size_t index) {
  const etx_value* value = NULL;
  if (etx_method_output(program->method, index, &value) != ETX_OK) return NULL;
  return view_value(value);
}
