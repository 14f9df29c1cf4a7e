// Two iterators (strided_iterator.h): the outer one over the kept dimensions
// and the results, the inner one over the reduced dimensions. The inner
// iterator is set up once and moved to each result, or to each group of
// neighbouring results. If all tensors are contiguous and the reduced
// dimensions are adjacent, three numbers describe both iterators, and each has
// a single row.

#include "runtime/kernels/reduction/reduce.h"

#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/registry/op_arguments.h"

// Blocks of results that are reduced together: enough that a row is read in
// pieces of several cache lines, few enough for the stack.
enum { GROUP_BLOCKS = 7, GROUP_RESULTS = GROUP_BLOCKS * ETX_BLOCK };

// Fewer than MIN_RESULTS results are not reduced by columns. Rows shorter than
// SHORT_ROW are, if they have to be converted.
enum { MIN_RESULTS = 4, SHORT_ROW = 12 };

typedef struct result_group {
  const char* data;  // first element of the first result
  ptrdiff_t stride;  // from result to result, in elements
  size_t count;      // results, at most GROUP_RESULTS
  etx_accumulators acc[GROUP_BLOCKS];
} result_group;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

// Results in block `b` of a result_group.
static size_t block_count(const result_group* g, size_t b) {
  return min_size(g->count - b * ETX_BLOCK, ETX_BLOCK);
}

static bool is_native(const etx_reduction* r, ptrdiff_t stride) {
  return stride == 1 && r->self->dtype == r->native;
}

// Loads at most ETX_BLOCK elements in the type that the reducer reads.
static void load(const etx_reduction* r, etx_block* block, const char* from,
                 ptrdiff_t stride, size_t count) {
  if (r->native != etx_compute_type_dtype(r->compute)) {
    etx_convert(r->native, block, 1, r->self->dtype, from, stride, count);
    return;
  }
  const etx_operand_source source = {from, stride, r->self->dtype, r->cast};
  etx_operand_load_as(block, r->compute, &source, count);
}

static void reduce_strided_row(const etx_reduction* r, etx_accumulators* acc,
                               size_t at, const etx_strided_iterator* row,
                               int64_t before) {
  if (is_native(r, row->stride[0])) {
    r->reducer->row(acc, at, row->data[0], row->count, before);
    return;
  }
  const ptrdiff_t step = row->stride[0] * row->bytes[0];
  etx_block block;
  for (size_t done = 0; done < row->count; done += ETX_BLOCK) {
    const size_t part = min_size(row->count - done, ETX_BLOCK);
    load(r, &block, row->data[0] + (ptrdiff_t)done * step, row->stride[0],
         part);
    r->reducer->row(acc, at, &block, part, before + (int64_t)done);
  }
}

// Adjacent rows that need conversion: converts as many together as fit a block.
static void reduce_short_rows(const etx_reduction* r, result_group* g,
                              size_t count) {
  const size_t most = ETX_BLOCK / count;
  const size_t bytes = etx_dtype_bytes(r->native);
  const char* data = g->data;
  for (size_t done = 0; done < g->count; done += most) {
    const size_t rows = min_size(g->count - done, most);
    etx_block block;
    load(r, &block, data, 1, rows * count);
    for (size_t i = 0; i < rows; ++i) {
      const size_t at = done + i;
      r->reducer->row(&g->acc[at / ETX_BLOCK], at % ETX_BLOCK,
                      (const char*)&block + i * count * bytes, count, 0);
    }
    data += rows * count * etx_dtype_bytes(r->self->dtype);
  }
}

// Reduces result by result. An iterator that has finished is at its first row
// again, so it can be moved to the next result.
static void reduce_rows(const etx_reduction* r, result_group* g,
                        etx_strided_iterator* inner) {
  const ptrdiff_t step = g->stride * inner->bytes[0];
  const char* data = g->data;
  if (inner->rank == 0 && is_native(r, inner->stride[0])) {
    for (size_t i = 0; i < g->count; ++i, data += step) {
      r->reducer->row(&g->acc[i / ETX_BLOCK], i % ETX_BLOCK, data, inner->count,
                      0);
    }
    return;
  }
  if (inner->rank == 0 && inner->stride[0] == 1 &&
      inner->count <= ETX_BLOCK / 2 && g->stride == (ptrdiff_t)inner->count) {
    reduce_short_rows(r, g, inner->count);
    return;
  }
  for (size_t i = 0; i < g->count; ++i, data += step) {
    int64_t before = 0;
    inner->data[0] = (char*)(uintptr_t)data;
    do {
      reduce_strided_row(r, &g->acc[i / ETX_BLOCK], i % ETX_BLOCK, inner,
                         before);
      before += (int64_t)inner->count;
    } while (etx_strided_iterator_next(inner));
  }
}

