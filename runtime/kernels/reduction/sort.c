// topk and sort along one dimension.
//
// Each element of a line is mapped to an unsigned key with the same order;
// equal keys keep the order of their positions. NaN is larger than all numbers,
// as in PyTorch. topk of few elements keeps them in a heap whose root is the
// worst, so most elements cost one comparison. Otherwise the line is sorted by
// a stable radix sort, byte by byte of the key.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct sort_entry {
  uint64_t key;
  uint64_t position;
} sort_entry;

typedef struct line_order {
  size_t count;  // elements of a line
  size_t kept;   // the first ones in order, which are results
  bool descending;
  sort_entry* entries;  // workspace of workspace_bytes
} line_order;

// A heap is faster than the radix sort for lines of up to MAX_HEAP_LINE
// elements. Insertion into a sorted list is faster than a heap for up to
// MAX_INSERTION kept elements.
enum { MAX_HEAP_LINE = 96, MAX_INSERTION = 12 };

static bool uses_heap(size_t count, size_t kept) {
  return count <= MAX_HEAP_LINE || kept <= count / 8 || kept <= MAX_INSERTION;
}

static size_t workspace_bytes(size_t count, size_t kept) {
  return (uses_heap(count, kept) ? kept : 2 * count) * sizeof(sort_entry);
}

// Keys of floats, without a branch: all bits of a negative number are flipped,
// the sign bit of a positive one is set. NaN has all bits set.
static uint32_t key_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x + 0.0f);  // -0 becomes 0
  const uint32_t flipped = (0 - (bits >> 31)) | UINT32_C(0x80000000);
  return x != x ? UINT32_MAX : bits ^ flipped;
}
static uint64_t key_of_f64(double x) {
  const uint64_t bits = etx_bits_of_f64(x + 0.0);
  const uint64_t flipped = (0 - (bits >> 63)) | UINT64_C(1) << 63;
  return x != x ? UINT64_MAX : bits ^ flipped;
}

// Keys of a block: 32 bits for float32, 64 bits for other types. Descending
// order flips all bits of a key.
static void make_keys(const line_order* o, const void* elements,
                      etx_compute_type compute, size_t count, uint64_t* keys) {
  const uint64_t mask = o->descending ? UINT64_MAX : 0;
  const float* singles = elements;
  const double* doubles = elements;
  const int64_t* integers = elements;
  for (size_t i = 0; i < count && compute == ETX_COMPUTE_F32; ++i) {
    keys[i] = key_of_f32(singles[i]) ^ (uint32_t)mask;
  }
  for (size_t i = 0; i < count && etx_is_f64(compute); ++i) {
    keys[i] = key_of_f64(doubles[i]) ^ mask;
  }
  for (size_t i = 0; i < count && compute == ETX_COMPUTE_I64; ++i) {
    keys[i] = (uint64_t)integers[i] ^ UINT64_C(1) << 63 ^ mask;
  }
}

static bool comes_before(sort_entry a, sort_entry b) {
  return a.key < b.key || (a.key == b.key && a.position < b.position);
}

// Restores the heap property below `at`: a parent comes after its children.
static void sift_down(sort_entry* heap, size_t count, size_t at) {
  const sort_entry moved = heap[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && comes_before(heap[child], heap[child + 1])) {
      ++child;
    }
    if (!comes_before(moved, heap[child])) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

static void sort_heap(sort_entry* heap, size_t count) {
  for (size_t left = count; left > 1; --left) {
    const sort_entry last = heap[left - 1];
    heap[left - 1] = heap[0];
    heap[0] = last;
    sift_down(heap, left - 1, 0);
  }
}

// Inserts keys into the sorted list of kept entries. A later equal key comes
// after an earlier one.
static size_t insert_keys(const line_order* o, size_t held,
                          const uint64_t* keys, size_t count, size_t first) {
  sort_entry* list = o->entries;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = keys[i];
    if (held == o->kept && key >= list[held - 1].key) continue;
    size_t at = held < o->kept ? held++ : held - 1;
    for (; at > 0 && key < list[at - 1].key; --at) list[at] = list[at - 1];
    list[at] = (sort_entry){key, first + i};
  }
  return held;
}

// Pushes keys of positions `first` and following to the heap. Positions
// increase, so a later equal key never replaces an earlier one.
static size_t push_keys(const line_order* o, size_t held, const uint64_t* keys,
                        size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) {
    const sort_entry offered = {keys[i], first + i};
    if (held < o->kept) {
      o->entries[held++] = offered;
      for (size_t at = held / 2; held == o->kept && at-- > 0;) {
        sift_down(o->entries, held, at);
      }
    } else if (offered.key < o->entries[0].key) {
      o->entries[0] = offered;
      sift_down(o->entries, held, 0);
    }
  }
  return held;
}

