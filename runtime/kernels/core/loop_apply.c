#include "runtime/kernels/core/loop_apply.h"

#include <string.h>

#include "runtime/kernels/core/tile_bytes.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"

// Times that a single operand is repeated in a buffer. With 256, the calls of
// the loop took 5 % of the time of a loop that is bound by memory.
enum { REPEATED = ETX_TILE_ELEMENTS };

// From this many elements on, a loop of the widest instruction set is used to
// repeat one.
enum { LONG_REPEATED = 64 };

// Elements of an item of parallel work: a multiple of ETX_LANES, and whole
// pages for most types.
enum { ITEM = 4096 };

typedef union repeated_element {
  uint64_t eights[REPEATED];
  uint32_t fours[REPEATED];
  uint16_t twos[REPEATED];
  uint8_t ones[REPEATED];
} repeated_element;

typedef union lane_group {
  uint64_t aligned[ETX_LANES];
  char bytes[8 * ETX_LANES];
} lane_group;

etx_loop_bytes etx_loop_bytes_of(etx_compute_type compute, bool gives_bool) {
  const size_t in = compute == ETX_COMPUTE_F32 ? sizeof(float) : sizeof(double);
  const etx_loop_bytes bytes = {in, gives_bool ? 1 : in};
  return bytes;
}

// Copies `count` elements and repeats the last one up to ETX_LANES. A repeated
// element is a valid operand, for instance no divisor of 0.
static void fill_group(lane_group* to, const void* from, size_t count,
                       size_t bytes) {
  const char* const source = from;
  memcpy(to->bytes, source, count * bytes);
  etx_fill_elements(to->bytes + count * bytes, source + (count - 1) * bytes,
                    ETX_LANES - count, bytes);
}

// The tail of more than ETX_LANES elements is computed with the last ETX_LANES
// elements, before the others are written, since `out` may be `in`.
void etx_unary_apply(etx_unary_loop loop, etx_loop_bytes bytes, void* out,
                     const void* in, size_t count,
                     const etx_scalar parameters[ETX_UNARY_PARAMETERS]) {
  const size_t rest = count % ETX_LANES;
  lane_group from, to;
  if (rest == 0) {
    if (count > 0) loop(out, in, count, parameters);
  } else if (count > ETX_LANES) {
    const size_t last = count - ETX_LANES;
    loop(to.bytes, (const char*)in + last * bytes.in, ETX_LANES, parameters);
    loop(out, in, count - rest, parameters);
    memcpy((char*)out + last * bytes.out, to.bytes, ETX_LANES * bytes.out);
  } else {
    fill_group(&from, in, count, bytes.in);
    loop(to.bytes, from.bytes, ETX_LANES, parameters);
    memcpy(out, to.bytes, count * bytes.out);
  }
}

static void apply_arrays(const etx_binary_job* job, char* out, const char* a,
                         const char* b, size_t count) {
  const etx_loop_bytes bytes = job->bytes;
  const size_t tail = count % ETX_LANES;
  lane_group x, y, to;
  if (tail == 0) {
    if (count > 0) job->loop(out, a, b, count, job->parameter);
  } else if (count > ETX_LANES) {
    const size_t last = count - ETX_LANES;
    job->loop(to.bytes, a + last * bytes.in, b + last * bytes.in, ETX_LANES,
              job->parameter);
    job->loop(out, a, b, count - tail, job->parameter);
    memcpy(out + last * bytes.out, to.bytes, ETX_LANES * bytes.out);
  } else {
    fill_group(&x, a, count, bytes.in);
    fill_group(&y, b, count, bytes.in);
    job->loop(to.bytes, x.bytes, y.bytes, ETX_LANES, job->parameter);
    memcpy(out, to.bytes, count * bytes.out);
  }
}

void etx_fill_elements(void* to, const void* from, size_t count, size_t bytes) {
  if (bytes == 8) {
    uint64_t value, *const eights = to;
    memcpy(&value, from, sizeof(value));
    for (size_t i = 0; i < count; ++i) eights[i] = value;
  } else if (bytes == 4) {
    uint32_t value, *const fours = to;
    memcpy(&value, from, sizeof(value));
    if (count >= LONG_REPEATED) {
      etx_float_loops_best()->spread(to, value * UINT64_C(0x0000000100000001),
                                     count / 2);
      fours[count - 1] = value;  // for an odd count
      return;
    }
    for (size_t i = 0; i < count; ++i) fours[i] = value;
  } else if (bytes == 2) {
    uint16_t value, *const twos = to;
    memcpy(&value, from, sizeof(value));
    for (size_t i = 0; i < count; ++i) twos[i] = value;
  } else {
    memset(to, *(const uint8_t*)from, count);
  }
}

void etx_binary_apply(const etx_binary_job* job) {
  const etx_loop_bytes bytes = job->bytes;
  const size_t count = job->count;
  char* const out = job->out;
  const char *const a = job->a, *const b = job->b;
  if (count == 0) return;
  if (job->a_is_array && job->b_is_array) {
    apply_arrays(job, out, a, b, count);
    return;
  }
  const size_t repeated = count < REPEATED ? count : REPEATED;
  repeated_element x, y;
  if (!job->a_is_array) etx_fill_elements(&x, a, repeated, bytes.in);
  if (!job->b_is_array) etx_fill_elements(&y, b, repeated, bytes.in);
  for (size_t done = 0; done < count; done += REPEATED) {
    const size_t left = count - done;
    const size_t part = left < REPEATED ? left : REPEATED;
    const char* const from_a =
        job->a_is_array ? a + done * bytes.in : (const char*)&x;
    const char* const from_b =
        job->b_is_array ? b + done * bytes.in : (const char*)&y;
    apply_arrays(job, out + done * bytes.out, from_a, from_b, part);
  }
}

// False if the work is shorter than its distribution over threads.
static bool is_shared(const etx_parallel* parallel, size_t count) {
  return parallel->thread_count > 1 && count > ITEM;
}

static size_t end_of(size_t item, size_t count) {
  return item * ITEM < count ? item * ITEM : count;
}

static void run_unary(const void* context, size_t first, size_t end) {
  const etx_unary_job* j = context;
  const size_t at = first * ITEM;
  etx_unary_apply(j->loop, j->bytes, (char*)j->out + at * j->bytes.out,
                  (const char*)j->in + at * j->bytes.in,
                  end_of(end, j->count) - at, j->parameters);
}

void etx_unary_apply_all(const etx_parallel* parallel,
                         const etx_unary_job* job) {
  const size_t count = job->count;
  if (!is_shared(parallel, count)) {
    etx_unary_apply(job->loop, job->bytes, job->out, job->in, count,
                    job->parameters);
    return;
  }
  etx_parallel_for(parallel, (count + ITEM - 1) / ITEM, (double)count,
                   run_unary, job);
}

static void run_binary(const void* context, size_t first, size_t end) {
  const etx_binary_job* all = context;
  const size_t at = first * ITEM, in = at * all->bytes.in;
  etx_binary_job j = *all;
  j.out = (char*)all->out + at * all->bytes.out;
  if (j.a_is_array) j.a = (const char*)all->a + in;
  if (j.b_is_array) j.b = (const char*)all->b + in;
  j.count = end_of(end, all->count) - at;
  etx_binary_apply(&j);
}

void etx_binary_apply_all(const etx_parallel* parallel,
                          const etx_binary_job* job) {
  const size_t count = job->count;
  if (!is_shared(parallel, count)) {
    etx_binary_apply(job);
    return;
  }
  etx_parallel_for(parallel, (count + ITEM - 1) / ITEM, (double)count,
                   run_binary, job);
}
