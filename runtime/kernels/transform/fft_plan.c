// Stockham's algorithm: a pass for each factor of the length, from one buffer
// to the other. Results are in order without a permutation. With `stride` the
// product of the factors of earlier passes and n that of the others, a pass of
// factor r computes for every p < n/r and q < stride
//
//   a[k] = from[q + stride (p + k n/r)]                       k < r
//   to[q + stride (r p + j)] = e^(-2 pi i j p / n) sum over k of
//                              a[k] e^(-2 pi i j k / r)       j < r
//
// A length with a prime factor above LARGEST_FACTOR is transformed by a
// convolution with a chirp (Bluestein), whose length is a power of two:
//
//   j k = (j^2 + k^2 - (k - j)^2) / 2

#include "runtime/kernels/transform/fft_plan.h"

enum { LARGEST_FACTOR = 31 };

// Sine and cosine of pi/4 x for x in 0..1: Taylor series, 1e-18.
static etx_complex eighth_turn(double x) {
  static const double cosines[] = {1.0,
                                   -0.30842513753404244,
                                   0.015854344243815502,
                                   -0.00032599188692739,
                                   3.59086044859151e-06,
                                   -2.4611369504942e-08,
                                   1.1501159127974052e-10,
                                   -3.8980731712596753e-13,
                                   1.001886461636272e-15};
  static const double sines[] = {
      0.7853981633974483,     -0.08074551218828079,    0.0024903945701927202,
      -3.657620418217725e-05, 3.1336168903781217e-07,  -1.757247673443401e-09,
      6.948453273886629e-12,  -2.0410263396641442e-14, 4.628704628834683e-17};
  const double z = x * x;
  double c = 0, s = 0;
  for (size_t i = 9; i-- > 0;) {
    c = c * z + cosines[i];
    s = s * z + sines[i];
  }
  const etx_complex turned = {c, s * x};
  return turned;
}

// By symmetry, all angles are reduced to less than an eighth of a turn. The
// reduction is exact, because it is done in integers.
static etx_complex root_at(size_t t, size_t n) {
  const uint64_t eighths = (uint64_t)t * 8;
  const uint64_t octant = eighths / n;
  const uint64_t rest = eighths % n;
  const bool falls = (octant & 1) != 0;  // counted back from the next axis
  const etx_complex near =
      eighth_turn((double)(falls ? n - rest : rest) / (double)n);
  // Octants 1, 2, 5 and 6 are near the imaginary axis.
  const bool swaps = ((octant + 1) & 2) != 0;
  const double x = swaps ? near.im : near.re;
  const double y = swaps ? near.re : near.im;
  const bool is_left = octant >= 2 && octant < 6;
  const etx_complex root = {is_left ? -x : x, octant < 4 ? -y : y};
  return root;
}

// False if a prime factor is too large.
static bool factorize(size_t n, etx_fft_factors* out) {
  out->count = 0;
  for (size_t f = 4; n > 1 && f <= LARGEST_FACTOR;) {
    if (n % f == 0) {
      out->factors[out->count++] = (uint8_t)f;
      n /= f;
    } else {
      // 4, 2, 3, 5, 7, ...
      f = f == 4 ? 2 : (f == 2 ? 3 : f + 2);
    }
  }
  return n == 1;
}

// A power of two that holds a convolution of two lines of n: at least 2n - 1.
static size_t convolution_length(size_t n) {
  size_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  return length;
}

// Elements of all tables and buffers together.
static size_t direct_elements(size_t n) { return 3 * n; }
static size_t convolution_elements(size_t n, size_t length) {
  return 4 * length + n;
}

static size_t bytes_of(size_t elements) {
  return elements * sizeof(etx_complex);
}

// Longer than lines of tensors, and small enough to exclude overflow below.
static bool is_too_long(size_t n) {
  return n > SIZE_MAX / (16 * sizeof(etx_complex));
}

size_t etx_fft_plan_bytes(size_t n) {
  etx_fft_factors factors;
  if (is_too_long(n)) return SIZE_MAX;
  if (factorize(n, &factors)) return bytes_of(direct_elements(n));
  return bytes_of(convolution_elements(n, convolution_length(n)));
}

