// The taps of a GEMM block of four to six rows and 64 columns, in inline
// assembly for AVX-512: the loop in which large products spend most of their
// time. A thread of another program on the same core takes half of the decoded
// instructions and of the reads of L1, so the loop has as few of both as
// possible: for each tap four loads of lanes, then a broadcast and four FMAs
// for each row. Compilers count single taps and read addresses from the stack,
// or broadcast a weight for each FMA. No parameters; include where AVX-512 is
// on, because compilers refuse its registers elsewhere.
//
// The sums are zmm8 to zmm31, four for each row: too many to be operands of an
// asm statement, so it loads and stores them.

#include "runtime/kernels/simd/f32/f32_microkernels.h"

// The 32 registers: the first ones, and the rest in fours.
#define SPOILED_FIRST                                                        \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",    \
      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", \
      "xmm17", "xmm18", "xmm19", "xmm20"
#define SPOILED_21 "xmm21", "xmm22", "xmm23", "xmm24"
#define SPOILED_25 "xmm25", "xmm26", "xmm27", "xmm28"
#define SPOILED_29 "xmm29", "xmm30", "xmm31"
#define SPOILED_ALL SPOILED_FIRST, SPOILED_21, SPOILED_25, SPOILED_29

// One row's FMAs: its weight is at `from`, its sums are four registers.
#define TILE_ROW(from, a, b, c, d)                                            \
  "vbroadcastss " from                                                        \
  ",%%zmm4\n"                                                                 \
  "vfmadd231ps %%zmm0,%%zmm4,%%zmm" #a "\nvfmadd231ps %%zmm1,%%zmm4,%%zmm" #b \
  "\nvfmadd231ps %%zmm2,%%zmm4,%%zmm" #c                                      \
  "\nvfmadd231ps %%zmm3,%%zmm4,%%zmm" #d "\n"

// Rows from rax on, rdx bytes apart; the fourth row and later ones from rcx on.
// `at` is the offset of a tap's weights from those of the turn's first.
#define TILE_ROWS_4                               \
  TILE_ROW("\\at(%%rax)", 8, 9, 10, 11)           \
  TILE_ROW("\\at(%%rax,%%rdx)", 12, 13, 14, 15)   \
  TILE_ROW("\\at(%%rax,%%rdx,2)", 16, 17, 18, 19) \
  TILE_ROW("\\at(%%rcx)", 20, 21, 22, 23)
#define TILE_ROWS_5 TILE_ROWS_4 TILE_ROW("\\at(%%rcx,%%rdx)", 24, 25, 26, 27)
#define TILE_ROWS_6 TILE_ROWS_5 TILE_ROW("\\at(%%rcx,%%rdx,2)", 28, 29, 30, 31)

// The lanes of a tap are at rsi, in four groups that are r8 bytes apart; those
// of the next tap are rdi bytes further.
#define TILE_LANES                   \
  "vmovups (%%rsi), %%zmm0\n"        \
  "vmovups (%%rsi,%%r8), %%zmm1\n"   \
  "vmovups (%%rsi,%%r8,2), %%zmm2\n" \
  "vmovups (%%rsi,%%r9), %%zmm3\n"   \
  "add %%rdi, %%rsi\n"

// The numbers of the registers of the sums.
#define TILE_SUMS_4 "8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23"
#define TILE_SUMS_5 TILE_SUMS_4 ",24,25,26,27"
#define TILE_SUMS_6 TILE_SUMS_5 ",28,29,30,31"

// Moves them from or to the rows of the sums, of which r12 is the first.
#define TILE_MOVE_SUMS(from, to) \
  "vmovups " from ", " to        \
  "\n"                           \
  ".if (\\sum & 3) == 3\nadd %[sum_row], %%r12\n.endif\n"
#define TILE_MEMORY "64*(\\sum & 3)(%%r12)"
#define TILE_REGISTER "%%zmm\\sum"

