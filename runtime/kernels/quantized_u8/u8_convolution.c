// Convolutions of bytes, channels last, and linear layers: products of rows of
// bytes with panels of weights (u8_loops.h).
//
// A position's row lies in the image already, a piece for each tap:
//
//        image, [H, W, C]                 seen, for some positions
//     .----.----.----.----.               tap 0: where position 0's piece
//     |    | C C C C |    |                      begins, position 1's, ..
//     |----+----+----+----|               tap 1: ..
//     |    | C C C C |    |
//     '----'----'----'----'
//
// and a piece outside of the image lies in a row of zero points. Where the
// channels of a group are no whole fours (colours), rows are copied to the
// stack and are one piece; of windows of one pixel only the last, behind whose
// channels nothing may be read.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/quantized_u8/u8_args.h"
#include "runtime/kernels/image/window.h"

enum {
  ROWS = ETX_U8_ROWS,
  COLUMNS = ETX_U8_COLUMNS,
  BLOCK_COLUMNS = ETX_U8_PANELS * COLUMNS,
  PLACES = 1024,  // pieces that are known at a time, taps times positions
  MOST_TAPS = PLACES / ROWS,
  COPIED = 12288,  // bytes of rows that are copied at a time
  STEP = 16,       // that whole rows are copied in
  MOST_COPIED =
      COPIED / ROWS / ETX_U8_INTERLEAVE * ETX_U8_INTERLEAVE,  // of a row
  MOST_DIRECT = COPIED / ETX_U8_INTERLEAVE,  // channels read where they are
  LEAST_POSITIONS = 2 * ROWS,
  MOST_POSITIONS = 8 * ROWS,  // of an item
  ITEMS = 4,                  // for each thread
};

typedef struct job {
  const etx_u8_loops* loops;
  etx_u8_requantize results;
  const uint8_t* in;
  const uint8_t* outside;  // a piece of zero points; NULL: nothing is outside
  uint8_t zero;
  const int8_t* panels;
  char* out;
  etx_window y, x;
  int64_t reach_y, reach_x;         // of a window
  int64_t positions;                // of all images
  size_t channels, group_channels;  // of the image, and of a group
  size_t out_channels, group_out;
  size_t taps, inner, fours;  // of a row: taps times channels, / 4
  size_t group_panels;        // of a group
  size_t part;                // positions of an item
  size_t parts, groups;
  bool is_copied;
  bool has_rows;       // copied: a window's row lies side by side
  const uint8_t* end;  // of all images
} job;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// A window: its image, and its first tap's row and column.
typedef struct place {
  const uint8_t* image;
  int64_t row, column;  // of the result
  int64_t y, x;
} place;

static place place_of(const job* j, int64_t position) {
  const int64_t image = position / (j->y.out * j->x.out);
  const int64_t rest = position - image * j->y.out * j->x.out;
  const int64_t row = rest / j->x.out, column = rest - row * j->x.out;
  return (place){j->in + image * j->y.in * j->x.in * (int64_t)j->channels, row,
                 column, etx_window_start(&j->y, row),
                 etx_window_start(&j->x, column)};
}

static void move_on(const job* j, place* p) {
  p->x += j->x.stride;
  if (++p->column < j->x.out) return;
  p->column = 0;
  p->x = etx_window_start(&j->x, 0);
  p->y += j->y.stride;
  if (++p->row < j->y.out) return;
  p->row = 0;
  p->y = etx_window_start(&j->y, 0);
  p->image += j->y.in * j->x.in * (int64_t)j->channels;
}

// Where what a tap sees begins; NULL: outside.
static const uint8_t* seen_by(const job* j, const place* p, size_t tap) {
  const size_t kernel = (size_t)j->x.kernel, row = tap / kernel;
  const int64_t y = p->y + (int64_t)row * j->y.dilation;
  const int64_t x = p->x + (int64_t)(tap - row * kernel) * j->x.dilation;
  if (y < 0 || y >= j->y.in || x < 0 || x >= j->x.in) return NULL;
  return p->image + (y * j->x.in + x) * (int64_t)j->channels;
}

static size_t whole_rows(size_t rows) {
  return (rows + ROWS - 1) / ROWS * ROWS;
}

// Rows behind the last one are that one.
static void repeat_last(const uint8_t** seen, size_t taps, size_t rows) {
  const size_t pitch = whole_rows(rows);
  for (size_t t = 0; t < taps; ++t, seen += pitch) {
    for (size_t r = rows; r < pitch; ++r) seen[r] = seen[rows - 1];
  }
}

