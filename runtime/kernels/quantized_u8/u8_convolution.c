// Convolution and linear of uint8, channels last: rows of bytes times panels of
// weights (u8_loops.h).
//
// The row of an output position is made of pieces of the image, one for each
// tap, which are read in place (an indirect convolution):
//
//        image, [H, W, C]                 pieces, for some positions
//     .----.----.----.----.               tap 0: address for position 0,
//     |    | C C C C |    |                      position 1, ..
//     |----+----+----+----|               tap 1: ..
//     |    | C C C C |    |
//     '----'----'----'----'
//
// A piece outside of the image is a pixel of zero points. If the channels of a
// group are not a multiple of four (RGB images), rows are copied to the tile
// and are one piece. For 1 x 1 windows only the last pixels are copied, so that
// nothing is read past the end of the image.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "format/base/checked_math.h"
#include "runtime/kernels/core/thread_tiles.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/quantized_u8/u8_args.h"
#include "runtime/kernels/image/window.h"

enum {
  ROWS = ETX_U8_ROWS,
  COLUMNS = ETX_U8_COLUMNS,
  BLOCK_COLUMNS = ETX_U8_PANELS * COLUMNS,
  MAX_PIECES = 1024,  // addresses in a tile: taps times positions
  MAX_TAPS = MAX_PIECES / ROWS,
  COPY_BYTES = 12288,  // copied rows in a tile
  COPY_STEP = 16,      // bytes of one copy of copy_steps
  // Bytes of one row that are copied at a time.
  MAX_COPIED_ROW = COPY_BYTES / ROWS / ETX_U8_INTERLEAVE * ETX_U8_INTERLEAVE,
  MAX_DIRECT_CHANNELS = COPY_BYTES / ETX_U8_INTERLEAVE,  // read in place
  MIN_POSITIONS = 2 * ROWS,  // fewest positions of a work item
  MAX_POSITIONS = 8 * ROWS,
  ITEMS_PER_THREAD = 4,  // at least
};

// Where the rows of some positions are, and their sums.
typedef struct u8_conv_tile {
  const uint8_t* pieces[MAX_PIECES];
  uint8_t copies[COPY_BYTES + COPY_STEP];
  int32_t sums[ROWS * BLOCK_COLUMNS];
} u8_conv_tile;

typedef struct u8_conv_job {
  const etx_u8_loops* loops;
  etx_u8_requantize results;
  const uint8_t* in;
  const uint8_t* outside;  // a pixel of zero points; NULL: no padding
  uint8_t zero;
  const int8_t* panels;
  char* out;
  etx_window y, x;
  int64_t extent_y, extent_x;       // size of a window, with dilation
  int64_t positions;                // positions of all images
  size_t channels, group_channels;  // channels of an image, and of a group
  size_t out_channels, group_out;
  size_t taps;          // taps of a window
  size_t inner;         // bytes of a row: taps * group_channels
  size_t fours;         // inner / 4, rounded up
  size_t group_panels;  // panels of a group
  size_t part;          // positions of an item
  size_t parts, groups;
  bool is_copied;
  bool has_rows;       // copied windows have contiguous rows
  const uint8_t* end;  // end of all images
} u8_conv_job;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

// The window of one output position: its image, and the input position of tap
// (0, 0).
typedef struct window_position {
  const uint8_t* image;
  int64_t row, column;  // position in the result
  int64_t y, x;
} window_position;

static window_position position_of(const u8_conv_job* j, int64_t position) {
  const int64_t image = position / (j->y.out * j->x.out);
  const int64_t rest = position - image * j->y.out * j->x.out;
  const int64_t row = rest / j->x.out, column = rest - row * j->x.out;
  return (window_position){
      j->in + image * j->y.in * j->x.in * (int64_t)j->channels, row, column,
      etx_window_start(&j->y, row), etx_window_start(&j->x, column)};
}

