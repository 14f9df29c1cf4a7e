// Products at the shapes of translators and small language models, against the
// machine's limits measured in the same run: multiply-adds of registers, and
// reading as many bytes as the weights have.
//
//   bench_products [rounds]
//
// One line of JSON for each product, instruction set and number of threads.
// Each round measures all of them once, the limits first; what is printed is
// the best round.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/kernels/product.h"
#include "runtime/program.h"

enum { ROUNDS = 15, MOST_CASES = 256 };

typedef struct shape {
  size_t rows, columns, inner;
} shape;

static const shape shapes[] = {
    {1, 512, 512},    {1, 2048, 512},   {1, 512, 2048},  {1, 59520, 512},
    {4, 512, 512},    {4, 2048, 512},   {4, 512, 2048},  {4, 59520, 512},
    {8, 2048, 512},   {8, 512, 2048},   {16, 2048, 512}, {32, 512, 512},
    {32, 2048, 512},  {32, 512, 2048},  {128, 512, 512}, {128, 2048, 512},
    {128, 512, 2048}, {512, 2048, 512}, {64, 64, 64},    {100, 77, 333},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ------------------------------------------------ limits

#ifdef __x86_64__
// Twelve sums in registers, each step a multiply-add of eight or sixteen
// floats. Named in one piece of assembly, so that no compiler puts them
// elsewhere.
#define STEPS_OF(reg, prefix) \
  "vfmadd231ps %%" prefix "12, %%" prefix "13, %%" prefix #reg "\n\t"
#define ALL_STEPS(p)                                                         \
  STEPS_OF(0, p)                                                             \
  STEPS_OF(1, p)                                                             \
  STEPS_OF(2, p)                                                             \
  STEPS_OF(3, p) STEPS_OF(4, p) STEPS_OF(5, p) STEPS_OF(6, p) STEPS_OF(7, p) \
      STEPS_OF(8, p) STEPS_OF(9, p) STEPS_OF(10, p) STEPS_OF(11, p)
#define CLOBBERS                                                          \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"

static void step_avx2(long count) {
  __asm__ volatile(
      "vxorps %%xmm12, %%xmm12, %%xmm12\n\tvxorps %%xmm13, %%xmm13, %%xmm13\n\t"
      "1:\n\t" ALL_STEPS("ymm") "dec %0\n\tjnz 1b\n\tvzeroupper"
      : "+r"(count)
      :
      : CLOBBERS);
}

static void step_avx512(long count) {
  __asm__ volatile(
      "vxorps %%xmm12, %%xmm12, %%xmm12\n\tvxorps %%xmm13, %%xmm13, %%xmm13\n\t"
      "1:\n\t" ALL_STEPS("zmm") "dec %0\n\tjnz 1b\n\tvzeroupper"
      : "+r"(count)
      :
      : CLOBBERS);
}

// Multiply-adds of floats a second.
static double measure_peak(etx_instruction_set set) {
  const long count = 300000;
  const double start = now();
  if (set >= ETX_SET_AVX512) {
    step_avx512(count);
  } else {
    step_avx2(count);
  }
  const double lanes = set >= ETX_SET_AVX512 ? 16 : 8;
  return (double)count * 12 * lanes / (now() - start);
}
#else
static double measure_peak(etx_instruction_set set) {
  (void)set;
  return 0;
}
#endif

// Bytes a second of reading `bytes` bytes again and again.
static double measure_read(const float* from, size_t bytes) {
  typedef float wide __attribute__((vector_size(32), aligned(4)));
  wide a = {0}, b = {0}, c = {0}, d = {0};
  size_t again = ((size_t)1 << 26) / bytes;
  if (again == 0) again = 1;
  const double start = now();
  for (size_t i = 0; i < again; ++i) {
    for (size_t k = 0; k + 32 <= bytes / 4; k += 32) {
      a += *(const wide*)(from + k);
      b += *(const wide*)(from + k + 8);
      c += *(const wide*)(from + k + 16);
      d += *(const wide*)(from + k + 24);
    }
    __asm__ volatile("" : : "r"(from) : "memory");
  }
  const double taken = now() - start;
  const wide all = (a + b) + (c + d);
  volatile float sink = all[0];
  (void)sink;
  return (double)again * (double)bytes / taken;
}

// ------------------------------------------------ products

typedef struct result {
  double peak, read, rate;  // the best round
} result;

static float *left, *right, *out;

static double measure_product(const shape* s, const etx_parallel* parallel) {
  const etx_product p = {.rows = s->rows,
                         .columns = s->columns,
                         .inner = s->inner,
                         .dtype = ETX_DTYPE_FLOAT32,
                         .left = (const char*)left,
                         .left_row = (ptrdiff_t)s->inner,
                         .left_inner = 1,
                         .right = (const char*)right,
                         .right_inner = 1,
                         .right_column = (ptrdiff_t)s->inner,
                         .out = (char*)out,
                         .out_row = (ptrdiff_t)s->columns};
  const double each = (double)s->rows * (double)s->columns * (double)s->inner;
  size_t again = (size_t)(3e7 / each);
  if (again == 0) again = 1;
  const double start = now();
  for (size_t i = 0; i < again; ++i) etx_product_run(&p, parallel);
  return (double)again * each / (now() - start);
}

static float* floats(size_t count) {
  float* x = aligned_alloc(64, count * sizeof(float));
  if (x == NULL) exit(1);
  for (size_t i = 0; i < count; ++i) {
    x[i] = (float)(i * 2654435761u % 1000) / 1000 - 0.5f;
  }
  return x;
}

static void keep_best(double* best, double value) {
  if (value > *best) *best = value;
}

int main(int argc, char** argv) {
  static result results[SHAPES][ETX_SET_COUNT];
  const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
  const etx_instruction_set best = etx_instruction_set_within(ETX_SET_ANY);
  left = floats(512 * 2048);
  right = floats((size_t)59520 * 512);
  out = floats((size_t)512 * 59520);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < SHAPES; ++i) {
      const shape* s = &shapes[i];
      for (int set = round == 0 ? ETX_SET_BASE : ETX_SET_AVX2; set <= (int)best;
           ++set) {
        etx_parallel parallel = etx_parallel_none;
        parallel.instruction_set = (etx_instruction_set)set;
        result* r = &results[i][set];
        keep_best(&r->peak, measure_peak(parallel.instruction_set));
        keep_best(&r->read, measure_read(right, s->columns * s->inner * 4));
        keep_best(&r->rate, measure_product(s, &parallel));
      }
    }
  }
  for (size_t i = 0; i < SHAPES; ++i) {
    const shape* s = &shapes[i];
    for (int set = ETX_SET_BASE; set <= (int)best; ++set) {
      const result* r = &results[i][set];
      const double roof = (double)s->rows * r->read / 4;
      printf(
          "{\"rows\": %zu, \"columns\": %zu, \"inner\": %zu, \"set\": \"%s\", "
          "\"gmacs\": %.2f, \"peak\": %.2f, \"read_gbs\": %.2f, \"of_roof\": "
          "%.3f}\n",
          s->rows, s->columns, s->inner,
          etx_instruction_set_name((etx_instruction_set)set), r->rate * 1e-9,
          r->peak * 1e-9, r->read * 1e-9,
          r->rate / (r->peak < roof ? r->peak : roof));
    }
  }
  return 0;
}
