#include "cli/run/dim_order_input.h"

#include <string.h>

#include "format/tensor/layout.h"

// Copies all elements from row-major order to the method's dimension order, or
// back.
static void copy_elements(const etx_dim_order_input* input, bool is_back) {
  const etx_host_tensor* const dense = input->dense;
  const size_t item = etx_dtype_bytes(dense->dtype);
  const size_t numel = dense->bytes == 0 ? 0 : etx_host_tensor_numel(dense);
  for (size_t i = 0; i < numel; ++i) {
    size_t rest = i;
    size_t at = 0;
    for (size_t dim = dense->rank; dim-- > 0;) {
      const size_t size = (size_t)dense->sizes[dim];
      at += rest % size * (size_t)input->strides[dim];
      rest /= size;
    }
    uint8_t* const here = (uint8_t*)dense->data + i * item;
    uint8_t* const there = (uint8_t*)input->data + at * item;
    memcpy(is_back ? here : there, is_back ? there : here, item);
  }
}

// The dimension order of the input in the file; NULL if it is row-major.
static const uint8_t* order_of(const etx_method* method, size_t index,
                               size_t rank) {
  etx_port_info port;
  if (etx_program_input_at(method->program, etx_pte_plan_name(&method->plan),
                           index, &port, NULL) != ETX_OK ||
      port.kind != ETX_PTE_TENSOR || port.value.as.tensor.rank != rank ||
      etx_layout_is_default(port.value.as.tensor.dim_order, rank)) {
    return NULL;
  }
  return port.value.as.tensor.dim_order;
}

static etx_status arrange(etx_dim_order_input* input, const uint8_t* order,
                          etx_pool* pool, etx_diag* diag) {
  const etx_host_tensor* const dense = input->dense;
  if (!etx_layout_strides(dense->sizes, order, dense->rank, input->strides)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the strides of an input do not fit in 32 bits");
  }
  if (order == NULL || dense->bytes == 0) return ETX_OK;
  input->data = etx_pool_take(pool, dense->bytes);
  if (input->data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for an input");
  }
  copy_elements(input, false);
  return ETX_OK;
}

etx_status etx_dim_order_input_set(etx_method* method, size_t index,
                                   etx_host_tensor* dense, etx_pool* pool,
                                   etx_dim_order_input* out_input,
                                   etx_diag* diag) {
  etx_dim_order_input input = {.dense = dense, .data = dense->data};
  ETX_TRY(arrange(&input, order_of(method, index, dense->rank), pool, diag));
  const etx_tensor view = {input.data, dense->sizes, input.strides, dense->rank,
                           dense->dtype};
  ETX_TRY(etx_method_set_input(method, index, &view, diag));
  *out_input = input;
  return ETX_OK;
}

void etx_dim_order_input_read_back(const etx_dim_order_input* input) {
  if (input->data != NULL && input->data != input->dense->data) {
    copy_elements(input, true);
  }
}
