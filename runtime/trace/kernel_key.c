#include "runtime/trace/kernel_key.h"

// Types and dimensions are below 100.
static void put_number(etx_kernel_key* key, unsigned number) {
  if (number >= 10) key->text[key->size++] = (char)('0' + number / 10);
  key->text[key->size++] = (char)('0' + number % 10);
}

static void put_tensor(etx_kernel_key* key, const etx_pte_tensor* tensor) {
  const char separator = key->size == 2 ? '/' : '|';
  key->text[key->size++] = separator;
  put_number(key, tensor->dtype);
  key->text[key->size++] = ';';
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (i > 0) key->text[key->size++] = ',';
    put_number(key, tensor->dim_order[i]);
  }
}

// Adds the first tensor of a list.
static void put_list(const etx_pte_plan* plan, const etx_pte_value* list,
                     etx_kernel_key* key) {
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const int64_t index = etx_pte_item_at(list, i);
    if (index < 0) continue;
    const etx_pte_value item = etx_pte_value_at(plan, (size_t)index);
    if (item.kind != ETX_PTE_TENSOR) continue;
    put_tensor(key, &item.as.tensor);
    return;
  }
}

bool etx_kernel_key_of(const etx_pte_plan* plan,
                       const etx_pte_instruction* call,
                       etx_kernel_key* out_key) {
  if (call->argument_count > ETX_MAX_ARGUMENTS + 1) return false;
  memcpy(out_key->text, "v1", 2);
  out_key->size = 2;
  for (size_t i = 0; i < call->argument_count; ++i) {
    const etx_pte_value value =
        etx_pte_value_at(plan, (size_t)call->arguments[i]);
    if (value.kind == ETX_PTE_TENSOR) {
      put_tensor(out_key, &value.as.tensor);
    } else if (value.kind >= ETX_PTE_TENSOR_LIST) {
      put_list(plan, &value, out_key);
    }
  }
  return true;
}
