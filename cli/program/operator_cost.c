#include "cli/program/operator_cost.h"

#include <string.h>

typedef enum work {
  WORK_NONE,
  WORK_PRODUCT,
  WORK_PRODUCT_OF_SECOND,
  WORK_LAYER,
  WORK_CONVOLUTION,
  WORK_PANELS,
  WORK_PACKED,
  WORK_BYTE_PANELS,
  WORK_WINDOWS,
  WORK_WINOGRAD,
  WORK_ATTENTION,
  WORK_ORDERED_ATTENTION,
} work;

typedef enum counted_bytes {
  BYTES_ALL,
  BYTES_PART,
  BYTES_INTO,
  BYTES_NONE,
} counted_bytes;

static const struct operator_kind {
  const char* name_part;  // of an operator's name
  const char* kind;
  work work;
  counted_bytes bytes;
} kinds[] = {
#define KIND(name_part, kind, work, bytes) \
  {name_part, #kind, WORK_##work, BYTES_##bytes},
#include "cli/program/operator_cost_kinds.def"
};

static const struct operator_kind* kind_of(const etx_op* op) {
  const struct operator_kind* kind = kinds;
  while (strstr(op->name, kind->name_part) == NULL) ++kind;
  return kind;
}

const char* etx_operator_cost_kind(const etx_op* op) {
  return kind_of(op)->kind;
}

void etx_operator_cost_call_add(etx_operator_cost_call* call,
                                const etx_operator_cost_tensor* tensor) {
  if (call->count < ETX_OPERATOR_COST_TENSORS)
    call->tensors[call->count++] = *tensor;
}

void etx_operator_cost_call_add_order(etx_operator_cost_call* call,
                                      size_t argument, int64_t rows_dim) {
  if (call->order_count == ETX_OPERATOR_COST_ORDERS) return;
  call->orders[call->order_count++] =
      (etx_operator_cost_order){argument, rows_dim};
}

static uint64_t numel(const etx_operator_cost_tensor* tensor) {
  uint64_t count = 1;
  for (size_t i = 0; i < tensor->rank; ++i) count *= (uint64_t)tensor->sizes[i];
  return count;
}

static uint64_t bytes_of(const etx_operator_cost_tensor* tensor) {
  return numel(tensor) * etx_dtype_bytes(tensor->dtype);
}

// The first tensor of argument `argument`, or NULL.
static const etx_operator_cost_tensor* tensor_at(
    const etx_operator_cost_call* call, size_t argument) {
  for (size_t i = 0; i < call->count; ++i) {
    if (call->tensors[i].argument == argument) return &call->tensors[i];
  }
  return NULL;
}

static const etx_operator_cost_tensor* first_written(
    const etx_operator_cost_call* call) {
  for (size_t i = 0; i < call->count; ++i) {
    if (call->tensors[i].is_written) return &call->tensors[i];
  }
  return NULL;
}

static uint64_t size_at(const etx_operator_cost_tensor* tensor, size_t dim) {
  return dim < tensor->rank ? (uint64_t)tensor->sizes[dim] : 1;
}

// Matrix product: each element of the result is a sum over the last dimension
// of the left operand.
static uint64_t work_of_product(const etx_operator_cost_call* call,
                                size_t left) {
  const etx_operator_cost_tensor* from = tensor_at(call, left);
  const etx_operator_cost_tensor* to = first_written(call);
  if (from == NULL || to == NULL || from->rank == 0) return 0;
  return numel(to) * size_at(from, from->rank - 1);
}

// linear_a8w8_panels_argmax, whose results are not written: each element of the
// input is multiplied with every column, and there is a scale for each column.
static uint64_t work_of_layer(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const etx_operator_cost_tensor* scales = tensor_at(call, 2);
  return from == NULL || scales == NULL ? 0 : numel(from) * numel(scales);
}

// The first dimension of the weight is the output channels, or the input
// channels of a transposed convolution. Each element of that tensor is
// multiplied with the rest of the weight.
static uint64_t work_of_convolution(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const etx_operator_cost_tensor* weight = tensor_at(call, 1);
  const etx_operator_cost_tensor* to = first_written(call);
  if (from == NULL || weight == NULL || to == NULL || to->rank < 2) return 0;
  const uint64_t channels = size_at(weight, 0);
  if (channels == 0) return 0;
  const bool is_forward = size_at(to, 1) == channels;
  return numel(is_forward ? to : from) * (numel(weight) / channels);
}

// 1 x 1 convolution over packed panels: each element of the result is a sum
// over the input channels.
static uint64_t work_of_panels(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const etx_operator_cost_tensor* to = first_written(call);
  return from == NULL || to == NULL ? 0 : numel(to) * size_at(from, 1);
}

// Convolution over packed weights: all weights are multiplied at each position
// of the result, or of the input if the convolution is transposed: of the
// tensor with fewer positions.
static uint64_t work_of_packed(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const etx_operator_cost_tensor* panels = tensor_at(call, 1);
  const etx_operator_cost_tensor* to = first_written(call);
  if (from == NULL || panels == NULL || to == NULL) return 0;
  const uint64_t in = size_at(from, 1), out = size_at(to, 1);
  if (in == 0 || out == 0) return 0;
  const uint64_t read = numel(from) / in, written = numel(to) / out;
  return (read < written ? read : written) * numel(panels);
}

// Each element of the result is a sum over a column of panels [panels, groups
// of 4 rows, 16 columns, 4 rows]. The padding of the last group is multiplied
// too.
static uint64_t work_of_byte_panels(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* panels = tensor_at(call, 2);
  const etx_operator_cost_tensor* to = first_written(call);
  if (panels == NULL || to == NULL) return 0;
  return numel(to) * size_at(panels, 1) * size_at(panels, 3);
}

// Depthwise convolution: each element of the result is a sum over a window,
// whose height and width are the first sizes of the weight.
static uint64_t work_of_windows(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* weight = tensor_at(call, 2);
  const etx_operator_cost_tensor* to = first_written(call);
  if (weight == NULL || to == NULL) return 0;
  return numel(to) * size_at(weight, 0) * size_at(weight, 1);
}

// Winograd F(2x2, 3x3): 16 products for each input channel and tile of 4
// results. The transforms are not counted.
static uint64_t work_of_winograd(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const etx_operator_cost_tensor* to = first_written(call);
  if (from == NULL || to == NULL || to->rank != 4) return 0;
  const uint64_t tiles = (size_at(to, 2) + 1) / 2 * ((size_at(to, 3) + 1) / 2);
  return size_at(to, 0) * size_at(to, 1) * tiles * 16 * size_at(from, 1);
}

// Scores, and sums of values weighted with them, over all positions of the
// cache.
static uint64_t work_of_attention(const etx_operator_cost_call* call) {
  const etx_operator_cost_tensor* query = tensor_at(call, 0);
  const etx_operator_cost_tensor* key = tensor_at(call, 1);
  if (query == NULL || key == NULL || key->rank < 2) return 0;
  const bool is_llama = strncmp(call->op->name, "llama::", 7) == 0;
  const uint64_t positions = size_at(key, is_llama ? 1 : key->rank - 2);
  return 2 * numel(query) * positions;
}

// The same for etx::attention, where the third item of key_order is the
// dimension of the positions.
static uint64_t work_of_ordered_attention(const etx_operator_cost_call* call) {
  enum { KEY = 1, KEY_ORDER = 6 };
  const etx_operator_cost_tensor* query = tensor_at(call, 0);
  const etx_operator_cost_tensor* key = tensor_at(call, KEY);
  const etx_operator_cost_tensor* to = first_written(call);
  if (query == NULL || key == NULL || to == NULL) return 0;
  for (size_t i = 0; i < call->order_count; ++i) {
    const etx_operator_cost_order* order = &call->orders[i];
    if (order->argument != KEY_ORDER) continue;
    return (numel(query) + numel(to)) * size_at(key, (size_t)order->rows_dim);
  }
  return 0;
}

static uint64_t work_of(const etx_operator_cost_call* call, work formula) {
  switch (formula) {
    case WORK_PRODUCT:
      return work_of_product(call, 0);
    case WORK_PRODUCT_OF_SECOND:
      return work_of_product(call, 1);
    case WORK_LAYER:
      return work_of_layer(call);
    case WORK_CONVOLUTION:
      return work_of_convolution(call);
    case WORK_PANELS:
      return work_of_panels(call);
    case WORK_PACKED:
      return work_of_packed(call);
    case WORK_BYTE_PANELS:
      return work_of_byte_panels(call);
    case WORK_WINDOWS:
      return work_of_windows(call);
    case WORK_WINOGRAD:
      return work_of_winograd(call);
    case WORK_ATTENTION:
      return work_of_attention(call);
    case WORK_ORDERED_ATTENTION:
      return work_of_ordered_attention(call);
    default:
      return 0;
  }
}

// True if an earlier argument is the same memory, as for in-place operators.
static bool is_counted(const etx_operator_cost_call* call, size_t index) {
  const etx_operator_cost_tensor* tensor = &call->tensors[index];
  if (tensor->place == 0) return false;
  for (size_t i = 0; i < index; ++i) {
    if (call->tensors[i].place == tensor->place) return true;
  }
  return false;
}

// Bytes of all tensors that are read (or written), except `excluded`.
static uint64_t sum_bytes(const etx_operator_cost_call* call, bool written,
                          const etx_operator_cost_tensor* excluded) {
  uint64_t sum = 0;
  for (size_t i = 0; i < call->count; ++i) {
    const etx_operator_cost_tensor* tensor = &call->tensors[i];
    if (tensor->is_written != written || tensor == excluded) continue;
    sum += bytes_of(tensor);
  }
  return sum;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void count_part(const etx_operator_cost_call* call,
                       etx_operator_cost* cost) {
  const etx_operator_cost_tensor* from = tensor_at(call, 0);
  const uint64_t written = sum_bytes(call, true, NULL);
  const uint64_t read = from == NULL ? 0 : smaller(bytes_of(from), written);
  cost->bytes = written + read + sum_bytes(call, false, from);
  if (from != NULL && from->is_constant) cost->constant_bytes = read;
}

static void count_into(const etx_operator_cost_call* call,
                       etx_operator_cost* cost) {
  uint64_t read = 0;
  for (size_t i = 0; i < call->count; ++i) {
    const etx_operator_cost_tensor* tensor = &call->tensors[i];
    const etx_operator_cost_tensor* to = first_written(call);
    const bool is_target =
        tensor->is_written ||
        (to != NULL && tensor->place != 0 && tensor->place == to->place);
    if (!is_target) read += bytes_of(tensor);
  }
  cost->bytes = 2 * read;
}

static void count_all(const etx_operator_cost_call* call,
                      etx_operator_cost* cost) {
  for (size_t i = 0; i < call->count; ++i) {
    const etx_operator_cost_tensor* tensor = &call->tensors[i];
    if (is_counted(call, i)) continue;
    cost->bytes += bytes_of(tensor);
    if (tensor->is_constant) cost->constant_bytes += bytes_of(tensor);
  }
}

// Layers with dynamic quantisation (linear_a8w8, linear_a8w4g, ...) and
// operators over uint8 and int8.
static bool multiplies_bytes(const etx_op* op) {
  return strstr(op->name, "_a8w") != NULL || strstr(op->name, "_u8") != NULL;
}

etx_operator_cost etx_operator_cost_of(const etx_operator_cost_call* call) {
  const struct operator_kind* kind = kind_of(call->op);
  etx_operator_cost cost = {.multiply_adds = work_of(call, kind->work)};
  if (multiplies_bytes(call->op)) cost.byte_multiply_adds = cost.multiply_adds;
  if (etx_op_makes_view(call->op)) return cost;
  switch (kind->bytes) {
    case BYTES_PART:
      count_part(call, &cost);
      break;
    case BYTES_INTO:
      count_into(call, &cost);
      break;
    case BYTES_NONE:
      break;
    default:
      count_all(call, &cost);
      break;
  }
  return cost;
}