static void advance(const u8_conv_job* j, window_position* p) {
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

// The address of the pixel at a tap; NULL: outside the image.
static const uint8_t* tap_address(const u8_conv_job* j,
                                  const window_position* p, size_t tap) {
  const size_t kernel = (size_t)j->x.kernel, row = tap / kernel;
  const int64_t y = p->y + (int64_t)row * j->y.dilation;
  const int64_t x = p->x + (int64_t)(tap - row * kernel) * j->x.dilation;
  if (y < 0 || y >= j->y.in || x < 0 || x >= j->x.in) return NULL;
  return p->image + (y * j->x.in + x) * (int64_t)j->channels;
}

static size_t padded_rows(size_t rows) {
  return (rows + ROWS - 1) / ROWS * ROWS;
}

// Pads the positions to a multiple of ROWS by repeating the last one.
static void repeat_last(const uint8_t** pieces, size_t taps, size_t rows) {
  const size_t pitch = padded_rows(rows);
  for (size_t t = 0; t < taps; ++t, pieces += pitch) {
    for (size_t r = rows; r < pitch; ++r) pieces[r] = pieces[rows - 1];
  }
}

static bool is_inside(const u8_conv_job* j, const window_position* p) {
  return p->y >= 0 && p->x >= 0 && p->y <= j->y.in - j->extent_y &&
         p->x <= j->x.in - j->extent_x;
}

// Consecutive positions of one group.
typedef struct position_range {
  int64_t position;
  size_t positions;
  size_t group;
} position_range;

// Finds the addresses of taps [tap, tap + taps) for a range of positions. First
// as if all windows were inside the image, which is the common case and has
// fixed offsets; then the windows that are not are corrected.
static void find_taps(const u8_conv_job* j, const position_range* range,
                      size_t tap, size_t taps, const uint8_t** pieces) {
  const size_t positions = range->positions;
  const size_t at = range->group * j->group_channels;
  const size_t pitch = padded_rows(positions);
  const size_t kernel = (size_t)j->x.kernel;
  uintptr_t first[MAX_POSITIONS];
  window_position p = position_of(j, range->position);
  for (size_t r = 0; r < positions; ++r, advance(j, &p)) {
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
      pieces[t * pitch + r] = (const uint8_t*)(first[r] + offset);
    }
  }
  p = position_of(j, range->position);
  for (size_t r = 0; r < positions; ++r, advance(j, &p)) {
    if (is_inside(j, &p)) continue;
    for (size_t t = 0; t < taps; ++t) {
      const uint8_t* from = tap_address(j, &p, tap + t);
      pieces[t * pitch + r] = from == NULL ? j->outside : from + at;
    }
  }
}

// Copies bytes [first, end) of a position's row.
static void copy_row(const u8_conv_job* j, const window_position* p,
                     size_t group, size_t first, size_t end, uint8_t* to) {
  const size_t piece = j->group_channels;
  size_t tap = first / piece, at = first - tap * piece;
  while (first < end && tap < j->taps) {
    const size_t count = min_size(piece - at, end - first);
    const uint8_t* from = tap_address(j, p, tap);
    if (from == NULL) {
      memset(to, j->zero, count);
    } else {
      memcpy(to, from + group * piece + at, count);
    }
    to += count;
    first += count;
    at = 0;
    ++tap;
  }
  memset(to, 0, end - first);
}

// Copies the rows of a window, `steps` copies each. Bytes that are copied past
// the end of a row are overwritten by the next row.
static inline __attribute__((always_inline)) void copy_steps(
    const uint8_t* from, size_t pitch, uint8_t* to, size_t row, size_t rows,
    size_t steps) {
  for (size_t y = 0; y < rows; ++y, to += row) {
    for (size_t k = 0; k < steps; ++k) {
      memcpy(to + k * COPY_STEP, from + y * pitch + k * COPY_STEP, COPY_STEP);
    }
  }
}

// Copies a whole window with contiguous rows. Returns false if the window is
// not inside the image, or if copies would read past the end of the last image.
static bool copy_whole_window(const u8_conv_job* j, const window_position* p,
                              uint8_t* to) {
  const size_t row = (size_t)j->x.kernel * j->channels;
  const size_t pitch = (size_t)j->x.in * j->channels;
  if (!j->has_rows || !is_inside(j, p)) return false;
  const uint8_t* from =
      p->image + (p->y * j->x.in + p->x) * (int64_t)j->channels;
  const size_t rows = (size_t)j->y.kernel;
  const size_t extent = (rows - 1) * pitch + row + COPY_STEP;
  if ((size_t)(j->end - from) < extent) return false;
  if (row <= COPY_STEP) {
    copy_steps(from, pitch, to, row, rows, 1);
  } else if (row <= 2 * COPY_STEP) {
    copy_steps(from, pitch, to, row, rows, 2);
  } else {
    copy_steps(from, pitch, to, row, rows, (row + COPY_STEP - 1) / COPY_STEP);
  }
  memset(to + rows * row, 0, ETX_U8_INTERLEAVE);
  return true;
}

// Multiplies rows, or parts of them, with some panels of a group.
static void sum_rows(const u8_conv_job* j, const etx_u8_block* model,
                     size_t group, size_t panel, size_t panels) {
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  etx_u8_block b = *model;
  for (size_t end = panel + panels; panel < end; panel += ETX_U8_PANELS) {
    const size_t column = panel * COLUMNS;
    b.columns = min_size(BLOCK_COLUMNS, j->group_out - column);
    b.panels =
        model->panels + (group * j->group_panels + panel) * b.panel_bytes;
    b.channel = group * j->group_out + column;
    b.out = (char*)model->out + b.channel * element;
    j->loops->block(&b);
  }
}