// Rows that are added to one block of results before the next block: enough to
// keep the accumulators in registers, few enough to read memory in long pieces.
enum { ROWS_AT_ONCE = 16 };

// Adds `rows` elements to each result of the group, from `data` on, `step`
// elements apart.
static void add_rows_to_results(const etx_reduction* r, result_group* g,
                                const char* data, int64_t before, size_t rows,
                                ptrdiff_t step) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(r->self->dtype);
  const bool native = is_native(r, g->stride);
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    const size_t part = block_count(g, b);
    const ptrdiff_t skipped = (ptrdiff_t)(b * ETX_BLOCK) * g->stride;
    const char* from = data + skipped * bytes;
    if (native) {
      r->reducer->columns(&g->acc[b], from, part, before, rows, step);
      continue;
    }
    for (size_t i = 0; i < rows; ++i, from += step * bytes) {
      etx_block block;
      load(r, &block, from, g->stride, part);
      r->reducer->columns(&g->acc[b], &block, part, before + (int64_t)i, 1, 0);
    }
  }
}

static void reduce_columns(const etx_reduction* r, result_group* g,
                           etx_strided_iterator* inner) {
  const ptrdiff_t step = inner->stride[0] * inner->bytes[0];
  int64_t before = 0;
  inner->data[0] = (char*)(uintptr_t)g->data;
  do {
    const char* data = inner->data[0];
    for (size_t i = 0; i < inner->count; i += ROWS_AT_ONCE) {
      const size_t rows = min_size(inner->count - i, ROWS_AT_ONCE);
      add_rows_to_results(r, g, data, before, rows, inner->stride[0]);
      data += (ptrdiff_t)rows * step;
      before += (int64_t)rows;
    }
  } while (etx_strided_iterator_next(inner));
}

// Stores the results of one block at `to`: values and others.
static void store_block(const etx_reduction* r, const etx_accumulators* acc,
                        size_t count, char* const to[2],
                        const ptrdiff_t strides[2]) {
  if (r->value != NULL) {
    etx_block_store(&acc->value, r->reducer->value_type, r->value->dtype, to[0],
                    strides[0], count);
  }
  if (r->other != NULL) {
    etx_block_store(&acc->other, r->reducer->other_type, r->other->dtype, to[1],
                    strides[1], count);
  }
}

// The reduced dimensions, and the way to reduce them.
typedef struct inner_loop {
  etx_strided_iterator iterator;
  bool has_elements;
  bool by_columns;  // many results at a time
} inner_loop;

static void reduce_group(const etx_reduction* r, result_group* g,
                         inner_loop* inner, char* to[2],
                         const ptrdiff_t strides[2]) {
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    r->reducer->start(&g->acc[b], block_count(g, b));
  }
  if (inner->has_elements && inner->by_columns) {
    reduce_columns(r, g, &inner->iterator);
  } else if (inner->has_elements) {
    reduce_rows(r, g, &inner->iterator);
  }
  const etx_tensor* const results[] = {r->value, r->other};
  for (size_t b = 0; b * ETX_BLOCK < g->count; ++b) {
    const size_t count = block_count(g, b);
    if (r->reducer->finish != NULL) r->reducer->finish(r, &g->acc[b], count);
    store_block(r, &g->acc[b], count, to, strides);
    for (size_t k = 0; k < 2; ++k) {
      if (results[k] == NULL) continue;
      to[k] += (ptrdiff_t)count * strides[k] *
               (ptrdiff_t)etx_dtype_bytes(results[k]->dtype);
    }
  }
}

