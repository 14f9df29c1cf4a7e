// topk and sort along one dimension.
//
// Each element of a line gets a key: an integer in whose order the elements
// come out, equal ones in the order of their positions. NaN counts as larger
// than all numbers. Few of many are kept in a heap whose root is the worst of
// them, so that most elements cost one comparison; otherwise the line is
// sorted byte by byte of the key, which needs no comparison and keeps equal
// keys in order.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct entry {
  uint64_t key;
  uint64_t position;
} entry;

typedef struct ordering {
  size_t count;  // elements of a line
  size_t kept;   // of them, the first ones in order
  bool descending;
  entry* entries;  // room as bytes_for says
} ordering;

// Below SHORT_LINE elements a heap is faster whatever is kept, and for up to
// SHORT_LIST a list.
enum { SHORT_LINE = 96, SHORT_LIST = 12 };

static bool uses_heap(size_t count, size_t kept) {
  return count <= SHORT_LINE || kept <= count / 8 || kept <= SHORT_LIST;
}

static size_t bytes_for(size_t count, size_t kept) {
  return (uses_heap(count, kept) ? kept : 2 * count) * sizeof(entry);
}

// Keys of floats without a branch: a negative number turns all its bits around,
// another one its sign; NaN has all bits.
static uint32_t key_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x + 0.0f);  // -0 becomes 0
  const uint32_t turned = (0 - (bits >> 31)) | UINT32_C(0x80000000);
  return x != x ? UINT32_MAX : bits ^ turned;
}
static uint64_t key_of_f64(double x) {
  const uint64_t bits = etx_bits_of_f64(x + 0.0);
  const uint64_t turned = (0 - (bits >> 63)) | UINT64_C(1) << 63;
  return x != x ? UINT64_MAX : bits ^ turned;
}

// Keys of a block. Those of float32 fill 32 bits, others 64: descending order
// turns as many around.
static void make_keys(const ordering* o, const void* elements,
                      etx_compute_type wide, size_t count, uint64_t* keys) {
  const uint64_t mask = o->descending ? UINT64_MAX : 0;
  const float* singles = elements;
  const double* doubles = elements;
  const int64_t* integers = elements;
  for (size_t i = 0; i < count && wide == ETX_COMPUTE_F32; ++i) {
    keys[i] = key_of_f32(singles[i]) ^ (uint32_t)mask;
  }
  for (size_t i = 0; i < count && etx_is_f64(wide); ++i) {
    keys[i] = key_of_f64(doubles[i]) ^ mask;
  }
  for (size_t i = 0; i < count && wide == ETX_COMPUTE_I64; ++i) {
    keys[i] = (uint64_t)integers[i] ^ UINT64_C(1) << 63 ^ mask;
  }
}

static bool comes_before(entry a, entry b) {
  return a.key < b.key || (a.key == b.key && a.position < b.position);
}

// Moves the entry at `at` down until both below it come before it.
static void sink(entry* heap, size_t count, size_t at) {
  const entry moved = heap[at];
  for (size_t below; (below = 2 * at + 1) < count; at = below) {
    if (below + 1 < count && comes_before(heap[below], heap[below + 1])) {
      ++below;
    }
    if (!comes_before(moved, heap[below])) break;
    heap[at] = heap[below];
  }
  heap[at] = moved;
}

static void sort_heap(entry* heap, size_t count) {
  for (size_t left = count; left > 1; --left) {
    const entry last = heap[left - 1];
    heap[left - 1] = heap[0];
    heap[0] = last;
    sink(heap, left - 1, 0);
  }
}

// Few are kept in order at once: a later equal key stays behind.
static size_t insert(const ordering* o, size_t held, const uint64_t* keys,
                     size_t count, size_t first) {
  entry* list = o->entries;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = keys[i];
    if (held == o->kept && key >= list[held - 1].key) continue;
    size_t at = held < o->kept ? held++ : held - 1;
    for (; at > 0 && key < list[at - 1].key; --at) list[at] = list[at - 1];
    list[at] = (entry){key, first + i};
  }
  return held;
}

// Offers keys at positions from `first` on to the heap. Positions rise, so that
// an equal key never takes over.
static size_t offer(const ordering* o, size_t held, const uint64_t* keys,
                    size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) {
    const entry offered = {keys[i], first + i};
    if (held < o->kept) {
      o->entries[held++] = offered;
      for (size_t at = held / 2; held == o->kept && at-- > 0;) {
        sink(o->entries, held, at);
      }
    } else if (offered.key < o->entries[0].key) {
      o->entries[0] = offered;
      sink(o->entries, held, 0);
    }
  }
  return held;
}

