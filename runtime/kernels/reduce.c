// Two walks (walk.h): the outer one over the kept dimensions and the results,
// the inner one over the reduced dimensions. The inner walk is set up once and
// moved for each result, or for each group of neighbouring results.

#include "runtime/kernels/reduce.h"

#include "runtime/kernels/parts.h"
#include "runtime/kernels/walk.h"

// Blocks of results that are folded together: wide enough that a row is read
// in pieces of some cache lines, small enough for the stack.
enum { GROUP_BLOCKS = 8, GROUP = GROUP_BLOCKS * ETX_BLOCK };

// Rows shorter than this are folded across, many results at a time.
enum { SHORT_ROW = 12 };

typedef struct group {
  const char* data;  // first element of the first result
  ptrdiff_t stride;  // from result to result, in elements
  size_t count;      // results, at most GROUP
  etx_folded folded[GROUP_BLOCKS];
} group;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// Results in block `b` of a group.
static size_t block_count(const group* g, size_t b) {
  return smaller(g->count - b * ETX_BLOCK, ETX_BLOCK);
}

static bool is_native(const etx_reduction* r, ptrdiff_t stride) {
  return stride == 1 && r->self->dtype == etx_wide_dtype(r->wide);
}

static void load(const etx_reduction* r, etx_block* block, const char* from,
                 ptrdiff_t stride, size_t count) {
  etx_operand_load_as(block, r->wide, r->cast, r->self->dtype, from, stride,
                      count);
}

static void fold_row(const etx_reduction* r, etx_folded* folded, size_t at,
                     const etx_walk* row, int64_t before) {
  if (is_native(r, row->stride[0])) {
    r->fold->row(folded, at, row->data[0], row->count, before);
    return;
  }
  const ptrdiff_t step = row->stride[0] * row->bytes[0];
  etx_block block;
  for (size_t done = 0; done < row->count; done += ETX_BLOCK) {
    const size_t part = smaller(row->count - done, ETX_BLOCK);
    load(r, &block, row->data[0] + (ptrdiff_t)done * step, row->stride[0],
         part);
    r->fold->row(folded, at, &block, part, before + (int64_t)done);
  }
}

// Result by result. A finished walk stands at its first row again, so it is
// moved and used once more.
static void fold_rows(const etx_reduction* r, group* g, etx_walk* inner) {
  const ptrdiff_t step = g->stride * inner->bytes[0];
  const char* data = g->data;
  for (size_t i = 0; i < g->count; ++i, data += step) {
    int64_t before = 0;
    inner->data[0] = (char*)(uintptr_t)data;
    do {
      fold_row(r, &g->folded[i / ETX_BLOCK], i % ETX_BLOCK, inner, before);
      before += (int64_t)inner->count;
    } while (etx_walk_next(inner));
  }
}

// One element into each result of the group, from `data` on.
static void fold_across(const etx_reduction* r, group* g, const char* data,
                        int64_t before) {
  const size_t bytes = etx_dtype_bytes(r->self->dtype);
  const bool native = is_native(r, g->stride);
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    const size_t part = block_count(g, b);
    const ptrdiff_t skipped = (ptrdiff_t)(b * ETX_BLOCK) * g->stride;
    const char* from = data + skipped * (ptrdiff_t)bytes;
    etx_block block;
    if (!native) load(r, &block, from, g->stride, part);
    r->fold->columns(&g->folded[b], native ? (const void*)from : &block, part,
                     before);
  }
}

static void fold_columns(const etx_reduction* r, group* g, etx_walk* inner) {
  const ptrdiff_t step = inner->stride[0] * inner->bytes[0];
  int64_t before = 0;
  inner->data[0] = (char*)(uintptr_t)g->data;
  do {
    const char* data = inner->data[0];
    for (size_t i = 0; i < inner->count; ++i, data += step) {
      fold_across(r, g, data, before++);
    }
  } while (etx_walk_next(inner));
}

// Writes the results of one block; `to` are where its first ones go.
static void store_block(const etx_reduction* r, const etx_folded* folded,
                        size_t count, char* const to[2],
                        const ptrdiff_t strides[2]) {
  if (r->value != NULL) {
    etx_block_store(&folded->value, r->fold->value_wide, r->value->dtype, to[0],
                    strides[0], count);
  }
  if (r->other != NULL) {
    etx_block_store(&folded->other, r->fold->other_wide, r->other->dtype, to[1],
                    strides[1], count);
  }
}