// Starts `inner` over the reduced dimensions of self.
static bool start_inner(const etx_reduction* r, etx_strided_iterator* inner) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) == 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_strided_iterator_init(inner, sizes, rank);
  etx_strided_iterator_add_strided(inner, r->self->data,
                                   etx_dtype_bytes(r->self->dtype), strides);
  return etx_strided_iterator_start(inner);
}

// Adds a result tensor to `outer`. It has the kept dimensions of self in the
// same order; if it has self's rank, the reduced ones have size 1.
static void add_results(etx_strided_iterator* outer, const etx_reduction* r,
                        const etx_tensor* results) {
  ptrdiff_t strides[ETX_MAX_RANK];
  const bool keeps = results->rank == r->self->rank;
  size_t rank = 0, at = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    const bool is_reduced = ((r->dims >> i) & 1) != 0;
    if (!is_reduced) strides[rank++] = results->strides[keeps ? i : at];
    if (!is_reduced || keeps) ++at;
  }
  etx_strided_iterator_add_strided(outer, results->data,
                                   etx_dtype_bytes(results->dtype), strides);
}

static bool start_outer(const etx_reduction* r, etx_strided_iterator* outer) {
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < r->self->rank; ++i) {
    if (((r->dims >> i) & 1) != 0) continue;
    sizes[rank] = r->self->sizes[i];
    strides[rank++] = r->self->strides[i];
  }
  etx_strided_iterator_init(outer, sizes, rank);
  etx_strided_iterator_add_strided(outer, r->self->data,
                                   etx_dtype_bytes(r->self->dtype), strides);
  if (r->value != NULL) add_results(outer, r, r->value);
  if (r->other != NULL) add_results(outer, r, r->other);
  return etx_strided_iterator_start(outer);
}

static ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

// True if many results at a time are faster: neighbouring results are closer in
// memory than the elements of one result, or rows are short.
static bool prefers_columns(const etx_reduction* r,
                            const etx_strided_iterator* outer,
                            const etx_strided_iterator* inner) {
  const size_t least = is_native(r, inner->stride[0]) ? MIN_RESULTS : SHORT_ROW;
  if (outer->count < MIN_RESULTS) return false;
  if (inner->count < least && outer->count > SHORT_ROW) return true;
  return magnitude(outer->stride[0]) < magnitude(inner->stride[0]);
}

// Computes the results of one row of the outer iterator.
static void reduce_outer_row(const etx_reduction* r,
                             const etx_strided_iterator* outer,
                             inner_loop* inner) {
  const size_t second = r->value == NULL ? 1 : 2;
  const size_t last = outer->operands - 1;
  char* to[2] = {outer->data[min_size(1, last)],
                 outer->data[min_size(second, last)]};
  const ptrdiff_t strides[2] = {outer->stride[min_size(1, last)],
                                outer->stride[min_size(second, last)]};
  result_group g;
  g.data = outer->data[0];
  g.stride = outer->stride[0];
  for (size_t done = 0; done < outer->count; done += GROUP_RESULTS) {
    g.count = min_size(outer->count - done, GROUP_RESULTS);
    reduce_group(r, &g, inner, to, strides);
    g.data += (ptrdiff_t)g.count * g.stride * outer->bytes[0];
  }
}

// The sizes of a contiguous tensor before, in and after the reduced dimensions.
typedef struct dense_shape {
  size_t outer;
  size_t middle;
  size_t inner;
} dense_shape;

// False if the reduced dimensions are not adjacent, ignoring sizes of 1.
static bool find_dense_shape(const etx_reduction* r, dense_shape* out) {
  dense_shape s = {1, 1, 1};
  size_t* at = &s.outer;
  for (size_t i = 0; i < r->self->rank; ++i) {
    const size_t size = (size_t)r->self->sizes[i];
    const bool is_reduced = ((r->dims >> i) & 1) != 0;
    if (size == 1) continue;
    if (is_reduced && at == &s.inner) return false;
    if (is_reduced) at = &s.middle;
    if (!is_reduced && at == &s.middle) at = &s.inner;
    *at *= size;
  }
  *out = s;
  return true;
}