// One pass: entries by one byte of the key, in a stable way. False if all have
// the same, and nothing was moved.
static bool sort_byte(const entry* from, entry* to, size_t count,
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

// Sorts the first half of `entries` by means of the second; answers where the
// result is.
static const entry* sort_bytes(entry* entries, size_t count) {
  entry* from = entries;
  entry* to = entries + count;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if (!sort_byte(from, to, count, shift)) continue;
    entry* const swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

// The entries to keep of one line, in order.
static const entry* order_line(const ordering* o, etx_dtype dtype,
                               const char* in, ptrdiff_t stride) {
  const etx_compute_type wide = etx_compute_type_of(dtype);
  const ptrdiff_t step = stride * (ptrdiff_t)etx_dtype_bytes(dtype);
  const bool heap = uses_heap(o->count, o->kept);
  size_t held = 0;
  for (size_t done = 0; done < o->count; done += ETX_BLOCK) {
    const size_t left = o->count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    etx_block block;
    uint64_t keys[ETX_BLOCK];
    const void* elements = in + (ptrdiff_t)done * step;
    if (stride != 1 || dtype != etx_compute_type_dtype(wide)) {
      etx_block_load(&block, wide, dtype, elements, stride, part);
      elements = &block;
    }
    make_keys(o, elements, wide, part, keys);
    if (o->kept <= SHORT_LIST) {
      held = insert(o, held, keys, part, done);
    } else if (heap) {
      held = offer(o, held, keys, part, done);
    } else {
      for (size_t i = 0; i < part; ++i) {
        o->entries[done + i] = (entry){keys[i], done + i};
      }
    }
  }
  if (!heap) return sort_bytes(o->entries, o->count);
  if (o->kept > SHORT_LIST) sort_heap(o->entries, held);
  return o->entries;
}

// Where the lines of the three tensors lie; the walk goes from line to line.
typedef struct line_walk {
  etx_strided_iterator walk;
  ptrdiff_t steps[3];  // along a line, in bytes
} line_walk;

static bool start_lines(line_walk* lines, size_t dimension,
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
    if (k == 0) etx_strided_iterator_init(&lines->walk, view.sizes, view.rank);
    etx_strided_iterator_add_strided(&lines->walk, view.data, bytes,
                                     view.strides);
  }
  return etx_strided_iterator_start(&lines->walk);
}

static void write_line(const ordering* o, const line_walk* lines,
                       const entry* entries, char* const at[3]) {
  const size_t bytes = (size_t)lines->walk.bytes[0];
  for (size_t i = 0; i < o->kept; ++i) {
    const size_t position = (size_t)entries[i].position;
    memcpy(at[1] + (ptrdiff_t)i * lines->steps[1],
           at[0] + (ptrdiff_t)position * lines->steps[0], bytes);
    *(int64_t*)(void*)(at[2] + (ptrdiff_t)i * lines->steps[2]) =
        (int64_t)position;
  }
}

// `first` is the argument with the values, the indices follow.
static void run_ordering(const etx_call* call, ordering* o, size_t dimension,
                         size_t first) {
  const etx_tensor* const tensors[] = {
      etx_call_tensor(call, ETX_ARG_topk_values_self),
      etx_call_tensor(call, first), etx_call_tensor(call, first + 1)};
  line_walk lines;
  o->entries = call->temporary;
  bool more = start_lines(&lines, dimension, tensors);
  for (; more; more = etx_strided_iterator_next(&lines.walk)) {
    char* at[3];
    for (size_t k = 0; k < 3; ++k) at[k] = lines.walk.data[k];
    for (size_t i = 0; i < lines.walk.count; ++i) {
      const entry* entries = order_line(o, tensors[0]->dtype, at[0],
                                        lines.steps[0] / lines.walk.bytes[0]);
      write_line(o, &lines, entries, at);
      for (size_t k = 0; k < 3; ++k) {
        at[k] += lines.walk.stride[k] * lines.walk.bytes[k];
      }
    }
  }
}

// Dimension 2 of the arguments, and what lies along it.
static size_t dimension_of(const etx_call* call) {
  return etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_topk_values_dim),
      etx_call_tensor(call, ETX_ARG_topk_values_self)->rank);
}
static size_t size_along(const etx_tensor* tensor, size_t dimension) {
  return tensor->rank == 0 ? 1 : (size_t)tensor->sizes[dimension];
}

// (self, k, dim, largest, sorted, values, indices): the result is sorted
// whether that is asked for or not. A tensor without dimensions keeps its one
// element even if k is 0.
static etx_status run_topk(etx_call* call) {
  const size_t dimension = dimension_of(call);
  ordering o = {
      .count = size_along(etx_call_tensor(call, ETX_ARG_topk_values_self),
                          dimension),
      .kept = size_along(etx_call_tensor(call, ETX_ARG_topk_values_values),
                         dimension),
      .descending = etx_call_boolean(call, ETX_ARG_topk_values_largest)};
  run_ordering(call, &o, dimension, 5);
  return ETX_OK;
}

// (self, stable, dim, descending, values, indices)
static etx_status run_sort(etx_call* call) {
  const size_t dimension = dimension_of(call);
  ordering o = {
      .count = size_along(
          etx_call_tensor(call, ETX_ARG_sort_values_stable_self), dimension),
      .descending =
          etx_call_boolean(call, ETX_ARG_sort_values_stable_descending)};
  o.kept = o.count;
  run_ordering(call, &o, dimension, 4);
  return ETX_OK;
}

// `first` is the argument with the values.
static etx_status prepare(etx_call* call, size_t first,
                          etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_topk_values_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_topk_values_self, first));
  ETX_TRY(etx_call_check_dtype(call, first + 1, ETX_DTYPE_INT64));
  const size_t dimension = dimension_of(call);
  call->temporary_bytes = bytes_for(
      size_along(etx_call_tensor(call, ETX_ARG_topk_values_self), dimension),
      size_along(etx_call_tensor(call, first), dimension));
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

// For every count and number kept up to those of the call: the longest line
// that is still sorted, and the largest heap. A dimension that is not there is
// refused later.
static etx_status state_bytes(const etx_call* call, size_t first,
                              size_t* out_bytes) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_sort_values_stable_self);
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
  const size_t heap = kept * sizeof(entry);
  const size_t both = sorted > SHORT_LINE ? 2 * sorted * sizeof(entry) : 0;
  *out_bytes = heap > both ? heap : both;
  return ETX_OK;
}

etx_status etx_temporary_topk(const etx_call* call, size_t* out_bytes) {
  return state_bytes(call, 5, out_bytes);
}
etx_status etx_temporary_sort(const etx_call* call, size_t* out_bytes) {
  return state_bytes(call, 4, out_bytes);
}
