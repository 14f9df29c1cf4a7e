// Rows of two logs are matched as diff matches lines: by the longest common
// subsequence. Equal rows at both ends are matched first, so the table covers
// only the part in which the programs differ.

#include "cli/run/tensor_log.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 64 << 20 };

static etx_status add_row(etx_tensor_log* log, size_t instruction,
                          const etx_op* op, const etx_tensor* tensor) {
  if (log->count == log->capacity) {
    const size_t capacity = 2 * log->capacity + 256;
    etx_logged_tensor* const rows = realloc(log->rows, capacity * sizeof *rows);
    if (rows == NULL) return ETX_OUT_OF_MEMORY;
    log->rows = rows;
    log->capacity = capacity;
  }
  etx_logged_tensor* const row = &log->rows[log->count];
  row->instruction = instruction;
  row->op = op;
  ETX_TRY(etx_host_tensor_copy(tensor, log->pool, &row->tensor, NULL));
  ++log->count;
  return ETX_OK;
}

static void before_call(void* context, size_t instruction,
                        const etx_call* call) {
  (void)context;
  (void)instruction;
  (void)call;
}

static void after_call(void* context, size_t instruction,
                       const etx_call* call) {
  etx_tensor_log* const log = context;
  etx_argument_cursor cursor = etx_argument_first(call->op->arguments);
  etx_argument argument;
  for (size_t i = 0;
       i < call->argument_count && etx_argument_next(&cursor, &argument) &&
       log->status == ETX_OK;
       ++i) {
    const etx_value* const value = call->arguments[i];
    if (!argument.written || value->kind != ETX_VALUE_TENSOR) continue;
    log->status = add_row(log, instruction, call->op, &value->as.tensor);
  }
}

void etx_tensor_log_init(etx_tensor_log* log, etx_pool* pool) {
  *log = (etx_tensor_log){.observer = {before_call, after_call, log},
                          .pool = pool};
}

void etx_tensor_log_close(etx_tensor_log* log) { free(log->rows); }

static bool is_same_row(const etx_logged_tensor* a,
                        const etx_logged_tensor* b) {
  return a->op == b->op && a->tensor.dtype == b->tensor.dtype &&
         a->tensor.rank == b->tensor.rank &&
         memcmp(a->tensor.sizes, b->tensor.sizes,
                a->tensor.rank * sizeof *a->tensor.sizes) == 0;
}

typedef struct matching {
  const etx_logged_tensor* a;
  const etx_logged_tensor* b;
  size_t first;    // rows before it agree
  size_t a_count;  // rows from `first` on that are searched
  size_t b_count;
  size_t* pairs;
  size_t count;
} matching;

static void add_pair(matching* m, size_t i, size_t j) {
  m->pairs[2 * m->count] = i;
  m->pairs[2 * m->count + 1] = j;
  ++m->count;
}

// Dynamic programming: longest[i][j] is the number of pairs in the rows from i
// and from j on.
static etx_status match_middle(matching* m) {
  const size_t width = m->b_count + 1;
  if (m->a_count >= MOST_CELLS / width) return ETX_OUT_OF_MEMORY;
  uint32_t* const longest = calloc((m->a_count + 1) * width, sizeof *longest);
  if (longest == NULL) return ETX_OUT_OF_MEMORY;
  const etx_logged_tensor* const a = m->a + m->first;
  const etx_logged_tensor* const b = m->b + m->first;
  for (size_t i = m->a_count; i-- > 0;) {
    for (size_t j = m->b_count; j-- > 0;) {
      const uint32_t down = longest[(i + 1) * width + j];
      const uint32_t right = longest[i * width + j + 1];
      longest[i * width + j] = is_same_row(&a[i], &b[j])
                                   ? longest[(i + 1) * width + j + 1] + 1
                               : down > right ? down
                                              : right;
    }
  }
  for (size_t i = 0, j = 0; i < m->a_count && j < m->b_count;) {
    if (is_same_row(&a[i], &b[j])) {
      add_pair(m, m->first + i++, m->first + j++);
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  free(longest);
  return ETX_OK;
}

etx_status etx_tensor_log_match(const etx_tensor_log* a,
                                const etx_tensor_log* b, size_t* out_pairs,
                                size_t* out_count) {
  matching m = {.a = a->rows, .b = b->rows, .pairs = out_pairs};
  size_t a_end = a->count;
  size_t b_end = b->count;
  while (m.first < a_end && m.first < b_end &&
         is_same_row(&m.a[m.first], &m.b[m.first])) {
    add_pair(&m, m.first, m.first);
    ++m.first;
  }
  while (a_end > m.first && b_end > m.first &&
         is_same_row(&m.a[a_end - 1], &m.b[b_end - 1])) {
    --a_end;
    --b_end;
  }
  m.a_count = a_end - m.first;
  m.b_count = b_end - m.first;
  ETX_TRY(match_middle(&m));
  for (; a_end < a->count; ++a_end, ++b_end) add_pair(&m, a_end, b_end);
  *out_count = m.count;
  return ETX_OK;
}