static bool is_dense(const etx_tensor* tensor) {
  return tensor == NULL || etx_tensor_is_contiguous(tensor);
}

// Sets an operand of an iterator that has a single row.
static void set_single_row(etx_strided_iterator* iterator, size_t operand,
                           const void* data, size_t count, ptrdiff_t stride,
                           size_t bytes) {
  iterator->rank = 0;
  iterator->operands = operand + 1;
  iterator->count = count;
  iterator->data[operand] = (char*)(uintptr_t)data;
  iterator->stride[operand] = stride;
  iterator->bytes[operand] = (ptrdiff_t)bytes;
}

// Reduces contiguous tensors: all `outer` rows at once if inner is 1, otherwise
// one of the `outer` matrices at a time.
static void reduce_dense(const etx_reduction* r, const dense_shape* s) {
  const size_t bytes = etx_dtype_bytes(r->self->dtype);
  const bool has_rows = s->inner == 1;
  const size_t count = has_rows ? s->outer : s->inner;
  const ptrdiff_t stride = has_rows ? (ptrdiff_t)s->middle : 1;
  const etx_tensor* const results[] = {r->value, r->other};
  inner_loop inner = {.has_elements = s->middle > 0};
  etx_strided_iterator outer;
  set_single_row(&inner.iterator, 0, NULL, s->middle, (ptrdiff_t)s->inner,
                 bytes);
  set_single_row(&outer, 0, r->self->data, count, stride, bytes);
  size_t operand = 0;
  for (size_t k = 0; k < 2; ++k) {
    if (results[k] == NULL) continue;
    set_single_row(&outer, ++operand, results[k]->data, count, 1,
                   etx_dtype_bytes(results[k]->dtype));
  }
  inner.by_columns =
      inner.has_elements && prefers_columns(r, &outer, &inner.iterator);
  for (size_t i = 0; i < (has_rows ? 1 : s->outer); ++i) {
    reduce_outer_row(r, &outer, &inner);
    outer.data[0] += s->middle * s->inner * bytes;
    for (size_t k = 1; k < outer.operands; ++k) {
      outer.data[k] += s->inner * (size_t)outer.bytes[k];
    }
  }
}

void etx_reduce(const etx_reduction* r) {
  dense_shape s;
  if (is_dense(r->self) && is_dense(r->value) && is_dense(r->other) &&
      find_dense_shape(r, &s)) {
    if (s.outer > 0 && s.inner > 0) reduce_dense(r, &s);
    return;
  }
  inner_loop inner;
  etx_strided_iterator outer;
  inner.has_elements = start_inner(r, &inner.iterator);
  bool more = start_outer(r, &outer);
  if (!more) return;
  inner.by_columns =
      inner.has_elements && prefers_columns(r, &outer, &inner.iterator);
  for (; more; more = etx_strided_iterator_next(&outer)) {
    reduce_outer_row(r, &outer, &inner);
  }
}

uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all) {
  const size_t rank = etx_call_tensor(call, ETX_ARG_sum_intlist_self)->rank;
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

bool etx_has_short_rows(const etx_tensor* self, const etx_tensor* out,
                        uint32_t dims, size_t* out_rows, size_t* out_count) {
  enum { MIN = MIN_RESULTS, MAX = 1024 };
  size_t rows = 1, count = 1;
  if (!etx_tensor_is_contiguous(self) || !etx_tensor_is_contiguous(out)) {
    return false;
  }
  for (size_t i = 0; i < self->rank; ++i) {
    const size_t size = (size_t)self->sizes[i];
    const bool is_reduced = (dims >> i & 1) != 0;
    if (!is_reduced && size != 1 && count != 1) return false;
    *(is_reduced ? &count : &rows) *= size;
  }
  *out_rows = rows;
  *out_count = count;
  return count >= MIN && count <= MAX;
}

bool etx_has_short_f32_rows(const etx_tensor* self, const etx_tensor* out,
                            uint32_t dims, size_t* out_rows,
                            size_t* out_count) {
  return self->dtype == ETX_DTYPE_FLOAT32 && out->dtype == ETX_DTYPE_FLOAT32 &&
         etx_has_short_rows(self, out, dims, out_rows, out_count);
}