static bool is_inside(const job* j, const place* p) {
  return p->y >= 0 && p->x >= 0 && p->y <= j->y.in - j->reach_y &&
         p->x <= j->x.in - j->reach_x;
}

// What some taps see of some positions of a group. Most windows are inside of
// the image: their taps lie as far from each other as those of any.
static void find_pieces(const job* j, int64_t position, size_t positions,
                        size_t group, size_t tap, size_t taps,
                        const uint8_t** seen) {
  const size_t at = group * j->group_channels, pitch = whole_rows(positions);
  const size_t kernel = (size_t)j->x.kernel;
  uintptr_t first[MOST_POSITIONS];
  place p = place_of(j, position);
  for (size_t r = 0; r < positions; ++r, move_on(j, &p)) {
    const int64_t pixel = p.y * j->x.in + p.x;
    first[r] =
        (uintptr_t)p.image + (uintptr_t)(pixel * (int64_t)j->channels) + at;
  }
  for (size_t t = 0; t < taps; ++t) {
    const size_t row = (tap + t) / kernel, column = tap + t - row * kernel;
    const size_t offset = (row * (size_t)j->y.dilation * (size_t)j->x.in +
                           column * (size_t)j->x.dilation) *
                          j->channels;
    for (size_t r = 0; r < positions; ++r) {
      seen[t * pitch + r] = (const uint8_t*)(first[r] + offset);
    }
  }
  p = place_of(j, position);
  for (size_t r = 0; r < positions; ++r, move_on(j, &p)) {
    if (is_inside(j, &p)) continue;
    for (size_t t = 0; t < taps; ++t) {
      const uint8_t* own = seen_by(j, &p, tap + t);
      seen[t * pitch + r] = own == NULL ? j->outside : own + at;
    }
  }
}

// Bytes from `first` up to `end` of a position's row.
static void copy_row(const job* j, const place* p, size_t group, size_t first,
                     size_t end, uint8_t* to) {
  const size_t piece = j->group_channels;
  size_t tap = first / piece, at = first - tap * piece;
  while (first < end && tap < j->taps) {
    const size_t count = least(piece - at, end - first);
    const uint8_t* own = seen_by(j, p, tap);
    if (own == NULL) {
      memset(to, j->zero, count);
    } else {
      memcpy(to, own + group * piece + at, count);
    }
    to += count;
    first += count;
    at = 0;
    ++tap;
  }
  memset(to, 0, end - first);
}

// Rows of a window, in so many steps each; what is too much is written over.
static inline __attribute__((always_inline)) void copy_steps(
    const uint8_t* from, size_t pitch, uint8_t* to, size_t row, size_t rows,
    size_t steps) {
  for (size_t y = 0; y < rows; ++y, to += row) {
    for (size_t k = 0; k < steps; ++k) {
      memcpy(to + k * STEP, from + y * pitch + k * STEP, STEP);
    }
  }
}

// A whole row whose windows' rows lie side by side in the image. False if the
// window is not inside, or what is read would be behind the last image.
static bool copy_inner_row(const job* j, const place* p, uint8_t* to) {
  const size_t row = (size_t)j->x.kernel * j->channels;
  const size_t pitch = (size_t)j->x.in * j->channels;
  if (!j->has_rows || !is_inside(j, p)) return false;
  const uint8_t* from =
      p->image + (p->y * j->x.in + p->x) * (int64_t)j->channels;
  const size_t rows = (size_t)j->y.kernel;
  const size_t reach = (rows - 1) * pitch + row + STEP;
  if ((size_t)(j->end - from) < reach) return false;
  if (row <= STEP) {
    copy_steps(from, pitch, to, row, rows, 1);
  } else if (row <= 2 * STEP) {
    copy_steps(from, pitch, to, row, rows, 2);
  } else {
    copy_steps(from, pitch, to, row, rows, (row + STEP - 1) / STEP);
  }
  memset(to + rows * row, 0, ETX_U8_INTERLEAVE);
  return true;
}

// Sums of rows, or of a part of them, with some of a group's panels.
static void sum_rows(const job* j, const etx_u8_block* model, size_t group,
                     size_t panel, size_t panels) {
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  etx_u8_block b = *model;
  for (size_t end = panel + panels; panel < end; panel += ETX_U8_PANELS) {
    const size_t column = panel * COLUMNS;
    b.columns = least(BLOCK_COLUMNS, j->group_out - column);
    b.panels =
        model->panels + (group * j->group_panels + panel) * b.panel_bytes;
    b.channel = group * j->group_out + column;
    b.out = (char*)model->out + b.channel * element;
    j->loops->block(&b);
  }
}

