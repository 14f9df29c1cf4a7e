// Eight taps at a time of a GEMM block of four to six rows and sixteen columns,
// in inline assembly for AVX2: the loop in which products spend most of their
// time. Two threads of one core take turns at decoding, so the loop has as few
// instructions as possible: for each tap two loads, then a broadcast and two
// FMAs for each row. Compilers either count single taps or move accumulators
// between registers, which costs a sixth more. No parameters; include where
// AVX2 is on, because compilers refuse its registers elsewhere.

#include "runtime/kernels/simd/f32/f32_microkernels.h"

typedef float panel_taps_vector __attribute__((vector_size(32)));

// One row's FMAs: its weights are at `from`, its accumulators are registers a
// and b.
#define GEMM_ROW(from, a, b)              \
  "vbroadcastss " from                    \
  ", %%ymm15\n\t"                         \
  "vfmadd231ps %%ymm13, %%ymm15, %t[s" #a \
  "]\n\t"                                 \
  "vfmadd231ps %%ymm14, %%ymm15, %t[s" #b "]\n\t"

// Rows from rax on, `row` bytes apart; the fourth row and later ones from rdx
// on.
#define GEMM_ROWS_4                      \
  GEMM_ROW("\\at(%%rax)", 0, 1)          \
  GEMM_ROW("\\at(%%rax,%[row])", 2, 3)   \
  GEMM_ROW("\\at(%%rax,%[row],2)", 4, 5) \
  GEMM_ROW("\\at(%%rdx)", 6, 7)
#define GEMM_ROWS_5 GEMM_ROWS_4 GEMM_ROW("\\at(%%rdx,%[row])", 8, 9)
#define GEMM_ROWS_6 GEMM_ROWS_5 GEMM_ROW("\\at(%%rdx,%[row],2)", 10, 11)

// All taps. The assembler unrolls eight of them; `at` is the offset of a tap's
// weights from those of the first.
#define PANEL_TAPS(tap, next)            \
  "mov %[weights], %%rax\n\t"            \
  "mov %[panel], %%rcx\n\t"              \
  "lea (%[row],%[row],2), %%rdx\n\t"     \
  "add %%rax, %%rdx\n\t"                 \
  "mov %[eights], %%rsi\n\t"             \
  "mov %[where], %%rdi\n"                \
  "1:\n\t"                               \
  ".irp at,0,4,8,12,16,20,24,28\n\t" tap \
  ".endr\n\t"                            \
  "add $32, %%rax\n\t"                   \
  "add $32, %%rdx\n\t" next              \
  "dec %%rsi\n\t"                        \
  "jnz 1b\n\t"

// Loads a tap's lanes; those of the next tap follow it in memory.
#define GEMM_NEAR(rows)                \
  PANEL_TAPS(                          \
      "vmovups (%%rcx), %%ymm13\n\t"   \
      "vmovups 32(%%rcx), %%ymm14\n\t" \
      "add %%rdi, %%rcx\n\t" rows, )

// Loads lanes at a tap's offset, which is an eight-byte integer.
#define GEMM_FAR(rows)                              \
  PANEL_TAPS(                                       \
      "mov 2*\\at(%%rdi), %%r8\n\t"                 \
      "vmovups (%%rcx,%%r8,4), %%ymm13\n\t"         \
      "vmovups 32(%%rcx,%%r8,4), %%ymm14\n\t" rows, \
      "add $64, %%rdi\n\t")

#define GEMM_SUMS_4                                                        \
  [s0] "+x"(sums[0][0]), [s1] "+x"(sums[0][1]), [s2] "+x"(sums[1][0]),     \
      [s3] "+x"(sums[1][1]), [s4] "+x"(sums[2][0]), [s5] "+x"(sums[2][1]), \
      [s6] "+x"(sums[3][0]), [s7] "+x"(sums[3][1])
#define GEMM_SUMS_5 GEMM_SUMS_4, [s8] "+x"(sums[4][0]), [s9] "+x"(sums[4][1])
#define GEMM_SUMS_6 GEMM_SUMS_5, [s10] "+x"(sums[5][0]), [s11] "+x"(sums[5][1])

