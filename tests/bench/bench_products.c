// Products at the shapes of translators and small language models, against the
// machine's limits measured in the same run: multiply-adds of floats in
// registers, and reading as many bytes as the weights have.
//
//   bench_products [rounds]
//
// Each round measures everything once, the limits right before each product;
// what is printed, a line of JSON for each product, instruction set and number
// of threads, is the best round. A product is repeated for about a millisecond.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/quantized/quantized_linear.h"
#include "runtime/program.h"
#include "runtime/threads/thread_pool.h"
#include "tests/support/test_instruction_sets.h"

enum { ROUNDS = 15, MOST_ROWS = 512, MOST_INNER = 2048, GROUP = 32 };
enum { MOST_WEIGHTS = 59520 * 512, MOST_OUT = 512 * 2048, THREADS = 2 };

typedef struct product_shape {
  size_t rows, columns, inner;
} product_shape;

static const product_shape shapes[] = {
    {1, 512, 512},    {1, 2048, 512},   {1, 512, 2048},   {1, 59520, 512},
    {4, 2048, 512},   {4, 59520, 512},  {8, 2048, 512},   {16, 2048, 512},
    {32, 512, 512},   {32, 2048, 512},  {32, 512, 2048},  {128, 512, 512},
    {128, 2048, 512}, {128, 512, 2048}, {512, 2048, 512}, {64, 64, 64},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

// Floats; floats by bytes; rows quantised on the way by bytes, by half bytes.
// And by floats and by bytes that are packed: what the weights are is one.
typedef enum product_kind {
  FLOATS,
  FLOAT_PANELS,
  W8,
  A8W8,
  A8W8_PANELS,
  A8W4,
  KINDS
} product_kind;
static const char* const kind_names[] = {
    "float32",     "float32_panels",     "linear_w8",
    "linear_a8w8", "linear_a8w8_panels", "linear_a8w4g"};
static const double weight_bytes[] = {4, 4, 1, 1, 1, 0.625};

// Seconds: of this thread alone where it works alone, so that what else runs on
// the machine counts less.
static double now(size_t threads) {
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ------------------------------------------------ limits

#ifdef __x86_64__
// Twelve sums in registers, each step a multiply-add of eight or sixteen
// floats. Named in one piece of assembly, so that no compiler puts them
// elsewhere.
#define STEPS_OF(reg, prefix) \
  "vfmadd231ps %%" prefix "12, %%" prefix "13, %%" prefix #reg "\n\t"
#define ALL_STEPS(p) \
  STEPS_OF(0, p)     \
  STEPS_OF(1, p)     \
  STEPS_OF(2, p)     \
  STEPS_OF(3, p)     \
  STEPS_OF(4, p)     \
  STEPS_OF(5, p)     \
  STEPS_OF(6, p)     \
  STEPS_OF(7, p) STEPS_OF(8, p) STEPS_OF(9, p) STEPS_OF(10, p) STEPS_OF(11, p)
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

// The same of bytes, four in a lane.
#define BYTE_STEP(reg) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #reg "\n\t"
static void step_vnni(long count) {
  __asm__ volatile(
      "vxorps %%xmm12, %%xmm12, %%xmm12\n\tvxorps %%xmm13, %%xmm13, %%xmm13\n\t"
      "1:\n\t" BYTE_STEP(0) BYTE_STEP(1) BYTE_STEP(2) BYTE_STEP(3) BYTE_STEP(4)
          BYTE_STEP(5) BYTE_STEP(6) BYTE_STEP(7) BYTE_STEP(8) BYTE_STEP(9)
              BYTE_STEP(10) BYTE_STEP(11) "dec %0\n\tjnz 1b\n\tvzeroupper"
      : "+r"(count)
      :
      : CLOBBERS);
}

// Multiply-adds of floats a second, or of bytes where there is an instruction
// for them; 0 where there is none.
static double measure_peak(etx_instruction_set set, bool bytes) {
  const long count = 300000;
  const double start = now(1);
  if (bytes) {
    if (set < ETX_SET_AVX512VNNI) return 0;
    step_vnni(count);
    return (double)count * 12 * 64 / (now(1) - start);
  }
  if (set >= ETX_SET_AVX512) {
    step_avx512(count);
  } else {
    step_avx2(count);
  }
  const double lanes = set >= ETX_SET_AVX512 ? 16 : 8;
  return (double)count * 12 * lanes / (now(1) - start);
}
#else
static double measure_peak(etx_instruction_set set, bool bytes) {
  (void)set;
  (void)bytes;
  return 0;
}
#endif

// Reads all bytes but the last few, in four places at a time: a processor asks
// for lines ahead within a page, not behind its end.
static void read_bytes(const char* at, const char* end) {
#ifdef __x86_64__
  const size_t quarter = (size_t)(end - at) / 256 * 64;
  for (const char* stop = at + quarter; at < stop; at += 64) {
    __asm__ volatile(
        "vmovdqu (%0), %%ymm0\n\tvmovdqu 32(%0), %%ymm1\n\t"
        "vmovdqu (%0,%1), %%ymm2\n\tvmovdqu 32(%0,%1), %%ymm3\n\t"
        "vmovdqu (%0,%1,2), %%ymm4\n\tvmovdqu 32(%0,%1,2), %%ymm5\n\t"
        "vmovdqu (%2), %%ymm6\n\tvmovdqu 32(%2), %%ymm7"
        :
        : "r"(at), "r"(quarter), "r"(at + 3 * quarter)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
  }
#else
  for (; at + 8 <= end; at += 8)
    (void)*(const volatile uint64_t*)(const void*)at;
#endif
}

// Bytes a second of reading `bytes` bytes again and again.
static double measure_read(const float* from, size_t bytes) {
  size_t again = ((size_t)1 << 25) / bytes;
  if (again == 0) again = 1;
  const char* at = (const char*)from;
  const double start = now(1);
  for (size_t i = 0; i < again; ++i) read_bytes(at, at + bytes);
  return (double)again * (double)bytes / (now(1) - start);
}

// ------------------------------------------------ products

typedef struct product_result {
  double peak, read, rate;  // the best round
} product_result;

static float *left, *right, *out, *scales;
static int32_t sums[59520];     // of columns; what they are is one, too
enum { MOST_TILES = 1 << 17 };  // floats of the tiles of all threads
static void* temporary;

static void run_floats(const product_shape* s, bool has_panels,
                       const etx_parallel* parallel) {
  const etx_gemm p = {.rows = s->rows,
                      .columns = s->columns,
                      .inner = s->inner,
                      .dtype = ETX_DTYPE_FLOAT32,
                      .right_dtype = ETX_DTYPE_FLOAT32,
                      .left = (const char*)left,
                      .left_row = (ptrdiff_t)s->inner,
                      .left_inner = 1,
                      .right = (const char*)right,
                      .right_inner = 1,
                      .right_column = (ptrdiff_t)s->inner,
                      .has_panels = has_panels,
                      .out = (char*)out,
                      .out_row = (ptrdiff_t)s->columns};
  etx_gemm_run(&p, parallel, temporary);
}

static void run_quantized(const product_shape* s, product_kind k,
                          const etx_parallel* parallel) {
  const int32_t in_sizes[] = {(int32_t)s->rows, (int32_t)s->inner};
  const int32_t in_strides[] = {(int32_t)s->inner, 1};
  const int32_t out_sizes[] = {(int32_t)s->rows, (int32_t)s->columns};
  const int32_t out_strides[] = {(int32_t)s->columns, 1};
  const bool is_half = k == A8W4;
  const etx_tensor input = {.dtype = ETX_DTYPE_FLOAT32,
                            .rank = 2,
                            .sizes = in_sizes,
                            .strides = in_strides,
                            .data = left};
  const etx_tensor product = {.dtype = ETX_DTYPE_FLOAT32,
                              .rank = 2,
                              .sizes = out_sizes,
                              .strides = out_strides,
                              .data = out};
  const etx_quantized_linear linear = {
      .weight = {.data = (const uint8_t*)right,
                 .dtype = is_half ? ETX_DTYPE_UINT8 : ETX_DTYPE_INT8,
                 .bits = is_half ? 4 : 8,
                 .has_panels = k == A8W8_PANELS,
                 .row_bytes = is_half ? s->inner / 2 : s->inner,
                 .inner = s->inner,
                 .group = is_half ? GROUP : s->inner,
                 .groups = is_half ? s->inner / GROUP : 1,
                 .scales = (const char*)scales,
                 .scale_dtype = ETX_DTYPE_FLOAT32},
      .columns = s->columns,
      .input = &input,
      .out = &product,
      .is_integer = k != W8,
      .sums = sums};
  etx_quantized_linear_run(&linear, temporary, parallel);
}

// Multiply-adds a second.
static double measure_product(const product_shape* s, product_kind k,
                              const etx_parallel* parallel) {
  const double each = (double)s->rows * (double)s->columns * (double)s->inner;
  size_t again = (size_t)(2e7 / each);
  if (again == 0) again = 1;
  const double start = now(parallel->thread_count);
  for (size_t i = 0; i < again; ++i) {
    if (k == FLOATS || k == FLOAT_PANELS) {
      run_floats(s, k == FLOAT_PANELS, parallel);
    } else {
      run_quantized(s, k, parallel);
    }
  }
  return (double)again * each / (now(parallel->thread_count) - start);
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

static void measure(const product_shape* s, product_kind k,
                    etx_parallel parallel, product_result* r) {
  const double bytes = (double)s->columns * (double)s->inner * weight_bytes[k];
  const bool is_bytes = k == A8W8 || k == A8W8_PANELS || k == A8W4;
  keep_best(&r->peak, measure_peak(parallel.instruction_set, is_bytes));
  keep_best(&r->read, measure_read(right, (size_t)bytes));
  keep_best(&r->rate, measure_product(s, k, &parallel));
}

static void print(const product_shape* s, product_kind k,
                  etx_instruction_set set, size_t threads,
                  const product_result* r) {
  printf(
      "{\"kind\": \"%s\", \"rows\": %zu, \"columns\": %zu, \"inner\": %zu, "
      "\"set\": \"%s\", \"threads\": %zu, \"gmacs\": %.3f, \"peak\": %.2f, "
      "\"read_gbs\": %.2f, \"weights_gbs\": %.2f}\n",
      kind_names[k], s->rows, s->columns, s->inner,
      etx_instruction_set_name(set), threads, r->rate * 1e-9, r->peak * 1e-9,
      r->read * 1e-9, r->rate * weight_bytes[k] / (double)s->rows * 1e-9);
}

int main(int argc, char** argv) {
  static product_result results[KINDS][SHAPES][ETX_SET_COUNT][THREADS];
  static etx_thread_pool pool;
  const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
  const int best = (int)etx_instruction_set_within(ETX_SET_ANY);
  const size_t needed = etx_thread_pool_needed(THREADS);
  const etx_bytes_mut memory = {(uint8_t*)floats(needed / 4 + 16), needed};
  if (etx_thread_pool_init(&pool, THREADS, memory, NULL) != ETX_OK) return 1;
  left = floats((size_t)MOST_ROWS * MOST_INNER);
  right = floats(MOST_WEIGHTS);
  out = floats(MOST_OUT);
  scales = floats(MOST_WEIGHTS / GROUP);
  temporary = floats((size_t)MOST_ROWS * MOST_INNER + MOST_TILES);
  const etx_parallel* all[THREADS] = {&etx_parallel_none, &pool.parallel};
  for (int round = 0; round < rounds; ++round) {
    for (int at = 0; at < KINDS * SHAPES * THREADS; ++at) {
      const product_kind k = (product_kind)(at % KINDS);
      const size_t i = (size_t)(at / KINDS) % SHAPES;
      const size_t threads = (size_t)at / (KINDS * SHAPES);
      // The plain set need not be near any limit: once is enough.
      for (int set = round == 0 ? ETX_SET_BASE : best; set <= best;
           set = test_next_instruction_set(set)) {
        etx_parallel parallel = *all[threads];
        parallel.instruction_set = (etx_instruction_set)set;
        measure(&shapes[i], k, parallel, &results[k][i][set][threads]);
      }
    }
  }
  for (int k = 0; k < KINDS; ++k) {
    for (size_t i = 0; i < SHAPES; ++i) {
      for (int set = ETX_SET_BASE; set <= best;
           set = test_next_instruction_set(set)) {
        for (size_t t = 0; t < THREADS; ++t) {
          print(&shapes[i], (product_kind)k, (etx_instruction_set)set, t + 1,
                &results[k][i][set][t]);
        }
      }
    }
  }
  etx_thread_pool_close(&pool);
  return 0;
}