// One stable pass of the radix sort, by one byte of the key. Returns false if
// all entries have the same byte; then nothing is moved.
static bool radix_pass(const sort_entry* from, sort_entry* to, size_t count,
                       unsigned shift) {
  size_t starts[256] = {0};
  for (size_t i = 0; i < count; ++i) ++starts[from[i].key >> shift & 255];
  if (starts[from[0].key >> shift & 255] == count) return false;
  size_t start = 0;
  for (size_t i = 0; i < 256; ++i) {
    const size_t next = start + starts[i];
    starts[i] = start;
    start = next;
  }
  for (size_t i = 0; i < count; ++i) {
    to[starts[from[i].key >> shift & 255]++] = from[i];
  }
  return true;
}

// Sorts the first half of `entries`; the second half is workspace. Returns the
// half that has the result.
static const sort_entry* radix_sort(sort_entry* entries, size_t count) {
  sort_entry* from = entries;
  sort_entry* to = entries + count;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if (!radix_pass(from, to, count, shift)) continue;
    sort_entry* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

// The first `kept` entries of one line, in order.
static const sort_entry* sort_line(const line_order* o, etx_dtype dtype,
                                   const char* in, ptrdiff_t stride) {
  const etx_compute_type compute = etx_compute_type_of(dtype);
  const ptrdiff_t step = stride * (ptrdiff_t)etx_dtype_bytes(dtype);
  const bool heap = uses_heap(o->count, o->kept);
  size_t held = 0;
  for (size_t done = 0; done < o->count; done += ETX_BLOCK) {
    const size_t left = o->count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block block;
    uint64_t keys[ETX_BLOCK];
    const void* elements = in + (ptrdiff_t)done * step;
    if (stride != 1 || dtype != etx_compute_type_dtype(compute)) {
      etx_block_load(&block, compute, dtype, elements, stride, part);
      elements = &block;
    }
    make_keys(o, elements, compute, part, keys);
    if (o->kept <= MAX_INSERTION) {
      held = insert_keys(o, held, keys, part, done);
    } else if (heap) {
      held = push_keys(o, held, keys, part, done);
    } else {
      for (size_t i = 0; i < part; ++i) {
        o->entries[done + i] = (sort_entry){keys[i], done + i};
      }
    }
  }
  if (!heap) return radix_sort(o->entries, o->count);
  if (o->kept > MAX_INSERTION) sort_heap(o->entries, held);
  return o->entries;
}

// Iterates over the lines of the input, the values and the indices.
typedef struct line_iterator {
  etx_strided_iterator iterator;
  ptrdiff_t steps[3];  // along a line, in bytes
} line_iterator;

static bool start_line_iterator(line_iterator* lines, size_t dimension,
                                const etx_tensor* const tensors[3]) {
  for (size_t k = 0; k < 3; ++k) {
    etx_strided_view view = etx_strided_view_of(tensors[k]);
    const size_t bytes = etx_dtype_bytes(view.dtype);
    lines->steps[k] = 0;
    if (view.rank > 0) {
      if (view.sizes[dimension] == 0) return false;
      lines->steps[k] = view.strides[dimension] * (ptrdiff_t)bytes;
      etx_strided_view_select(&view, dimension, 0);
    }
    if (k == 0)
      etx_strided_iterator_init(&lines->iterator, view.sizes, view.rank);
    etx_strided_iterator_add_strided(&lines->iterator, view.data, bytes,
                                     view.strides);
  }
  return etx_strided_iterator_start(&lines->iterator);
}

static void store_line(const line_order* o, const line_iterator* lines,
                       const sort_entry* entries, char* const at[3]) {
  const size_t bytes = (size_t)lines->iterator.bytes[0];
  for (size_t i = 0; i < o->kept; ++i) {
    const size_t position = (size_t)entries[i].position;
    memcpy(at[1] + (ptrdiff_t)i * lines->steps[1],
           at[0] + (ptrdiff_t)position * lines->steps[0], bytes);
    *(int64_t*)(void*)(at[2] + (ptrdiff_t)i * lines->steps[2]) =
        (int64_t)position;
  }
}

// `first` is the position of the values; the indices follow.
static void run_line_order(const etx_call* call, line_order* o,
                           size_t dimension, size_t first) {
  const etx_tensor* const tensors[] = {
      etx_call_tensor(call, ETX_ARG_topk_values_self),
      etx_call_tensor(call, first), etx_call_tensor(call, first + 1)};
  line_iterator lines;
  o->entries = call->temporary;
  bool more = start_line_iterator(&lines, dimension, tensors);
  for (; more; more = etx_strided_iterator_next(&lines.iterator)) {
    char* at[3];
    for (size_t k = 0; k < 3; ++k) at[k] = lines.iterator.data[k];
    for (size_t i = 0; i < lines.iterator.count; ++i) {
      const sort_entry* entries =
          sort_line(o, tensors[0]->dtype, at[0],
                    lines.steps[0] / lines.iterator.bytes[0]);
      store_line(o, &lines, entries, at);
      for (size_t k = 0; k < 3; ++k) {
        at[k] += lines.iterator.stride[k] * lines.iterator.bytes[k];
      }
    }
  }
}

// The dimension that argument 2 names.
static size_t dimension_of(const etx_call* call) {
  return etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_topk_values_dim),
      etx_call_tensor(call, ETX_ARG_topk_values_self)->rank);
}
static size_t line_size(const etx_tensor* tensor, size_t dimension) {
  return tensor->rank == 0 ? 1 : (size_t)tensor->sizes[dimension];
}

