#include "runtime/module/resident_limit.h"

#include "runtime/module/module_file.h"

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  const etx_resident_limit* const limit = context;
  if (limit->inner == NULL) return;
  limit->inner->before(limit->inner->context, instruction, call);
}

static void release_tensor(const etx_resident_limit* limit,
                           const etx_tensor* tensor) {
  const uintptr_t start = (uintptr_t)limit->released.data;
  const uintptr_t end = start + limit->released.size;
  const uintptr_t data = (uintptr_t)tensor->data;
  const size_t bytes = etx_tensor_bytes(tensor);
  if (data >= end || data + bytes <= start) return;
  const uintptr_t from = data < start ? start : data;
  const uintptr_t until = data + bytes > end ? end : data + bytes;
  etx_module_file_release((etx_bytes){(const uint8_t*)from, until - from});
}

static void release_value(const etx_resident_limit* limit,
                          const etx_value* value) {
  if (value == NULL) return;
  if (value->kind == ETX_VALUE_TENSOR) {
    release_tensor(limit, &value->as.tensor);
  } else if (value->kind == ETX_VALUE_TENSORS) {
    for (size_t i = 0; i < value->as.tensors.count; ++i) {
      const etx_value* const item = value->as.tensors.items[i];
      if (item != NULL) release_tensor(limit, &item->as.tensor);
    }
  }
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  const etx_resident_limit* const limit = context;
  if (limit->inner != NULL) {
    limit->inner->after(limit->inner->context, instruction, call);
  }
  for (size_t i = 0; i < call->argument_count; ++i) {
    release_value(limit, call->arguments[i]);
  }
}

void etx_resident_limit_init(etx_resident_limit* limit, etx_bytes file,
                             size_t kept_bytes) {
  const size_t kept = kept_bytes < file.size ? kept_bytes : file.size;
  memset(limit, 0, sizeof *limit);
  if (kept == file.size) return;
  limit->observer = (etx_run_observer){before_call, after_call, limit};
  limit->released = (etx_bytes){file.data + kept, file.size - kept};
  limit->observe = etx_resident_limit_observe;
}

void etx_resident_limit_observe(etx_resident_limit* limit, etx_method* method) {
  if (limit->released.size == 0 || method->observer != NULL) return;
  etx_method_observe(method, &limit->observer);
}