static void reduce_group(const etx_reduction* r, group* g, etx_walk* inner,
                         bool has_inner, bool by_columns, char* to[2],
                         const ptrdiff_t strides[2]) {
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    r->fold->start(&g->folded[b], block_count(g, b));
  }
  if (has_inner && by_columns) fold_columns(r, g, inner);
  if (has_inner && !by_columns) fold_rows(r, g, inner);
  const etx_tensor* const results[] = {r->value, r->other};
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    const size_t count = block_count(g, b);
    if (r->fold->finish != NULL) r->fold->finish(r, &g->folded[b], count);
    store_block(r, &g->folded[b], count, to, strides);
    for (size_t k = 0; k < 2; ++k) {
      if (results[k] == NULL) continue;
      to[k] += (ptrdiff_t)count * strides[k] *
               (ptrdiff_t)etx_dtype_bytes(results[k]->dtype);
    }
  }
}

// Splits self's dimensions: `inner` walks the reduced ones.
static bool start_inner(const etx_reduction* r, etx_walk* inner) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) == 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_walk_init(inner, sizes, rank);
  etx_walk_add_strided(inner, r->self->data, etx_dtype_bytes(r->self->dtype),
                       strides);
  return etx_walk_start(inner);
}

// `outer` walks the kept dimensions of self and, behind it, the results, which
// have the same dimensions in the same order (sizes of 1 aside).
static void add_results(etx_walk* outer, const etx_reduction* r,
                        const etx_tensor* results) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const bool keeps = results->rank == r->self->rank;
  size_t rank = 0, at = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    const bool is_reduced = ((r->dims >> i) & 1) != 0;
    if (!is_reduced) strides[rank++] = results->strides[keeps ? i : at];
    if (!is_reduced || keeps) ++at;
  }
  etx_walk_add_strided(outer, results->data, etx_dtype_bytes(results->dtype),
                       strides);
}

static bool start_outer(const etx_reduction* r, etx_walk* outer) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) != 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_walk_init(outer, sizes, rank);
  etx_walk_add_strided(outer, r->self->data, etx_dtype_bytes(r->self->dtype),
                       strides);
  if (r->value != NULL) add_results(outer, r, r->value);
  if (r->other != NULL) add_results(outer, r, r->other);
  return etx_walk_start(outer);
}

static ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

// Rows lie closer together than the elements of a row, or are short: many
// results at a time.
static bool goes_by_columns(const etx_walk* outer, const etx_walk* inner) {
  if (outer->count < SHORT_ROW) return false;
  if (inner->count < SHORT_ROW) return true;
  return magnitude(outer->stride[0]) < magnitude(inner->stride[0]);
}

// Reduces to the results of one row of the outer walk.
static void reduce_row(const etx_reduction* r, const etx_walk* outer,
                       etx_walk* inner, bool has_inner, bool by_columns) {
  const size_t second = r->value == NULL ? 1 : 2;
  const size_t last = outer->operands - 1;
  char* to[2] = {outer->data[smaller(1, last)],
                 outer->data[smaller(second, last)]};
  const ptrdiff_t strides[2] = {outer->stride[smaller(1, last)],
                                outer->stride[smaller(second, last)]};
  group g;
  g.data = outer->data[0];
  g.stride = outer->stride[0];
  for (size_t done = 0; done < outer->count; done += GROUP) {
    g.count = smaller(outer->count - done, GROUP);
    reduce_group(r, &g, inner, has_inner, by_columns, to, strides);
    g.data += (ptrdiff_t)g.count * g.stride * outer->bytes[0];
  }
}

void etx_reduce(const etx_reduction* r) {
  etx_walk inner, outer;
  const bool has_inner = start_inner(r, &inner);
  bool more = start_outer(r, &outer);
  if (!more) return;
  const bool by_columns = has_inner && goes_by_columns(&outer, &inner);
  for (; more; more = etx_walk_next(&outer)) {
    reduce_row(r, &outer, &inner, has_inner, by_columns);
  }
}
uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all) {
  const size_t rank = etx_call_tensor(call, 0)->rank;
  const uint32_t all = rank == 0 ? 0 : (UINT32_C(2) << (rank - 1)) - 1;
  const etx_value* value = etx_call_value(call, index);
  if (value->kind == ETX_VALUE_NONE) return all;
  if (value->kind == ETX_VALUE_INT) {
    return UINT32_C(1) << etx_wrap_dimension(value->as.integer, rank) & all;
  }
  if (value->as.integers.count == 0 && empty_is_all) return all;
  uint32_t bits = 0;
  for (size_t i = 0; i < value->as.integers.count; ++i) {
    bits |=
        UINT32_C(1) << etx_wrap_dimension(etx_call_item(call, index, i), rank);
  }
  return bits & all;
}

size_t etx_reduced_count(const etx_tensor* self, uint32_t dims) {
  size_t count = 1;
  for (size_t i = 0; i < self->rank; ++i) {
    if (((dims >> i) & 1) != 0) count *= (size_t)self->sizes[i];
  }
  return count;
}
