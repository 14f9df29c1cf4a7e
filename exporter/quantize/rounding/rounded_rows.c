#include "exporter/quantize/rounding/rounded_rows.h"

#include <string.h>

#include "exporter/quantize/rounding/feedback_rounding.h"
#include "exporter/quantize/rounding/group_sums.h"
#include "exporter/quantize/rounding/offset_rounding.h"

enum {
  HALF_BITS = 16,
  PIECE = ETX_OFFSET_GROUP,  // elements between two steps of feedback, of rows
                             // with one scale
};

// The rounding of a weight.
typedef struct rounding {
  const etx_weight_rows* from;
  const etx_row_kind* kind;
  const etx_input_factors* inputs;  // NULL: none
  etx_rounded_rows* out;
  etx_weight_rounding_error* errors;  // of each row
  float* floats;  // of each part: its rows, then what they become
  size_t floats_of_part;
  etx_offset_line* lines;  // of each part, of groups
} rounding;

// ------------------------------------------------ each element to the nearest

static void round_row(const rounding* r, size_t part, size_t at) {
  const etx_row_kind* const kind = r->kind;
  etx_rounded_rows* const out = r->out;
  const size_t inner = r->from->inner;
  const float* const row = r->floats + part * r->floats_of_part;
  etx_offset_line* const lines = r->lines + part * out->groups;
  uint8_t* const integers = out->integers + at * out->row_bytes;
  etx_weight_rounding_error* const error = &r->errors[at];
  const size_t group = kind->group == 0 ? inner : kind->group;
  if (kind->bits == HALF_BITS) {
    etx_weight_round_half(row, inner, kind->is_bfloat, integers, error);
    return;
  }
  if (kind->has_offsets) {
    const etx_offset_row to_row = {integers, out->params + at * out->groups};
    out->scales[at] =
        etx_offset_round_row(row, out->groups, lines, &to_row, error);
    return;
  }
  for (size_t g = 0; g < out->groups; ++g) {
    const float* const from = row + g * group;
    float* const scale = &out->scales[at * out->groups + g];
    if (kind->bits == 4) {
      *scale =
          etx_weight_round_int4(from, group, integers + g * group / 2, error);
    } else if (kind->group != 0) {
      *scale = etx_weight_round_int8_group(
          from, group, (int8_t*)integers + g * group, error);
    } else {
      *scale = etx_weight_round_int8(from, group, (int8_t*)integers, error);
    }
  }
}

// ------------------------------------------------ with feedback

// Rows that are rounded together.
typedef struct feedback_rows {
  const rounding* r;
  size_t first;  // their first one, of the weight
  etx_offset_params params[ETX_FEEDBACK_ROWS];  // of the present group
} feedback_rows;

static void begin_group(void* context, size_t row, size_t first,
                        const float* group, size_t count) {
  feedback_rows* const f = context;
  const etx_row_kind* const kind = f->r->kind;
  const etx_rounded_rows* const out = f->r->out;
  if (kind->group == 0) return;  // the scale of the row is there
  const size_t at = f->first + row, g = first / kind->group;
  const size_t place = at * out->groups + g;
  etx_weight_rounding_error ignored = {0, 0};
  if (kind->has_offsets) {
    f->params[row] = etx_offset_choose(group, NULL, out->scales[at]);
    out->params[place] = etx_offset_params_store(&f->params[row]);
  } else if (kind->bits == 4) {
    uint8_t integers[ETX_WEIGHT_ROUNDING_LARGEST_GROUP / 2];
    out->scales[place] =
        etx_weight_round_int4(group, count, integers, &ignored);
  } else {
    int8_t integers[ETX_WEIGHT_ROUNDING_LARGEST_GROUP];
    out->scales[place] =
        etx_weight_round_int8_group(group, count, integers, &ignored);
  }
}

static float clamp(float x, float low, float high) {  // NaN: the lower bound
  x = x > low ? x : low;
  return x < high ? x : high;
}

static void store_nibble(uint8_t* integers, size_t element, int q) {
  uint8_t* const byte = &integers[element / 2];
  *byte = (uint8_t)(element % 2 == 0 ? q << 4 : *byte | q);
}