// Copies pixels whose last group of four channels would read past the end of
// the images.
static void copy_last_pixels(const u8_conv_job* j, size_t positions,
                             const uint8_t** pieces, uint8_t* copies) {
  const size_t channels = j->group_channels, row = j->fours * ETX_U8_INTERLEAVE;
  if (channels % ETX_U8_INTERLEAVE == 0) return;
  for (size_t r = positions; r-- > 0;) {
    if (pieces[r] == j->outside) continue;
    if ((size_t)(j->end - pieces[r]) >= row) return;
    memcpy(copies, pieces[r], channels);
    memset(copies + channels, 0, row - channels);
    pieces[r] = copies;
    copies += row;
  }
}

// Finds or copies a part of the rows: taps [first, first + count), or these
// bytes of copied rows.
static void prepare(const u8_conv_job* j, const position_range* range,
                    size_t first, size_t count, const uint8_t** pieces,
                    uint8_t* copies) {
  const size_t positions = range->positions;
  if (!j->is_copied) {
    find_taps(j, range, first, count, pieces);
    copy_last_pixels(j, positions, pieces, copies);
    repeat_last(pieces, count, positions);
    return;
  }
  window_position p = position_of(j, range->position);
  for (size_t r = 0; r < positions; ++r, advance(j, &p)) {
    pieces[r] = copies + r * count;
    if (count == j->fours * ETX_U8_INTERLEAVE &&
        copy_whole_window(j, &p, copies + r * count)) {
      continue;
    }
    copy_row(j, &p, range->group, first, first + count, copies + r * count);
  }
  repeat_last(pieces, 1, positions);
}

