#include "runtime/kernels/core/loop_apply.h"

#include <string.h>

#include "runtime/kernels/simd/elementwise/float_loops.h"

// Elements that a single one is spread over: at half as many the calls took a
// twentieth of what memory takes.
enum { SPREAD = 512 };

// From here on it is worth asking for the widest registers.
enum { LONG_SPREAD = 64 };

// Elements of an item: whole groups, and whole pages of most types.
enum { ITEM = 4096 };

typedef union spread_element {
  uint64_t eights[SPREAD];
  uint32_t fours[SPREAD];
  uint16_t twos[SPREAD];
  uint8_t ones[SPREAD];
} spread_element;

typedef union group {
  uint64_t aligned[ETX_LANES];
  char bytes[8 * ETX_LANES];
} group;

etx_loop_bytes etx_loop_bytes_of(etx_compute_type wide, bool gives_bool) {
  const size_t in = wide == ETX_COMPUTE_F32 ? sizeof(float) : sizeof(double);
  const etx_loop_bytes bytes = {in, gives_bool ? 1 : in};
  return bytes;
}

// Less elements than a group has, and the last of them again: a divisor that is
// added this way is none that was not there.
static void fill_group(group* to, const void* from, size_t count,
                       size_t bytes) {
  const char* const source = from;
  memcpy(to->bytes, source, count * bytes);
  etx_fill_elements(to->bytes + count * bytes, source + (count - 1) * bytes,
                    ETX_LANES - count, bytes);
}

// Of more elements than a group, those left over are done with the last whole
// group of all: before the others, since `out` may be `in`.
void etx_unary_apply(etx_unary_loop loop, etx_loop_bytes bytes, void* out,
                     const void* in, size_t count,
                     const etx_scalar parameters[ETX_UNARY_PARAMETERS]) {
  const size_t rest = count % ETX_LANES;
  group from, to;
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

static void apply_moving(etx_binary_loop loop, etx_loop_bytes bytes, char* out,
                         const char* a, const char* b, size_t count,
                         etx_scalar parameter) {
  const size_t rest = count % ETX_LANES;
  group x, y, to;
  if (rest == 0) {
    if (count > 0) loop(out, a, b, count, parameter);
  } else if (count > ETX_LANES) {
    const size_t last = count - ETX_LANES;
    loop(to.bytes, a + last * bytes.in, b + last * bytes.in, ETX_LANES,
         parameter);
    loop(out, a, b, count - rest, parameter);
    memcpy(out + last * bytes.out, to.bytes, ETX_LANES * bytes.out);
  } else {
    fill_group(&x, a, count, bytes.in);
    fill_group(&y, b, count, bytes.in);
    loop(to.bytes, x.bytes, y.bytes, ETX_LANES, parameter);
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
    if (count >= LONG_SPREAD) {
      etx_float_loops_best()->spread(to, value * UINT64_C(0x0000000100000001),
                                     count / 2);
      fours[count - 1] = value;  // an odd one
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

void etx_binary_apply(etx_binary_loop loop, etx_loop_bytes bytes, void* out,
                      const void* a, const void* b, size_t count, bool a_moves,
                      bool b_moves, etx_scalar parameter) {
  if (count == 0) return;
  if (a_moves && b_moves) {
    apply_moving(loop, bytes, out, a, b, count, parameter);
    return;
  }
  const size_t most = count < SPREAD ? count : SPREAD;
  spread_element x, y;
  if (!a_moves) etx_fill_elements(&x, a, most, bytes.in);
  if (!b_moves) etx_fill_elements(&y, b, most, bytes.in);
  for (size_t done = 0; done < count; done += SPREAD) {
    const size_t left = count - done;
    const size_t part = left < SPREAD ? left : SPREAD;
    const char* const from_a =
        a_moves ? (const char*)a + done * bytes.in : (const char*)&x;
    const char* const from_b =
        b_moves ? (const char*)b + done * bytes.in : (const char*)&y;
    apply_moving(loop, bytes, (char*)out + done * bytes.out, from_a, from_b,
                 part, parameter);
  }
}

// False for what is over before a job were described.
static bool is_shared(const etx_parallel* parallel, size_t count) {
  return parallel->thread_count > 1 && count > ITEM;
}

typedef struct unary_job {
  etx_unary_loop loop;
  etx_loop_bytes bytes;
  char* out;
  const char* in;
  size_t count;
  const etx_scalar* parameters;
} unary_job;

static size_t end_of(size_t item, size_t count) {
  return item * ITEM < count ? item * ITEM : count;
}

static void run_unary(const void* context, size_t first, size_t end) {
  const unary_job* j = context;
  const size_t at = first * ITEM;
  etx_unary_apply(j->loop, j->bytes, j->out + at * j->bytes.out,
                  j->in + at * j->bytes.in, end_of(end, j->count) - at,
                  j->parameters);
}

void etx_unary_apply_all(const etx_parallel* parallel, etx_unary_loop loop,
                         etx_loop_bytes bytes, void* out, const void* in,
                         size_t count,
                         const etx_scalar parameters[ETX_UNARY_PARAMETERS]) {
  if (!is_shared(parallel, count)) {
    etx_unary_apply(loop, bytes, out, in, count, parameters);
    return;
  }
  const unary_job j = {loop, bytes, out, in, count, parameters};
  etx_parallel_for(parallel, (count + ITEM - 1) / ITEM, (double)count,
                   run_unary, &j);
}

typedef struct binary_job {
  etx_binary_loop loop;
  etx_loop_bytes bytes;
  char* out;
  const char *a, *b;
  size_t count;
  bool a_moves, b_moves;
  etx_scalar parameter;
} binary_job;

static void run_binary(const void* context, size_t first, size_t end) {
  const binary_job* j = context;
  const size_t at = first * ITEM, in = at * j->bytes.in;
  etx_binary_apply(j->loop, j->bytes, j->out + at * j->bytes.out,
                   j->a_moves ? j->a + in : j->a, j->b_moves ? j->b + in : j->b,
                   end_of(end, j->count) - at, j->a_moves, j->b_moves,
                   j->parameter);
}

void etx_binary_apply_all(const etx_parallel* parallel, etx_binary_loop loop,
                          etx_loop_bytes bytes, void* out, const void* a,
                          const void* b, size_t count, bool a_moves,
                          bool b_moves, etx_scalar parameter) {
  if (!is_shared(parallel, count)) {
    etx_binary_apply(loop, bytes, out, a, b, count, a_moves, b_moves,
                     parameter);
    return;
  }
  const binary_job j = {loop,  bytes,   out,     a,        b,
                        count, a_moves, b_moves, parameter};
  etx_parallel_for(parallel, (count + ITEM - 1) / ITEM, (double)count,
                   run_binary, &j);
}