// Shorter lines never need a convolution.
size_t etx_fft_plan_bytes_up_to(size_t n) {
  if (is_too_long(n)) return SIZE_MAX;
  if (n <= LARGEST_FACTOR) return bytes_of(direct_elements(n));
  return bytes_of(convolution_elements(n, convolution_length(n)));
}

// Roots of unity as products, root[t] = root[t - t % step] root[t % step], so
// that few are computed by series.
void etx_fft_roots(etx_complex* roots, size_t count, size_t n) {
  size_t step = 1;
  while (step * step < count) ++step;
  for (size_t t = 0; t < count; ++t) {
    if (t < step || t % step == 0) {
      roots[t] = root_at(t, n);
    } else {
      roots[t] = etx_complex_multiply(roots[t - t % step], roots[t % step]);
    }
  }
}

// e^(-pi i j^2 / n). j^2 modulo 2n grows by 2j + 1.
static void make_chirp(etx_complex* chirp, size_t n) {
  size_t square = 0;
  for (size_t j = 0; j < n; ++j) {
    chirp[j] = root_at(square, 2 * n);
    square += 2 * j + 1;
    while (square >= 2 * n) square -= 2 * n;
  }
}

static void transform(etx_fft_plan* plan);

// The other operand of the convolution, transformed and divided by the length.
static void make_kernel(etx_fft_plan* plan, etx_complex* kernel) {
  etx_complex* line = plan->line;
  const double share = 1.0 / (double)plan->length;
  for (size_t j = 0; j < plan->length; ++j) {
    const size_t back = plan->length - j;
    const bool is_in = j < plan->n || back < plan->n;
    const size_t at = j < plan->n ? j : back;
    line[j] =
        is_in ? etx_complex_conjugate(plan->chirp[at]) : (etx_complex){0, 0};
  }
  transform(plan);
  for (size_t j = 0; j < plan->length; ++j) {
    kernel[j].re = plan->line[j].re * share;
    kernel[j].im = plan->line[j].im * share;
  }
}

void etx_fft_plan_init(etx_fft_plan* plan, size_t n, void* memory) {
  etx_complex* rest = memory;
  const bool is_direct = factorize(n, &plan->factors);
  plan->n = n;
  plan->length = is_direct ? n : convolution_length(n);
  plan->line = rest;
  plan->spare = rest += plan->length;
  etx_complex* roots = rest += plan->length;
  etx_fft_roots(roots, plan->length, plan->length);
  plan->roots = roots;
  plan->chirp = plan->kernel = NULL;
  if (is_direct) return;
  (void)factorize(plan->length, &plan->factors);
  etx_complex* kernel = rest += plan->length;
  etx_complex* chirp = rest + plan->length;
  make_chirp(chirp, n);
  plan->chirp = chirp;
  make_kernel(plan, kernel);
  plan->kernel = kernel;
}

static inline etx_complex add(etx_complex a, etx_complex b) {
  const etx_complex sum = {a.re + b.re, a.im + b.im};
  return sum;
}
static inline etx_complex subtract(etx_complex a, etx_complex b) {
  const etx_complex difference = {a.re - b.re, a.im - b.im};
  return difference;
}
static inline etx_complex times_minus_i(etx_complex a) {
  const etx_complex turned = {a.im, -a.re};
  return turned;
}

// One pass, as described above. `part` is n/r times the stride.
typedef struct fft_pass {
  const etx_complex* from;
  etx_complex* to;
  const etx_complex* roots;
  size_t stride;
  size_t part;
} fft_pass;

static void pass_of_two(const fft_pass* s) {
  for (size_t p = 0; p < s->part; p += s->stride) {
    const etx_complex w = s->roots[p];
    const etx_complex* a = s->from + p;
    const etx_complex* b = a + s->part;
    etx_complex* to = s->to + 2 * p;
    for (size_t q = 0; q < s->stride; ++q) {
      to[q] = add(a[q], b[q]);
      to[q + s->stride] = etx_complex_multiply(subtract(a[q], b[q]), w);
    }
  }
}

