#include "tests/format/shape_asker.h"

#include <string.h>

void asker_begin(asker* a, const char* name) {
  const etx_text none = {NULL, 0};
  memset(a, 0, sizeof(*a));
  a->op = etx_op_find(etx_text_of(name), none);
}

static asker_argument* next(asker* a, etx_shape_kind kind) {
  asker_argument* argument = &a->arguments[a->count++];
  argument->kind = kind;
  argument->count = 1;
  return argument;
}

void asker_tensor(asker* a, etx_dtype dtype, size_t rank, const etx_dim* dims) {
  etx_shape* shape = &next(a, ETX_SHAPE_TENSOR)->shapes[0];
  shape->dtype = dtype;
  shape->rank = (uint8_t)rank;
  for (size_t i = 0; i < rank; ++i) shape->dims[i] = dims[i];
}

void asker_integer(asker* a, etx_dim integer) {
  next(a, ETX_SHAPE_INT)->integers[0] = integer;
}
void asker_real(asker* a, double real) {
  next(a, ETX_SHAPE_DOUBLE)->reals[0] = real;
}
void asker_boolean(asker* a, bool boolean) {
  next(a, ETX_SHAPE_BOOL)->reals[0] = boolean;
}
void asker_none(asker* a) { next(a, ETX_SHAPE_NONE)->is_none[0] = true; }
void asker_string(asker* a) { next(a, ETX_SHAPE_STRING); }

void asker_integers(asker* a, size_t count, const etx_dim* integers) {
  asker_argument* argument = next(a, ETX_SHAPE_LIST);
  argument->count = count;
  for (size_t i = 0; i < count; ++i) argument->integers[i] = integers[i];
}

void asker_reals(asker* a, size_t count, const double* reals) {
  asker_argument* argument = next(a, ETX_SHAPE_LIST);
  argument->count = count;
  for (size_t i = 0; i < count; ++i) argument->reals[i] = reals[i];
}

void asker_gather_list(asker* a, size_t count) {
  asker_argument list = {.kind = ETX_SHAPE_LIST, .count = count};
  a->count -= count;
  for (size_t i = 0; i < count; ++i) {
    list.shapes[i] = a->arguments[a->count + i].shapes[0];
    list.is_none[i] = a->arguments[a->count + i].is_none[0];
  }
  a->arguments[a->count++] = list;
}

// Sizes as tables of their values.

static int64_t value_of(const asker* a, etx_dim dim, size_t i) {
  if (etx_dim_is_number(dim)) return dim;
  return a->values[ETX_DIM_HANDLE - dim][i];
}

static etx_dim keep(asker* a, const int64_t* values) {
  bool is_constant = true;
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    if (values[i] != values[0]) is_constant = false;
  }
  if (is_constant) return values[0];
  memcpy(a->values[a->value_count], values, sizeof(a->values[0]));
  return ETX_DIM_HANDLE - (etx_dim)a->value_count++;
}

etx_dim asker_affine(asker* a, int64_t factor, int64_t offset) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    values[i] = factor * (ASKER_LEAST + (int64_t)i) + offset;
  }
  return keep(a, values);
}

static etx_status add(void* context, etx_dim x, etx_dim y, etx_dim* out) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    values[i] = value_of(context, x, i) + value_of(context, y, i);
  }
  *out = keep(context, values);
  return ETX_OK;
}

static etx_status multiply(void* context, etx_dim x, etx_dim y, etx_dim* out) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    values[i] = value_of(context, x, i) * value_of(context, y, i);
  }
  *out = keep(context, values);
  return ETX_OK;
}

static etx_status floor_divide(void* context, etx_dim x, etx_dim y,
                               etx_dim* out) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    const int64_t a = value_of(context, x, i), b = value_of(context, y, i);
    values[i] = a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  *out = keep(context, values);
  return ETX_OK;
}

static etx_status minimum(void* context, etx_dim x, etx_dim y, etx_dim* out) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    const int64_t a = value_of(context, x, i), b = value_of(context, y, i);
    values[i] = a < b ? a : b;
  }
  *out = keep(context, values);
  return ETX_OK;
}

static etx_status maximum(void* context, etx_dim x, etx_dim y, etx_dim* out) {
  int64_t values[ASKER_VALUES];
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    const int64_t a = value_of(context, x, i), b = value_of(context, y, i);
    values[i] = a > b ? a : b;
  }
  *out = keep(context, values);
  return ETX_OK;
}

static bool equal(void* context, etx_dim x, etx_dim y) {
  for (size_t i = 0; i < ASKER_VALUES; ++i) {
    if (value_of(context, x, i) != value_of(context, y, i)) return false;
  }
  return true;
}

static void bounds(void* context, etx_dim x, int64_t* low, int64_t* high) {
  *low = *high = value_of(context, x, 0);
  for (size_t i = 1; i < ASKER_VALUES; ++i) {
    const int64_t value = value_of(context, x, i);
    if (value < *low) *low = value;
    if (value > *high) *high = value;
  }
}

// The asker's side of a call.

static etx_shape_kind kind(void* context, size_t argument) {
  return ((asker*)context)->arguments[argument].kind;
}
static size_t list_count(void* context, size_t argument) {
  return ((asker*)context)->arguments[argument].count;
}
static bool tensor(void* context, size_t argument, size_t item,
                   etx_shape* out) {
  const asker_argument* read = &((asker*)context)->arguments[argument];
  *out = read->shapes[item];
  return !read->is_none[item];
}
static etx_dim integer(void* context, size_t argument, size_t item) {
  return ((asker*)context)->arguments[argument].integers[item];
}
static double real(void* context, size_t argument, size_t item) {
  const asker_argument* read = &((asker*)context)->arguments[argument];
  if (read->kind == ETX_SHAPE_INT) return (double)read->integers[0];
  return read->reals[item];
}
static etx_status output(void* context, size_t index, const etx_shape* shape) {
  asker* a = context;
  a->outputs[index] = *shape;
  a->output_count = index + 1;
  return ETX_OK;
}

etx_status asker_infer(asker* a) {
  const etx_dim_math math = {a,       add,     multiply, floor_divide,
                             minimum, maximum, equal,    bounds};
  etx_shape_call call = {.op = a->op,
                         .math = &math,
                         .diag = &a->diag,
                         .context = a,
                         .kind = kind,
                         .list_count = list_count,
                         .tensor = tensor,
                         .integer = integer,
                         .real = real,
                         .output = output};
  return etx_shape_infer(&call);
}

bool asker_gave(asker* a, size_t index, etx_dtype dtype, size_t rank,
                const etx_dim* dims) {
  const etx_shape* shape = &a->outputs[index];
  if (index >= a->output_count || shape->dtype != dtype ||
      shape->rank != rank) {
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (!equal(a, shape->dims[i], dims[i])) return false;
  }
  return true;
}
