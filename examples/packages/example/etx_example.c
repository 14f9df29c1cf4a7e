#include "etx_example.h"

#include "etx.h"
#include "etx_program.h"

// Bytes of state that a session adds to those of the program, and the largest
// input that this example can make.
enum { SESSION_BYTES = 1024, INPUT_BYTES = 65536, MOST_INPUTS = 8, ROUNDS = 2 };

#define BLOCK(name, bytes) static _Alignas(64) uint8_t name[(bytes) + 64]

BLOCK(session, ETX_SELECTED_STATE_BYTES + SESSION_BYTES);
BLOCK(scratch, ETX_SELECTED_SCRATCH_BYTES);
BLOCK(temporary, ETX_SELECTED_TEMPORARY_BYTES);
BLOCK(structures, ETX_SELECTED_STRUCTURE_BYTES);
BLOCK(input_bytes, INPUT_BYTES);

static etx_program program;
static etx_shared_memory shared;
static etx_method method;
static etx_diag diag;
static size_t used;  // bytes of inputs

static etx_status load(etx_text name) {
  etx_planned_memory planned;
  ETX_TRY(etx_shared_memory_allocator(&shared, name, &planned, &diag));
  const etx_method_memory memory = {{structures, sizeof structures},
                                    {scratch, sizeof scratch},
                                    {temporary, sizeof temporary},
                                    &planned};
  return etx_method_init(&method, &program, name, &memory, NULL, &diag);
}

// Integers are 0 or 1, which are valid indices; floats have fractions.
static void fill(const etx_tensor* tensor) {
  for (size_t i = 0; i < etx_tensor_numel(tensor); ++i) {
    const float fraction = (float)(i % 17) / 8.0f - 1.0f;
    const int64_t number = (int64_t)(i % 2);
    uint8_t* const bytes = tensor->data;
    if (tensor->dtype == ETX_DTYPE_FLOAT32) memcpy(bytes + 4 * i, &fraction, 4);
    if (tensor->dtype == ETX_DTYPE_INT64) memcpy(bytes + 8 * i, &number, 8);
  }
}

// Gives the method its inputs, with their largest sizes.
static etx_status set_inputs(const etx_method_info* info) {
  static int32_t sizes[MOST_INPUTS][ETX_MAX_RANK];
  used = 0;
  if (info->input_count > MOST_INPUTS) return ETX_UNSUPPORTED;
  for (size_t i = 0; i < info->input_count; ++i) {
    etx_port_info port;
    ETX_TRY(etx_program_input_at(&program, info->name, i, &port, &diag));
    if (port.kind != ETX_PTE_TENSOR) return ETX_UNSUPPORTED;
    const etx_pte_tensor* const shape = &port.value.as.tensor;
    for (uint32_t k = 0; k < shape->rank; ++k) sizes[i][k] = shape->sizes[k];
    const etx_tensor input = {input_bytes + used, sizes[i], NULL,
                              (uint8_t)shape->rank, shape->dtype};
    const size_t bytes = etx_tensor_bytes(&input);
    if (bytes > INPUT_BYTES - used) return ETX_OUT_OF_MEMORY;
    fill(&input);
    ETX_TRY(etx_method_set_input(&method, i, &input, &diag));
    used += (bytes + 15) / 16 * 16;
  }
  return ETX_OK;
}

static void hash_bytes(const void* data, size_t size, uint32_t* hash) {
  const uint8_t* const bytes = data;
  for (size_t i = 0; i < size; ++i) *hash = (*hash ^ bytes[i]) * 16777619u;
}

// Outputs, and inputs, which a method may write.
static etx_status hash_results(const etx_method_info* info, uint32_t* hash) {
  for (size_t i = 0; i < info->output_count; ++i) {
    const etx_value* value;
    ETX_TRY(etx_method_output(&method, i, &value));
    if (value->kind != ETX_VALUE_TENSOR) continue;
    hash_bytes(value->as.tensor.data, etx_tensor_bytes(&value->as.tensor),
               hash);
  }
  hash_bytes(input_bytes, used, hash);
  return ETX_OK;
}

// Writes "name: 0123abcd".
static void write_hash(etx_text name, uint32_t hash,
                       void (*write)(const char* line)) {
  static char line[64];
  size_t at = 0;
  for (; at < name.size && at < sizeof line - 11; ++at) {
    line[at] = name.data[at];
  }
  line[at++] = ':';
  line[at++] = ' ';
  for (int shift = 28; shift >= 0; shift -= 4) {
    line[at++] = "0123456789abcdef"[hash >> shift & 15];
  }
  line[at] = '\0';
  write(line);
}

// Runs the method at `index`; methods without instructions are passed over.
static etx_status run_method(size_t index, uint32_t* hash,
                             void (*write)(const char* line)) {
  etx_method_info info;
  ETX_TRY(etx_program_method_at(&program, index, &info));
  if (info.instruction_count == 0) return ETX_OK;
  ETX_TRY(load(info.name));
  ETX_TRY(set_inputs(&info));
  ETX_TRY(etx_method_run(&method, &diag));
  ETX_TRY(hash_results(&info, hash));
  write_hash(info.name, *hash, write);
  return ETX_OK;
}

// What the first round has left in the state is there in the second one.
static etx_status run_all(void (*write)(const char* line)) {
  const etx_bytes file = {etx_program_bytes, etx_program_size};
  const etx_bytes_mut block = {session, sizeof session};
  uint32_t hash = 2166136261u;
  ETX_TRY(etx_program_open(&program, file, &etx_selected_kernels, NULL, &diag));
  ETX_TRY(etx_shared_memory_init(&shared, &program, block, &diag));
  const size_t methods = etx_program_method_count(&program);
  for (size_t i = 0; i < ROUNDS * methods; ++i) {
    ETX_TRY(run_method(i % methods, &hash, write));
  }
  return ETX_OK;
}

int etx_example_run(void (*write)(const char* line)) {
  etx_diag_init(&diag);
  const etx_status status = run_all(write);
  if (status == ETX_OK) return 0;
  write(etx_status_text(status));
  write(diag.text);
  return 1;
}