// Turns of eight taps with four prefetches, then the rest of the taps.
#define TILE_ADD_TAPS(rows) \
  __asm__ volatile(                                                            \
      "mov %[sums], %%r12\n"                                                   \
      "cmpb $0, %[starts]\n"                                                   \
      "je 1f\n"                                                                \
      ".irp sum," TILE_SUMS_##rows "\n"                                        \
      "vpxord %%zmm\\sum, %%zmm\\sum, %%zmm\\sum\n"                            \
      ".endr\n"                                                                \
      "jmp 2f\n"                                                               \
      "1:\n"                                                                   \
      ".irp sum," TILE_SUMS_##rows "\n"                                        \
      TILE_MOVE_SUMS(TILE_MEMORY, TILE_REGISTER)                               \
      ".endr\n"                                                                \
      "2:\n"                                                                   \
      "mov %[weights], %%rax\n"                                                \
      "mov %[weight_row], %%rdx\n"                                             \
      "lea (%%rdx,%%rdx,2), %%rcx\n"                                           \
      "add %%rax, %%rcx\n"                                                     \
      "mov %[panel], %%rsi\n"                                                  \
      "mov %[panel_row], %%rdi\n"                                              \
      "mov %[panel_group], %%r8\n"                                             \
      "lea (%%r8,%%r8,2), %%r9\n"                                              \
      "mov %[ahead], %%r10\n"                                                  \
      "mov %[ahead_step], %%r11\n"                                             \
      "mov %[turns], %%r12\n"                                                  \
      "test %%r12, %%r12\n"                                                    \
      "jz 4f\n"                                                                \
      "3:\n"                                                                   \
      ".irp at,0,4,8,12,16,20,24,28\n"                                         \
      ".if (\\at & 4) == 0\n"                                                  \
      "prefetcht0 (%%r10)\n"                                                   \
      "add %%r11, %%r10\n"                                                     \
      ".endif\n"                                                               \
      TILE_LANES TILE_ROWS_##rows                                              \
      ".endr\n"                                                                \
      "add $32, %%rax\n"                                                       \
      "add $32, %%rcx\n"                                                       \
      "dec %%r12\n"                                                            \
      "jnz 3b\n"                                                               \
      "4:\n"                                                                   \
      "mov %[rest], %%r12\n"                                                   \
      "test %%r12, %%r12\n"                                                    \
      "jz 6f\n"                                                                \
      "5:\n"                                                                   \
      ".irp at,0\n" TILE_LANES TILE_ROWS_##rows ".endr\n"                      \
      "add $4, %%rax\n"                                                        \
      "add $4, %%rcx\n"                                                        \
      "dec %%r12\n"                                                            \
      "jnz 5b\n"                                                               \
      "6:\n"                                                                   \
      "mov %[sums], %%r12\n"                                                   \
      ".irp sum," TILE_SUMS_##rows "\n"                                        \
      TILE_MOVE_SUMS(TILE_REGISTER, TILE_MEMORY)                               \
      ".endr\n"                                                                \
      :                                                                        \
      : [sums] "m"(t->sums), [sum_row] "m"(t->sum_row),                        \
        [starts] "m"(t->starts), [weights] "m"(t->weights),                    \
        [weight_row] "m"(t->weight_row), [panel] "m"(t->panel),                \
        [panel_row] "m"(t->panel_row), [panel_group] "m"(t->panel_group),      \
        [ahead] "m"(t->ahead), [ahead_step] "m"(t->ahead_step),                \
        [turns] "m"(t->turns), [rest] "m"(t->rest)                             \
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",    \
        SPOILED_ALL, "cc", "memory")
// sums [rows, 64] += weights [rows, taps] * panel [taps, 64].
static inline __attribute__((always_inline)) void gemm_add_tile(
    const etx_gemm_tile* t, size_t rows) {
  if (rows == 6) TILE_ADD_TAPS(6);
  if (rows == 5) TILE_ADD_TAPS(5);
  if (rows == 4) TILE_ADD_TAPS(4);
}