// (self, k, dim, largest, sorted, values, indices). The result is always
// sorted. As in PyTorch, a tensor of rank 0 keeps its element even if k is 0.
static etx_status run_topk(etx_call* call) {
  const size_t dimension = dimension_of(call);
  line_order o = {
      .count =
          line_size(etx_call_tensor(call, ETX_ARG_topk_values_self), dimension),
      .kept = line_size(etx_call_tensor(call, ETX_ARG_topk_values_values),
                        dimension),
      .descending = etx_call_boolean(call, ETX_ARG_topk_values_largest)};
  run_line_order(call, &o, dimension, 5);
  return ETX_OK;
}

// (self, stable, dim, descending, values, indices)
static etx_status run_sort(etx_call* call) {
  const size_t dimension = dimension_of(call);
  line_order o = {
      .count = line_size(etx_call_tensor(call, ETX_ARG_sort_values_stable_self),
                         dimension),
      .descending =
          etx_call_boolean(call, ETX_ARG_sort_values_stable_descending)};
  o.kept = o.count;
  run_line_order(call, &o, dimension, 4);
  return ETX_OK;
}

// `first` is the position of the values.
static etx_status prepare(etx_call* call, size_t first,
                          etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_topk_values_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_topk_values_self, first));
  ETX_TRY(etx_call_check_dtype(call, first + 1, ETX_DTYPE_INT64));
  const size_t dimension = dimension_of(call);
  call->temporary_bytes = workspace_bytes(
      line_size(etx_call_tensor(call, ETX_ARG_topk_values_self), dimension),
      line_size(etx_call_tensor(call, first), dimension));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_topk_values_prepare(etx_call* call) {
  if (etx_call_tensor(call, ETX_ARG_topk_values_self)->dtype ==
      ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, ETX_ARG_topk_values_self,
                                 "a number type");
  }
  return prepare(call, 5, run_topk);
}
etx_status etx_kernel_sort_values_stable_prepare(etx_call* call) {
  return prepare(call, 4, run_sort);
}

// The largest workspace for all dynamic sizes up to those of the call: that of
// the longest line that is still sorted, or that of the largest heap. An
// invalid dimension is refused later.
static etx_status max_workspace_bytes(const etx_call* call, size_t first,
                                      size_t* out_bytes) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  const etx_tensor* values = etx_call_tensor(call, first);
  size_t count = 1, kept = 1;
  for (size_t i = 0; i < self->rank; ++i) {
    if ((size_t)self->sizes[i] > count) count = (size_t)self->sizes[i];
  }
  for (size_t i = 0; i < values->rank; ++i) {
    if ((size_t)values->sizes[i] > kept) kept = (size_t)values->sizes[i];
  }
  const size_t dimension = dimension_of(call);
  if (self->rank == values->rank && dimension < self->rank) {
    count = (size_t)self->sizes[dimension];
    kept = (size_t)values->sizes[dimension];
  }
  const size_t sorted = count < 8 * kept + 8 ? count : 8 * kept + 8;
  const size_t heap = kept * sizeof(sort_entry);
  const size_t both =
      sorted > MAX_HEAP_LINE ? 2 * sorted * sizeof(sort_entry) : 0;
  *out_bytes = heap > both ? heap : both;
  return ETX_OK;
}

etx_status etx_temporary_topk(const etx_call* call, size_t* out_bytes) {
  return max_workspace_bytes(call, 5, out_bytes);
}
etx_status etx_temporary_sort(const etx_call* call, size_t* out_bytes) {
  return max_workspace_bytes(call, 4, out_bytes);
}