// Rows whose last four would reach out of the images.
static void copy_last(const job* j, size_t positions, const uint8_t** seen,
                      uint8_t* copies) {
  const size_t channels = j->group_channels, row = j->fours * ETX_U8_INTERLEAVE;
  if (channels % ETX_U8_INTERLEAVE == 0) return;
  for (size_t r = positions; r-- > 0;) {
    if (seen[r] == j->outside) continue;
    if ((size_t)(j->end - seen[r]) >= row) return;
    memcpy(copies, seen[r], channels);
    memset(copies + channels, 0, row - channels);
    seen[r] = copies;
    copies += row;
  }
}

// A part of the rows becomes known: which bytes each position sees.
static void prepare(const job* j, int64_t position, size_t positions,
                    size_t group, size_t first, size_t count,
                    const uint8_t** seen, uint8_t* copies) {
  if (!j->is_copied) {
    find_pieces(j, position, positions, group, first, count, seen);
    copy_last(j, positions, seen, copies);
    repeat_last(seen, count, positions);
    return;
  }
  place p = place_of(j, position);
  for (size_t r = 0; r < positions; ++r, move_on(j, &p)) {
    seen[r] = copies + r * count;
    if (count == j->fours * ETX_U8_INTERLEAVE &&
        copy_inner_row(j, &p, copies + r * count)) {
      continue;
    }
    copy_row(j, &p, group, first, first + count, copies + r * count);
  }
  repeat_last(seen, 1, positions);
}

static void run_part(const job* j, int64_t position, size_t positions,
                     size_t group) {
  const uint8_t* seen[PLACES];
  uint8_t copies[COPIED + STEP];
  int32_t sums[ROWS * BLOCK_COLUMNS];
  const size_t all = j->is_copied ? j->fours * ETX_U8_INTERLEAVE : j->taps;
  const size_t most = j->is_copied ? MOST_COPIED : MOST_TAPS;
  const size_t tap_fours = j->fours / (j->is_copied ? 1 : j->taps);
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  etx_u8_block b = {
      .seen = seen,
      .pitch = whole_rows(positions),
      .rows = positions,
      .panel_bytes = j->fours * COLUMNS * ETX_U8_INTERLEAVE,
      .sums = sums,
      .results = &j->results,
      .out = j->out + (size_t)position * j->out_channels * element,
      .out_row = j->out_channels,
      .starts = true,
      .ends = true};
  if (all <= most) {
    prepare(j, position, positions, group, 0, all, seen, copies);
    b.taps = j->is_copied ? 1 : all;
    b.fours = tap_fours;
    b.panels = j->panels;
    sum_rows(j, &b, group, 0, j->group_panels);
    return;
  }
  // Of long rows a part after the other, for a pair of panels.
  for (size_t panel = 0; panel < j->group_panels; panel += ETX_U8_PANELS) {
    for (size_t first = 0; first < all; first += most) {
      const size_t count = least(most, all - first);
      prepare(j, position, positions, group, first, count, seen, copies);
      b.taps = j->is_copied ? 1 : count;
      b.fours = j->is_copied ? count / ETX_U8_INTERLEAVE : tap_fours;
      b.panels =
          j->panels +
          first * COLUMNS * (j->is_copied ? 1 : tap_fours * ETX_U8_INTERLEAVE);
      b.starts = first == 0;
      b.ends = first + count == all;
      sum_rows(j, &b, group, panel, 1);
    }
  }
}

// Items are parts of the positions, for each group.
static void run_items(const void* context, size_t first, size_t end) {
  const job* j = context;
  for (size_t i = first; i < end; ++i) {
    const size_t group = i / j->parts;
    const int64_t position = (int64_t)((i - group * j->parts) * j->part);
    const size_t positions = least(j->part, (size_t)(j->positions - position));
    run_part(j, position, positions, group);
  }
}

// Positions of an item: rows of them are in a near cache while panels pass.
static size_t part_of(const job* j, size_t threads) {
  const size_t fit =
      j->is_copied ? COPIED / (j->fours * ETX_U8_INTERLEAVE) : PLACES / j->taps;
  size_t part = least(fit, MOST_POSITIONS) / ROWS * ROWS;
  if (part < ROWS) return ROWS;
  if (threads == 1) return part;
  const size_t each =
      (size_t)j->positions * j->groups / threads / ITEMS / ROWS * ROWS;
  if (part > each) part = each;
  return part < LEAST_POSITIONS ? least(fit / ROWS * ROWS, LEAST_POSITIONS)
                                : part;
}

