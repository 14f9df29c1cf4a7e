// A network of bytes on a board: an image goes through convolutions, one of
// them depthwise, and comes out as ten numbers. PT2E has quantised it before
// export. It is planned for two memories (etx plan --memory), and gets a block
// in each: what is used most lies in the fast one.

#include "board.h"
#include "etx.h"
#include "frames.h"
#include "image_int8.h"
#include "print_results.h"
#include "program_in_flash.h"

BOARD_STACK_HOLDS(IMAGE_INT8_STACK_BYTES);

enum { RESULTS = 10, TIMED_RUNS = 4 };

BLOCK(fast_scratch, IMAGE_INT8_SCRATCH_IN_SRAM_BYTES);
SLOW_BLOCK(slow_scratch, IMAGE_INT8_SCRATCH_IN_PSRAM_BYTES);
BLOCK(temporary, IMAGE_INT8_TEMPORARY_BYTES);
BLOCK(structures, IMAGE_INT8_IMAGES_SIGNED_STRUCTURE_BYTES);

static etx_program program;
static etx_method classify;
static etx_diag diag;

static etx_status set_up(void) {
  const etx_bytes file = {program_start, (size_t)(program_end - program_start)};
  const etx_bytes_mut blocks[] = {
      {fast_scratch, IMAGE_INT8_SCRATCH_IN_SRAM_BYTES},
      {slow_scratch, IMAGE_INT8_SCRATCH_IN_PSRAM_BYTES}};
  const etx_board_memory memory = {
      .memory = {.structures = {structures,
                                IMAGE_INT8_IMAGES_SIGNED_STRUCTURE_BYTES},
                 .temporary = {temporary, IMAGE_INT8_TEMPORARY_BYTES}},
      .blocks = blocks,
      .count = sizeof blocks / sizeof *blocks};
  ETX_TRY(etx_program_open(&program, file, &etx_selected_kernels, NULL, &diag));
  return etx_method_init_in_memories(
      &classify, &program, etx_text_of("images_signed"), &memory, NULL, &diag);
}

static etx_status run_image(const float* image) {
  static const int32_t sizes[4] = {1, 3, 24, 24};
  const etx_tensor input = {(void*)image, sizes, NULL, 4, ETX_DTYPE_FLOAT32};
  ETX_TRY(etx_method_set_input(&classify, 0, &input, &diag));
  return etx_method_run(&classify, &diag);
}

static etx_status run(void) {
  const etx_value* value;
  ETX_TRY(set_up());
  ETX_TRY(run_image(frames[0]));
  ETX_TRY(etx_method_output(&classify, 0, &value));
  print_bits("output", value->as.tensor.data, RESULTS);
  const uint64_t start = board_instructions();
  for (int i = 0; i < TIMED_RUNS; ++i) ETX_TRY(run_image(frames[0]));
  print_number("instructions", (board_instructions() - start) / TIMED_RUNS);
  print_bits("output", value->as.tensor.data, RESULTS);
  return ETX_OK;
}

int main(void) {
  etx_diag_init(&diag);
  return print_end(run(), &diag);
}
