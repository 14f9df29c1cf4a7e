// `prepared` has room for a simplified description of at most three dimensions,
// in 32-bit numbers.

#include "runtime/kernels/views/prepared_copy.h"

#include <string.h>

#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/core/short_copy.h"

enum { RANK = 3 };

typedef struct description {
  int32_t bytes;  // bytes of an element
  int32_t sizes[RANK];
  int32_t to[RANK];
  int32_t from[RANK];
  int32_t offset;  // of the source, or of the target
  uint8_t to_argument, from_argument;
  uint8_t rank;
  bool moves_target;
} description;

_Static_assert(sizeof(description) <= sizeof((etx_call){0}.prepared),
               "a description does not fit");

static bool fits(ptrdiff_t value) {
  return value >= INT32_MIN && value <= INT32_MAX;
}

static bool shorten(const etx_copy* copy, description* out) {
  if (copy->rank > RANK || copy->bytes > INT32_MAX) return false;
  out->bytes = (int32_t)copy->bytes;
  out->rank = (uint8_t)copy->rank;
  for (size_t i = 0; i < copy->rank; ++i) {
    const etx_copy_dim* dim = &copy->dims[i];
    if (!fits(dim->size) || !fits(dim->to) || !fits(dim->from)) return false;
    out->sizes[i] = (int32_t)dim->size;
    out->to[i] = (int32_t)dim->to;
    out->from[i] = (int32_t)dim->from;
  }
  return true;
}

typedef struct copy_ends {
  char* to;
  const char* from;
} copy_ends;

static copy_ends find_ends(const etx_call* call, const description* d) {
  copy_ends p = {etx_call_tensor(call, d->to_argument)->data,
                 etx_call_tensor(call, d->from_argument)->data};
  if (d->moves_target) {
    p.to += d->offset;
  } else {
    p.from += d->offset;
  }
  return p;
}

static etx_status run_dense(etx_call* call) {
  description d;
  memcpy(&d, call->prepared, sizeof d);
  const copy_ends p = find_ends(call, &d);
  if (p.to != p.from) etx_copy_short(p.to, p.from, (size_t)d.bytes);
  return ETX_OK;
}

// Items are elements of the outermost dimension.
typedef struct copy_job {
  const etx_copy* copy;
  copy_ends ends;
} copy_job;

static void run_part(const void* context, size_t first, size_t end) {
  const copy_job* j = context;
  etx_copy part = *j->copy;
  etx_copy_dim* const outermost = &part.dims[0];
  outermost->size = (ptrdiff_t)(end - first);
  etx_copy_run(&part, j->ends.to + (ptrdiff_t)first * outermost->to,
               j->ends.from + (ptrdiff_t)first * outermost->from);
}

// Copies on several threads; false if there are too few bytes.
static bool run_shared(const etx_call* call, const etx_copy* copy,
                       copy_ends p) {
  enum { MANY = 1 << 18, WORD = 4 };
  size_t bytes = copy->bytes;
  if (call->parallel->thread_count < 2 || copy->rank < 2) return false;
  for (size_t i = 0; i < copy->rank; ++i) bytes *= (size_t)copy->dims[i].size;
  if (bytes < MANY) return false;
  const copy_job j = {copy, p};
  etx_parallel_for(call->parallel, (size_t)copy->dims[0].size,
                   (double)(bytes / WORD), run_part, &j);
  return true;
}

etx_status etx_copy_planned(etx_call* call) {
  description d;
  etx_copy copy;
  memcpy(&d, call->prepared, sizeof d);
  if (d.bytes == 0) return ETX_OK;
  const copy_ends p = find_ends(call, &d);
  if (p.to == p.from) return ETX_OK;
  copy.bytes = (size_t)d.bytes;
  copy.rank = d.rank;
  for (size_t i = 0; i < d.rank; ++i) {
    copy.dims[i] = (etx_copy_dim){d.sizes[i], d.to[i], d.from[i]};
  }
  if (!run_shared(call, &copy, p)) etx_copy_run(&copy, p.to, p.from);
  return ETX_OK;
}

// Simplifies `copy` and stores it with the rest of its description.
static bool store(etx_call* call, etx_copy* copy, description* d) {
  if (!etx_copy_simplify(copy)) {
    d->bytes = 0;  // no element
  } else if (!shorten(copy, d)) {
    return false;
  }
  memcpy(call->prepared, d, sizeof *d);
  return true;
}

bool etx_copy_plan(etx_call* call, size_t to_argument,
                   const etx_strided_view* to, size_t from_argument,
                   const etx_strided_view* from) {
  description d = {.to_argument = (uint8_t)to_argument,
                   .from_argument = (uint8_t)from_argument};
  etx_copy copy;
  d.moves_target = to->offset != 0;
  const ptrdiff_t offset = d.moves_target ? to->offset : from->offset;
  if (to->dtype != from->dtype || !fits(offset)) return false;
  if (d.moves_target && from->offset != 0) return false;
  d.offset = (int32_t)offset;
  etx_strided_view_describe(to, from, &copy);
  return store(call, &copy, &d);
}

static etx_kernel_function run_of(const description* d) {
  return d->rank == 0 && d->bytes > 0 ? run_dense : etx_copy_planned;
}

void etx_prepare_copy(etx_call* call, size_t to_argument,
                      const etx_strided_view* to, size_t from_argument,
                      const etx_strided_view* from,
                      etx_kernel_function general) {
  description d;
  call->run = general;
  if (!etx_copy_plan(call, to_argument, to, from_argument, from)) return;
  memcpy(&d, call->prepared, sizeof d);
  call->run = run_of(&d);
}

// The argument that operators of etx_prepare_described copy from.
enum { FIRST = 0 };

void etx_prepare_strides(etx_call* call, etx_copy* copy,
                         etx_kernel_function general) {
  description d = {.to_argument = (uint8_t)(call->argument_count - 1),
                   .from_argument = FIRST};
  call->run = store(call, copy, &d) ? run_of(&d) : general;
}

static void describe_with(const etx_call* call, etx_copy_describe describe,
                          etx_strided_view* to, etx_strided_view* from) {
  etx_strided_view_init(from, etx_call_tensor(call, FIRST));
  etx_strided_view_init(to, etx_call_tensor(call, call->argument_count - 1));
  describe(call, to, from);
}

etx_status etx_prepare_described(etx_call* call, etx_copy_describe describe,
                                 etx_kernel_function general) {
  const size_t last = call->argument_count - 1;
  etx_strided_view to, from;
  ETX_TRY(etx_call_check_same_dtype(call, FIRST, last));
  describe_with(call, describe, &to, &from);
  etx_prepare_copy(call, last, &to, FIRST, &from, general);
  return ETX_OK;
}

etx_status etx_run_described(const etx_call* call, etx_copy_describe describe) {
  etx_strided_view to, from;
  describe_with(call, describe, &to, &from);
  etx_strided_view_copy(&to, &from);
  return ETX_OK;
}
