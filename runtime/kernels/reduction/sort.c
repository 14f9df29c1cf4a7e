// topk and sort along one dimension.
//
// Elements are compared by their keys (sort_keys.h); equal ones keep the order
// of their positions. topk of few elements keeps them in a heap whose root is
// the worst, so most elements cost one comparison. Otherwise the line is sorted
// by the radix sort.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/core/sort_keys.h"
#include "runtime/kernels/reduction/line_visitor.h"
#include "runtime/kernels/registry/temporary_kernels.h"

typedef struct line_order {
  size_t count;  // elements of a line
  size_t kept;   // the first ones in order, which are results
  bool descending;
  etx_sort_entry* entries;  // workspace of workspace_bytes
} line_order;

// A heap is faster than the radix sort for lines of up to MAX_HEAP_LINE
// elements. Insertion into a sorted list is faster than a heap for up to
// MAX_INSERTION kept elements.
enum { MAX_HEAP_LINE = 96, MAX_INSERTION = 12 };

static bool uses_heap(size_t count, size_t kept) {
  return count <= MAX_HEAP_LINE || kept <= count / 8 || kept <= MAX_INSERTION;
}

static size_t workspace_bytes(size_t count, size_t kept) {
  return (uses_heap(count, kept) ? kept : 2 * count) * sizeof(etx_sort_entry);
}

static bool comes_before(etx_sort_entry a, etx_sort_entry b) {
  return a.key < b.key || (a.key == b.key && a.position < b.position);
}

// Restores the heap property below `at`: a parent comes after its children.
static void sift_down(etx_sort_entry* heap, size_t count, size_t at) {
  const etx_sort_entry moved = heap[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && comes_before(heap[child], heap[child + 1])) {
      ++child;
    }
    if (!comes_before(moved, heap[child])) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

static void sort_heap(etx_sort_entry* heap, size_t count) {
  for (size_t left = count; left > 1; --left) {
    const etx_sort_entry last = heap[left - 1];
    heap[left - 1] = heap[0];
    heap[0] = last;
    sift_down(heap, left - 1, 0);
  }
}

// Inserts keys into the sorted list of kept entries. A later equal key comes
// after an earlier one.
static size_t insert_keys(const line_order* o, size_t held,
                          const uint64_t* keys, size_t count, size_t first) {
  etx_sort_entry* list = o->entries;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = keys[i];
    if (held == o->kept && key >= list[held - 1].key) continue;
    size_t at = held < o->kept ? held++ : held - 1;
    for (; at > 0 && key < list[at - 1].key; --at) list[at] = list[at - 1];
    list[at] = (etx_sort_entry){key, first + i};
  }
  return held;
}

// Pushes keys of positions `first` and following to the heap. Positions
// increase, so a later equal key never replaces an earlier one.
static size_t push_keys(const line_order* o, size_t held, const uint64_t* keys,
                        size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) {
    const etx_sort_entry offered = {keys[i], first + i};
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

// The first `kept` entries of one line, in order.
static const etx_sort_entry* sort_line(const line_order* o,
                                       const etx_index_line* line) {
  etx_key_source source = {line->at[0], line->dtype,
                           line->steps[0] / (ptrdiff_t)line->bytes,
                           o->descending};
  size_t held = 0;
  if (!uses_heap(o->count, o->kept)) {
    etx_sort_entries_load(&source, o->count, o->entries);
    return etx_radix_sort(o->entries, o->entries + o->count, o->count);
  }
  for (size_t done = 0; done < o->count; done += ETX_BLOCK) {
    const size_t left = o->count - done;
    const size_t part = left < ETX_BLOCK ? left : ETX_BLOCK;
    uint64_t keys[ETX_BLOCK];
    source.data = line->at[0] + (ptrdiff_t)done * line->steps[0];
    etx_sort_keys_load(&source, part, keys);
    held = o->kept <= MAX_INSERTION ? insert_keys(o, held, keys, part, done)
                                    : push_keys(o, held, keys, part, done);
  }
  if (o->kept > MAX_INSERTION) sort_heap(o->entries, held);
  return o->entries;
}

static void order_line(const etx_index_line* line, void* context) {
  const line_order* o = context;
  const etx_sort_entry* entries = sort_line(o, line);
  for (size_t i = 0; i < o->kept; ++i) {
    etx_index_line_store(line, i, (size_t)entries[i].position);
  }
}

// `first` is the position of the values; the indices follow.
static void run_line_order(const etx_call* call, line_order* o,
                           size_t dimension, size_t first) {
  const etx_tensor* const tensors[] = {
      etx_call_tensor(call, ETX_ARG_topk_values_self),
      etx_call_tensor(call, first), etx_call_tensor(call, first + 1)};
  o->entries = call->temporary;
  etx_index_lines_visit(tensors, dimension, order_line, o);
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
  const size_t heap = kept * sizeof(etx_sort_entry);
  const size_t both =
      sorted > MAX_HEAP_LINE ? 2 * sorted * sizeof(etx_sort_entry) : 0;
  *out_bytes = heap > both ? heap : both;
  return ETX_OK;
}

etx_status etx_temporary_topk(const etx_call* call, size_t* out_bytes) {
  return max_workspace_bytes(call, 5, out_bytes);
}
etx_status etx_temporary_sort(const etx_call* call, size_t* out_bytes) {
  return max_workspace_bytes(call, 4, out_bytes);
}