static float round_element(void* context, size_t row, size_t element, float x) {
  const feedback_rows* const f = context;
  const etx_row_kind* const kind = f->r->kind;
  const etx_rounded_rows* const out = f->r->out;
  const size_t at = f->first + row;
  uint8_t* const integers = out->integers + at * out->row_bytes;
  if (kind->has_offsets) {
    const float scale = out->scales[at];
    const int q = etx_offset_round(&f->params[row], scale, x);
    store_nibble(integers, element, q);
    return etx_offset_value(&f->params[row], scale, q);
  }
  const size_t g = kind->group == 0 ? 0 : element / kind->group;
  const float scale = out->scales[at * out->groups + g];
  const float nearest = etx_group_round_to_even(x / scale);
  if (kind->bits == 4) {
    const float q = clamp(nearest, -8, 7);
    store_nibble(integers, element, (int)q + 8);
    return q * scale;
  }
  const float q =
      clamp(nearest, kind->group == 0 ? -INT8_MAX : INT8_MIN, INT8_MAX);
  ((int8_t*)integers)[element] = (int8_t)q;
  return q * scale;
}

// The scales of a row that are chosen before its elements are rounded.
static void choose_row_scale(const rounding* r, size_t part, const float* row,
                             size_t at) {
  etx_rounded_rows* const out = r->out;
  if (r->kind->has_offsets) {
    etx_offset_line* const lines = r->lines + part * out->groups;
    out->scales[at] = etx_offset_row_scale(row, out->groups, lines);
  } else if (r->kind->group == 0) {
    etx_weight_rounding_error ignored = {0, 0};
    int8_t* const integers =
        (int8_t*)(out->integers + at * out->row_bytes);  // written again
    out->scales[at] =
        etx_weight_round_int8(row, r->from->inner, integers, &ignored);
  }
}

static void round_rows_together(const rounding* r, size_t part, size_t first,
                                size_t count) {
  const size_t inner = r->from->inner;
  float* const rows = r->floats + part * r->floats_of_part;
  float* const rounded = rows + ETX_FEEDBACK_ROWS * inner;
  feedback_rows f = {.r = r, .first = first};
  const etx_feedback_groups groups = {
      .size = r->kind->group == 0 ? PIECE : r->kind->group,
      .begin = begin_group,
      .round = round_element,
      .context = &f};
  etx_weight_rows_read(r->from, first * inner, count * inner, rows);
  for (size_t i = 0; i < count; ++i) {
    choose_row_scale(r, part, rows + i * inner, first + i);
  }
  etx_feedback_round(r->inputs, &groups, rows, count, rounded);
  for (size_t i = 0; i < count * inner; ++i) {
    etx_weight_rounding_error* const error = &r->errors[first + i / inner];
    const double w = rows[i], lost = w - (double)rounded[i];
    error->signal += w * w;
    error->noise += lost * lost;
  }
}

// ------------------------------------------------ all rows

static void round_part(void* argument, size_t part) {
  const rounding* const r = argument;
  const size_t inner = r->from->inner;
  const size_t end = etx_weight_part_first(r->from->rows, part + 1);
  const size_t most = r->inputs == NULL ? 1 : ETX_FEEDBACK_ROWS;
  for (size_t i = etx_weight_part_first(r->from->rows, part); i < end;) {
    const size_t count = end - i < most ? end - i : most;
    if (r->inputs != NULL) {
      round_rows_together(r, part, i, count);
    } else {
      etx_weight_rows_read(r->from, i * inner, inner,
                           r->floats + part * r->floats_of_part);
      round_row(r, part, i);
    }
    i += count;
  }
}

static etx_status make(rounding* r, etx_pool* scratch,
                       const etx_workers* workers) {
  const size_t inner = r->from->inner, parts = ETX_WEIGHT_PARTS;
  r->floats_of_part = (r->inputs == NULL ? 1 : 2 * ETX_FEEDBACK_ROWS) * inner;
  r->floats = etx_pool_take(scratch, parts * r->floats_of_part * sizeof(float));
  r->lines = etx_pool_take(scratch, parts * r->out->groups * sizeof *r->lines);
  r->errors = etx_pool_take(scratch, r->from->rows * sizeof *r->errors);
  if (r->errors == NULL || r->floats == NULL || r->lines == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  etx_workers_run(workers, round_part, r, parts);
  return ETX_OK;
}

etx_status etx_rounded_rows_make(const etx_weight_rows* from,
                                 const etx_row_kind* kind,
                                 const etx_input_factors* inputs,
                                 const etx_workers* workers,
                                 etx_rounded_rows* out,
                                 etx_weight_rounding_error* out_error) {
  rounding r = {.from = from,
                .kind = kind,
                .inputs = kind->bits == HALF_BITS ? NULL : inputs,
                .out = out};
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_status status = make(&r, &scratch, workers);
  *out_error = (etx_weight_rounding_error){0, 0};
  for (size_t i = 0; status == ETX_OK && i < from->rows; ++i) {
    out_error->signal += r.errors[i].signal;
    out_error->noise += r.errors[i].noise;
  }
  etx_pool_close(&scratch);
  return status;
}