// Adds to the sums. `where` is the offsets, or the distance between rows of the
// panel.
#define GEMM_ADD_EIGHT_TAPS(TAPS, rows, where_lanes_are)                    \
  __asm__ volatile(                                                         \
      TAPS(GEMM_ROWS_##rows)                                                \
      : GEMM_SUMS_##rows                                                    \
      : [weights] "r"(weights), [row] "r"(row), [panel] "r"(panel),         \
        [eights] "r"(eights), [where] "r"(where_lanes_are)                  \
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "xmm13", "xmm14", "xmm15", \
        "cc", "memory")

// Neighbouring positions, from rax on, times a tap's two vectors of weights at
// rcx. The next tap's weights follow; its positions are `row` bytes further.
#define CONV_OC_ROWS_4       \
  GEMM_ROW("(%%rax)", 0, 1)  \
  GEMM_ROW("4(%%rax)", 2, 3) \
  GEMM_ROW("8(%%rax)", 4, 5) \
  GEMM_ROW("12(%%rax)", 6, 7)
#define CONV_OC_ROWS_5 CONV_OC_ROWS_4 GEMM_ROW("16(%%rax)", 8, 9)
#define CONV_OC_ROWS_6 CONV_OC_ROWS_5 GEMM_ROW("20(%%rax)", 10, 11)

#define CONV_OC_ADD_EIGHT_TAPS(positions)                           \
  __asm__ volatile(                                                 \
      "mov %[input], %%rax\n\t"                                     \
      "mov %[weights], %%rcx\n\t"                                   \
      "mov %[eights], %%rsi\n"                                      \
      "1:\n\t"                                                      \
      ".rept 8\n\t"                                                 \
      "vmovups (%%rcx), %%ymm13\n\t"                                \
      "vmovups 32(%%rcx), %%ymm14\n\t" CONV_OC_ROWS_##positions     \
      "add %[row], %%rax\n\t"                                       \
      "add $64, %%rcx\n\t"                                          \
      ".endr\n\t"                                                   \
      "dec %%rsi\n\t"                                               \
      "jnz 1b\n\t"                                                  \
      : GEMM_SUMS_##positions                                       \
      : [input] "r"(input), [weights] "r"(weights), [row] "r"(row), \
        [eights] "r"(eights)                                        \
      : "rax", "rcx", "rsi", "xmm13", "xmm14", "xmm15", "cc", "memory")

// sums [positions, 2] += input [taps, positions] * weights [taps, 2], in the
// same way, for four to six positions. Rows of `input` are `input_row` floats
// apart.
static inline __attribute__((always_inline)) void conv_oc_eight_taps(
    const float* input, ptrdiff_t input_row, const float* weights,
    size_t eights, size_t positions, panel_taps_vector sums[6][2]) {
  const ptrdiff_t row = input_row * (ptrdiff_t)sizeof(float);
  if (positions == 6) CONV_OC_ADD_EIGHT_TAPS(6);
  if (positions == 5) CONV_OC_ADD_EIGHT_TAPS(5);
  if (positions == 4) CONV_OC_ADD_EIGHT_TAPS(4);
}

// sums [rows, 2] += weights [rows, taps] * panel [taps, 2].
static inline __attribute__((always_inline)) void gemm_eight_taps(
    const etx_gemm_taps* taps, size_t rows, panel_taps_vector sums[6][8]) {
  const float *weights = taps->weights, *panel = taps->panel;
  const ptrdiff_t row = taps->weight_row * (ptrdiff_t)sizeof(float);
  const ptrdiff_t step = taps->panel_row * (ptrdiff_t)sizeof(float);
  const ptrdiff_t* offsets = taps->offsets;
  const size_t eights = taps->eights;
  if (offsets != NULL) {
    if (rows == 6) GEMM_ADD_EIGHT_TAPS(GEMM_FAR, 6, offsets);
    if (rows == 5) GEMM_ADD_EIGHT_TAPS(GEMM_FAR, 5, offsets);
    if (rows == 4) GEMM_ADD_EIGHT_TAPS(GEMM_FAR, 4, offsets);
  } else {
    if (rows == 6) GEMM_ADD_EIGHT_TAPS(GEMM_NEAR, 6, step);
    if (rows == 5) GEMM_ADD_EIGHT_TAPS(GEMM_NEAR, 5, step);
    if (rows == 4) GEMM_ADD_EIGHT_TAPS(GEMM_NEAR, 4, step);
  }
}