static void run_range(const u8_conv_job* j, const position_range* range,
                      u8_conv_tile* tile) {
  const size_t positions = range->positions, group = range->group;
  const size_t all = j->is_copied ? j->fours * ETX_U8_INTERLEAVE : j->taps;
  const size_t max_count = j->is_copied ? MAX_COPIED_ROW : MAX_TAPS;
  const size_t tap_fours = j->fours / (j->is_copied ? 1 : j->taps);
  const size_t element = j->results.is_float ? sizeof(float) : 1;
  etx_u8_block b = {
      .input = tile->pieces,
      .pitch = padded_rows(positions),
      .rows = positions,
      .panel_bytes = j->fours * COLUMNS * ETX_U8_INTERLEAVE,
      .sums = tile->sums,
      .results = &j->results,
      .out = j->out + (size_t)range->position * j->out_channels * element,
      .out_row = j->out_channels,
      .starts = true,
      .ends = true};
  if (all <= max_count) {
    prepare(j, range, 0, all, tile->pieces, tile->copies);
    b.taps = j->is_copied ? 1 : all;
    b.fours = tap_fours;
    b.panels = j->panels;
    sum_rows(j, &b, group, 0, j->group_panels);
    return;
  }
  // Long rows are computed part by part, for a pair of panels at a time.
  for (size_t panel = 0; panel < j->group_panels; panel += ETX_U8_PANELS) {
    for (size_t first = 0; first < all; first += max_count) {
      const size_t count = min_size(max_count, all - first);
      prepare(j, range, first, count, tile->pieces, tile->copies);
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

// Computes items [first, end): some positions of one group each.
static void run_items(const void* context, void* tile, size_t first,
                      size_t end) {
  const u8_conv_job* j = context;
  for (size_t i = first; i < end; ++i) {
    const size_t group = i / j->parts;
    const int64_t position = (int64_t)((i - group * j->parts) * j->part);
    const position_range range = {
        .position = position,
        .positions = min_size(j->part, (size_t)(j->positions - position)),
        .group = group};
    run_range(j, &range, tile);
  }
}

// The positions of an item. Their rows stay in L1 or L2 while panels are
// multiplied.
static size_t part_of(const u8_conv_job* j, size_t threads) {
  const size_t fit = j->is_copied ? COPY_BYTES / (j->fours * ETX_U8_INTERLEAVE)
                                  : MAX_PIECES / j->taps;
  size_t part = min_size(fit, MAX_POSITIONS) / ROWS * ROWS;
  if (part < ROWS) return ROWS;
  if (threads == 1) return part;
  const size_t per_item = (size_t)j->positions * j->groups / threads /
                          ITEMS_PER_THREAD / ROWS * ROWS;
  if (part > per_item) part = per_item;
  return part < MIN_POSITIONS ? min_size(fit / ROWS * ROWS, MIN_POSITIONS)
                              : part;
}

// `memory` is that of the tiles.
static void run_job(u8_conv_job* j, etx_call* call, void* memory) {
  const etx_parallel* parallel = call->parallel;
  const etx_thread_tiles tiles = {memory, sizeof(u8_conv_tile)};
  j->loops =
      etx_u8_loops_of(etx_instruction_set_within(parallel->instruction_set));
  j->in = etx_call_tensor(call, ETX_ARG_convolution_u8_input)->data;
  j->out = etx_call_tensor(call, call->argument_count - 1)->data;
  j->group_channels = j->channels / j->groups;
  j->out_channels = j->group_out * j->groups;
  j->group_panels = (j->group_out + COLUMNS - 1) / COLUMNS;
  j->taps = (size_t)(j->y.kernel * j->x.kernel);
  j->extent_y = (j->y.kernel - 1) * j->y.dilation + 1;
  j->extent_x = (j->x.kernel - 1) * j->x.dilation + 1;
  j->inner = j->taps * j->group_channels;
  j->fours = (j->inner + ETX_U8_INTERLEAVE - 1) / ETX_U8_INTERLEAVE;
  j->is_copied =
      j->group_channels % ETX_U8_INTERLEAVE != 0 &&
      (j->taps > 1 || j->groups > 1 || j->inner > MAX_DIRECT_CHANNELS);
  j->has_rows = j->groups == 1 && j->x.dilation == 1 && j->y.dilation == 1;
  j->end = j->in + etx_tensor_numel(
                       etx_call_tensor(call, ETX_ARG_convolution_u8_input));
  if (j->positions == 0) return;
  j->part = part_of(j, parallel->thread_count);
  j->parts = ((size_t)j->positions + j->part - 1) / j->part;
  const double work =
      (double)j->positions * (double)j->inner * (double)j->out_channels;
  etx_parallel_for_tiled(parallel, j->parts * j->groups, work, run_items, j,
                         &tiles);
}

// ------------------------------------------------ temporary memory

static etx_status add_tiles(const etx_call* call, size_t before,
                            size_t* out_bytes) {
  size_t tiles = 0;
  if (etx_thread_tiles_needed(call->parallel, sizeof(u8_conv_tile), &tiles) &&
      etx_add_size(before, tiles, out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the rows of a product of uint8 do not fit in memory");
}

etx_status etx_temporary_linear_u8(const etx_call* call, size_t* out_bytes) {
  return add_tiles(call, 0, out_bytes);
}

// The pixel outside of the image, then the tiles.
etx_status etx_temporary_convolution_u8(const etx_call* call,
                                        size_t* out_bytes) {
  size_t pixel = 0;
  ETX_TRY(etx_temporary_u8(call, &pixel));
  return add_tiles(call, pixel, out_bytes);
}

// ------------------------------------------------ etx::convolution_u8

// (input, zero_point, panels, offsets, scales, bias, kernel_size, stride,
// padding, dilation, groups, out_zero_point, out_min, out_max, dtype, out)
static etx_status run_convolution(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_convolution_u8_input);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  u8_conv_job j = {
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
  size_t pixel = 0;
  ETX_TRY(etx_temporary_u8(call, &pixel));
  memset(call->temporary, j.zero, pixel);
  j.outside = call->temporary;
  run_job(&j, call, (char*)call->temporary + pixel);
  return ETX_OK;
}

etx_status etx_kernel_convolution_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 2, 3));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_convolution_u8(call, &call->temporary_bytes));
  }
  call->run = run_convolution;
  return ETX_OK;
}

// ------------------------------------------------ etx::linear_u8

// (input, panels, offsets, scales, bias, out_zero_point, out_min, out_max,
// dtype, out)
static etx_status run_linear(etx_call* call) {
  const etx_tensor* in = etx_call_tensor(call, ETX_ARG_linear_u8_input);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const etx_window one = {
      .in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
  u8_conv_job j = {
      .panels = etx_call_tensor(call, ETX_ARG_linear_u8_panels)->data,
      .channels = (size_t)in->sizes[in->rank - 1],
      .groups = 1,
      .group_out = (size_t)out->sizes[out->rank - 1],
      .y = one,
      .x = one};
  j.positions = (int64_t)(etx_tensor_numel(out) / j.group_out);
  etx_u8_requantize_read(call, 2, 5, &j.results);
  run_job(&j, call, call->temporary);
  return ETX_OK;
}

etx_status etx_kernel_linear_u8_out_prepare(etx_call* call) {
  ETX_TRY(etx_u8_check(call, 1, 2));
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_linear_u8(call, &call->temporary_bytes));
  }
  call->run = run_linear;
  return ETX_OK;
}