static void run_job(job* j, etx_call* call) {
  const etx_parallel* parallel = call->parallel;
  j->loops =
      etx_u8_loops_of(etx_instruction_set_within(parallel->instruction_set));
  j->in = etx_call_tensor(call, ETX_ARG_convolution_u8_input)->data;
  j->out = etx_call_tensor(call, call->argument_count - 1)->data;
  j->group_channels = j->channels / j->groups;
  j->out_channels = j->group_out * j->groups;
  j->group_panels = (j->group_out + COLUMNS - 1) / COLUMNS;
  j->taps = (size_t)(j->y.kernel * j->x.kernel);
  j->reach_y = (j->y.kernel - 1) * j->y.dilation + 1;
  j->reach_x = (j->x.kernel - 1) * j->x.dilation + 1;
  j->inner = j->taps * j->group_channels;
  j->fours = (j->inner + ETX_U8_INTERLEAVE - 1) / ETX_U8_INTERLEAVE;
  j->is_copied = j->group_channels % ETX_U8_INTERLEAVE != 0 &&
                 (j->taps > 1 || j->groups > 1 || j->inner > MOST_DIRECT);
  j->has_rows = j->groups == 1 && j->x.dilation == 1 && j->y.dilation == 1;
  j->end = j->in + etx_tensor_numel(
                       etx_call_tensor(call, ETX_ARG_convolution_u8_input));
  if (j->positions == 0) return;
  j->part = part_of(j, parallel->thread_count);
  j->parts = ((size_t)j->positions + j->part - 1) / j->part;
  const double work =
      (double)j->positions * (double)j->inner * (double)j->out_channels;
  etx_parallel_for(parallel, j->parts * j->groups, work, run_items, j);
}

// ------------------------------------------------ etx::convolution_u8

// (input, zero_point, panels, offsets, scales, bias, kernel_size, stride,
// padding, dilation, groups, out_zero_point, out_min, out_max, dtype, out)
static etx_status run_convolution(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_convolution_u8_input);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  job j = {
      .panels = etx_call_tensor(call, ETX_ARG_convolution_u8_panels)->data,
      .zero =
          (uint8_t)etx_call_integer(call, ETX_ARG_convolution_u8_zero_point),
      .channels = (size_t)in->sizes[3],
      .groups = (size_t)etx_call_integer(call, ETX_ARG_convolution_u8_groups)};
  etx_window* const windows[] = {&j.y, &j.x};
  for (size_t i = 0; i < 2; ++i) {
    *windows[i] = (etx_window){
        .in = in->sizes[1 + i],
        .out = out->sizes[1 + i],
        .kernel =
            etx_call_list_item(call, ETX_ARG_convolution_u8_kernel_size, i),
        .stride = etx_call_list_item(call, ETX_ARG_convolution_u8_stride, i),
        .padding = etx_call_list_item(call, ETX_ARG_convolution_u8_padding, i),
        .dilation =
            etx_call_list_item(call, ETX_ARG_convolution_u8_dilation, i)};
  }
  j.group_out = (size_t)out->sizes[3] / j.groups;
  j.positions = (int64_t)out->sizes[0] * j.y.out * j.x.out;
  etx_u8_requantize_read(call, 3, 11, &j.results);
  memset(call->temporary, j.zero, call->temporary_bytes);
  j.outside = call->temporary;
  run_job(&j, call);
  return ETX_OK;
}

etx_status etx_kernel_convolution_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 2, 3));
  call->run = run_convolution;
  return etx_temporary_u8(call, &call->temporary_bytes);
}

// ------------------------------------------------ etx::linear_u8

// (input, panels, offsets, scales, bias, out_zero_point, out_min, out_max,
// dtype, out)
static etx_status run_linear(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_linear_u8_input);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const etx_window one = {
      .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
  job j = {.panels = etx_call_tensor(call, ETX_ARG_linear_u8_panels)->data,
           .channels = (size_t)in->sizes[in->rank - 1],
           .groups = 1,
           .group_out = (size_t)out->sizes[out->rank - 1],
           .y = one,
           .x = one};
  j.positions = (int64_t)(etx_tensor_numel(out) / j.group_out);
  etx_u8_requantize_read(call, 2, 5, &j.results);
  run_job(&j, call);
  return ETX_OK;
}

etx_status etx_kernel_linear_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 1, 2));
  call->run = run_linear;
  return ETX_OK;
}