static void pass_of_four(const fft_pass* s) {
  for (size_t p = 0; p < s->part; p += s->stride) {
    const etx_complex w = s->roots[p], w2 = s->roots[2 * p];
    const etx_complex w3 = s->roots[3 * p];
    const etx_complex* a = s->from + p;
    const etx_complex* b = a + s->part;
    const etx_complex* c = b + s->part;
    const etx_complex* d = c + s->part;
    etx_complex* to = s->to + 4 * p;
    for (size_t q = 0; q < s->stride; ++q) {
      const etx_complex ac = add(a[q], c[q]), ac_off = subtract(a[q], c[q]);
      const etx_complex bd = add(b[q], d[q]);
      const etx_complex bd_off = times_minus_i(subtract(b[q], d[q]));
      to[q] = add(ac, bd);
      to[q + s->stride] = etx_complex_multiply(add(ac_off, bd_off), w);
      to[q + 2 * s->stride] = etx_complex_multiply(subtract(ac, bd), w2);
      to[q + 3 * s->stride] =
          etx_complex_multiply(subtract(ac_off, bd_off), w3);
    }
  }
}

// Odd factors: the roots of elements k and r - k are conjugates, so half of the
// products suffice.
static void pass_of_odd(const fft_pass* s, size_t r) {
  const size_t half = r / 2;
  const size_t turn = s->part;  // roots[turn] is e^(-2 pi i / r)
  for (size_t p = 0; p < s->part; p += s->stride) {
    for (size_t q = 0; q < s->stride; ++q) {
      const etx_complex* from = s->from + p + q;
      etx_complex* to = s->to + r * p + q;
      etx_complex sums[LARGEST_FACTOR / 2], offs[LARGEST_FACTOR / 2];
      etx_complex total = from[0];
      for (size_t k = 1; k <= half; ++k) {
        const etx_complex x = from[k * s->part], y = from[(r - k) * s->part];
        sums[k - 1] = add(x, y);
        offs[k - 1] = subtract(x, y);
        total = add(total, sums[k - 1]);
      }
      to[0] = total;
      for (size_t j = 1; j <= half; ++j) {
        etx_complex even = from[0], odd = {0, 0};
        for (size_t k = 1, at = j; k <= half; ++k, at += j) {
          if (at >= r) at -= r;
          const etx_complex w = s->roots[at * turn];
          even.re += sums[k - 1].re * w.re;
          even.im += sums[k - 1].im * w.re;
          odd.re -= offs[k - 1].im * w.im;
          odd.im += offs[k - 1].re * w.im;
        }
        to[j * s->stride] =
            etx_complex_multiply(add(even, odd), s->roots[j * p]);
        to[(r - j) * s->stride] =
            etx_complex_multiply(subtract(even, odd), s->roots[(r - j) * p]);
      }
    }
  }
}

// Transforms the first `length` elements of `line`; `line` and `spare` may be
// exchanged afterwards.
static void transform(etx_fft_plan* plan) {
  size_t stride = 1;
  for (size_t i = 0; i < plan->factors.count; ++i) {
    const size_t r = plan->factors.factors[i];
    const fft_pass s = {plan->line, plan->spare, plan->roots, stride,
                        plan->length / r};
    if (r == 2) pass_of_two(&s);
    if (r == 4) pass_of_four(&s);
    if (r != 2 && r != 4) pass_of_odd(&s, r);
    etx_complex* const swapped = plan->line;
    plan->line = plan->spare;
    plan->spare = swapped;
    stride *= r;
  }
}

void etx_fft_plan_run(etx_fft_plan* plan) {
  if (plan->chirp == NULL) {
    transform(plan);
    return;
  }
  const etx_complex zero = {0, 0};
  for (size_t j = 0; j < plan->length; ++j) {
    plan->line[j] = j < plan->n
                        ? etx_complex_multiply(plan->line[j], plan->chirp[j])
                        : zero;
  }
  transform(plan);
  // The inverse transform is the transform between two conjugations.
  for (size_t j = 0; j < plan->length; ++j) {
    plan->line[j] = etx_complex_conjugate(
        etx_complex_multiply(plan->line[j], plan->kernel[j]));
  }
  transform(plan);
  for (size_t j = 0; j < plan->n; ++j) {
    plan->line[j] = etx_complex_multiply(etx_complex_conjugate(plan->line[j]),
                                         plan->chirp[j]);
  }
}
