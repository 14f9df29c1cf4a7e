// Operators of two tensors, or of a tensor and a number, element by element.
//
// Both operands are converted to the compute type (compute_type.h) of their
// common type, and one loop per operator and compute type combines them.
// Operands that have the compute type already and are contiguous, or are one
// value, are read in place; others pass through blocks on the stack. Every loop
// reads element i before it writes element i, so the result may overwrite an
// operand of its size.

#include <string.h>

#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/elementwise/binary_rows.h"
#include "runtime/kernels/elementwise/binary_small.h"
#include "runtime/kernels/elementwise/elementwise_complex.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"

// Positions of arguments that the operators share; the result is the last.
enum {
  SELF = ETX_ARG_add_self,
  OTHER = ETX_ARG_add_other,
  ALPHA = ETX_ARG_add_alpha,
  ROUNDING_MODE = ETX_ARG_div_mode_rounding_mode,
  EXPONENT = ETX_ARG_pow_tensor_tensor_exponent,
  OPERANDS = 2,
};
_Static_assert((int)ETX_ARG_add_scalar_alpha == ALPHA &&
                   (int)ETX_ARG_rsub_scalar_alpha == ALPHA &&
                   (int)ETX_ARG_div_scalar_mode_rounding_mode == ROUNDING_MODE,
               "operators differ in the positions of their arguments");

// The traits of binary_ops.def.
enum {
  KEEP_FIRST = 1,
  KEEP_SECOND = 2,
  KEEP_BOTH = KEEP_FIRST | KEEP_SECOND,
  KEEP_SECOND_IF_SCALED = 4,
  REFUSE_ZERO = 8,
};

static const uint8_t traits_of[ETX_BINARY_COUNT] = {
#define NUMERIC(name, traits, ...) traits,
#define FLOATING(name, traits, ...) traits,
#define FLOAT32(name, traits, ...) traits,
#define COMPARISON(name, ...) 0,
#define INTEGRAL(name, ...) 0,
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};

// What prepare stores in etx_call.prepared.
enum {
  FUNCTION,                        // etx_binary_function
  COMMON,                          // the operands' common type
  PARAMETER,                       // argument that holds the parameter, or -1
  CONSTANT,                        // the parameter if PARAMETER is -1
  COUNT = ETX_BINARY_SMALL_COUNT,  // elements of the result
  // Bit i: operand i is a tensor that has not exactly one element. Run
  // functions of etx_binary_small_rows_of do not need it; for them,
  // choose_small_rows puts the number of etx_binary_rows_word in its place.
  ARRAYS = ETX_BINARY_SMALL_ROWS,
};

static const etx_tensor* result_of(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

static bool is_array(const etx_call* call, size_t index) {
  return (call->prepared[ARRAYS] >> index & 1) != 0;
}

static etx_compute_type compute_type_of_call(const etx_call* call) {
  return etx_compute_type_of((etx_dtype)call->prepared[COMMON]);
}

static etx_status find_common(const etx_call* call, etx_dtype* out) {
  return etx_call_common_type(call, SELF, OPERANDS, out);
}

// True if argument `index` is a number or a tensor of one element.
static bool is_single(const etx_call* call, size_t index) {
  return !etx_call_is_tensor(call, index) ||
         etx_tensor_numel(etx_call_tensor(call, index)) == 1;
}

// True if the loop can read the operand in place: contiguous and of the
// result's sizes, or one value.
static bool is_direct(const etx_call* call, size_t index, etx_dtype wanted) {
  if (!etx_call_is_tensor(call, index)) return true;
  const etx_tensor* tensor = etx_call_tensor(call, index);
  const size_t numel = etx_tensor_numel(tensor);
  if (tensor->dtype != wanted) return false;
  if (numel == 1) return true;
  return numel == (size_t)call->prepared[COUNT] &&
         etx_tensor_is_contiguous(tensor);
}

static etx_status run(etx_call* call);
static etx_status run_direct(etx_call* call);
static etx_status run_narrow(etx_call* call);
static etx_status run_bits(etx_call* call);

// True if the argument is a tensor or an integer.
static bool is_integer(const etx_call* call, size_t index) {
  return etx_call_is_tensor(call, index) ||
         etx_call_value(call, index)->kind == ETX_VALUE_INT;
}

// The run function of a call whose result and operands can be written and read
// in place. Call it after prepare has filled `prepared`.
static etx_kernel_function choose_direct(const etx_call* call,
                                         etx_dtype native) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const bool is_small =
      native == ETX_DTYPE_FLOAT32 &&
      call->prepared[COUNT] <= ETX_BINARY_SMALL &&
      etx_call_is_tensor(call, SELF) && etx_call_is_tensor(call, OTHER) &&
      (call->prepared[ARRAYS] == 3 || call->prepared[COUNT] == 1);
  const bool is_one_integer = native == ETX_DTYPE_INT64 &&
                              call->prepared[COUNT] == 1 &&
                              is_integer(call, SELF) && is_integer(call, OTHER);
  const etx_kernel_function small = is_small ? etx_binary_small_of(function)
                                    : is_one_integer
                                        ? etx_binary_one_integer_of(function)
                                        : NULL;
  return small != NULL ? small : run_direct;
}

// How operand `k` is broadcast in an iteration over rows; false: in a way that
// etx_rows_kind does not have.
static bool find_rows_kind(const etx_strided_iterator* it, size_t k,
                           etx_rows_kind* out) {
  const ptrdiff_t step = it->steps[k][0] / it->bytes[k];
  if (it->stride[k] == 0) {
    *out = ETX_ROWS_COLUMN;
    return step == 1;
  }
  *out = step == 0 ? ETX_ROWS_SAME : ETX_ROWS_DENSE;
  return it->stride[k] == 1 && (step == 0 || step == (ptrdiff_t)it->count);
}

// The run function for a few float32 elements with operands that are broadcast
// rows or columns, or NULL.
static etx_kernel_function choose_small_rows(etx_call* call,
                                             const etx_tensor* to) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  bool is_float = to->dtype == ETX_DTYPE_FLOAT32;
  for (size_t i = SELF; i <= OTHER; ++i) {
    is_float = is_float && etx_call_is_tensor(call, i) &&
               etx_call_tensor(call, i)->dtype == ETX_DTYPE_FLOAT32;
  }
  if (!is_float || call->prepared[COUNT] > ETX_BINARY_SMALL_BROADCAST)
    return NULL;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, to->sizes, to->rank);
  etx_strided_iterator_add(&it, to);
  etx_strided_iterator_add(&it, etx_call_tensor(call, SELF));
  etx_strided_iterator_add(&it, etx_call_tensor(call, OTHER));
  if (!etx_strided_iterator_start(&it) || it.rank != 1) return NULL;
  etx_rows_kind kinds[3];
  for (size_t k = 0; k < 3; ++k) {
    if (!find_rows_kind(&it, k, &kinds[k])) return NULL;
  }
  const etx_kernel_function found =
      kinds[0] == ETX_ROWS_DENSE ? etx_binary_small_rows_of(function) : NULL;
  if (found != NULL) {
    call->prepared[ETX_BINARY_SMALL_ROWS] =
        etx_binary_rows_word(it.count, kinds[1], kinds[2]);
  }
  return found;
}

// True if result and operands have one narrow integer type with a loop of its
// own, and run_narrow can read and write them in place.
static bool is_narrow(const etx_call* call, size_t function, etx_dtype common) {
  const etx_tensor* to = result_of(call);
  return to->dtype == common && etx_tensor_is_contiguous(to) &&
         (traits_of[function] & REFUSE_ZERO) == 0 &&
         etx_binary_loop_of_narrow(function, common) != NULL &&
         etx_call_is_tensor(call, SELF) && etx_call_is_tensor(call, OTHER) &&
         is_direct(call, SELF, common) && is_direct(call, OTHER, common);
}

// True if the bits of a contiguous tensor of the result's type are combined
// with those of a number.
static bool is_bits_and_number(const etx_call* call, size_t function,
                               etx_dtype common) {
  const size_t index = call->prepared[ARRAYS] == 1 ? SELF : OTHER;
  const etx_tensor* to = result_of(call);
  return (function == ETX_BINARY_bitwise_and ||
          function == ETX_BINARY_bitwise_or ||
          function == ETX_BINARY_bitwise_xor) &&
         etx_call_is_tensor(call, index) &&
         !etx_call_is_tensor(call, 1 - index) && to->dtype == common &&
         etx_tensor_is_contiguous(to) && is_direct(call, index, common);
}

static etx_kernel_function choose(etx_call* call, bool is_direct_call) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_dtype native = etx_compute_type_dtype(etx_compute_type_of(common));
  if (is_bits_and_number(call, function, common)) return run_bits;
  if (is_direct_call) return choose_direct(call, native);
  if (is_narrow(call, function, common)) return run_narrow;
  const etx_kernel_function small = choose_small_rows(call, result_of(call));
  return small != NULL ? small : run;
}

// The part of prepare that depends on sizes.
static void prepare_sizes(etx_call* call) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_dtype native = etx_compute_type_dtype(etx_compute_type_of(common));
  const bool is_comparison =
      etx_binary_is_comparison((size_t)call->prepared[FUNCTION]);
  const etx_tensor* to = result_of(call);
  const etx_dtype stored = is_comparison ? ETX_DTYPE_BOOL : native;
  call->prepared[COUNT] = (int64_t)etx_tensor_numel(to);
  call->prepared[ARRAYS] =
      (is_single(call, SELF) ? 0 : 1) + (is_single(call, OTHER) ? 0 : 2);
  const bool direct =
      common == native && to->dtype == stored && etx_tensor_is_contiguous(to) &&
      is_direct(call, SELF, native) && is_direct(call, OTHER, native);
  call->run = choose(call, direct);
}

static etx_status prepare(etx_call* call, size_t function, etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const etx_compute_type compute = etx_compute_type_of(common);
  const bool is_comparison = etx_binary_is_comparison(function);
  if (etx_binary_loop_of(function, compute) == NULL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "type '%s' is given, expected integers or bool",
                           etx_dtype_name(common));
  }
  ETX_TRY(etx_call_check_result(call, out,
                                is_comparison ? ETX_DTYPE_BOOL : common));
  call->prepared[FUNCTION] = (int64_t)function;
  call->prepared[COMMON] = common;
  call->prepared[PARAMETER] = -1;
  call->prepared[CONSTANT] = 0;
  prepare_sizes(call);
  return ETX_OK;
}

// For bool, the bitwise operators are the logical ones.
static size_t function_of_bool(size_t function) {
  if (function == ETX_BINARY_bitwise_and) return ETX_BINARY_logical_and;
  if (function == ETX_BINARY_bitwise_or) return ETX_BINARY_logical_or;
  return function == ETX_BINARY_bitwise_xor ? ETX_BINARY_logical_xor : function;
}

static etx_status prepare_common(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) function = function_of_bool(function);
  return prepare(call, function, common);
}

static etx_scalar read_parameter(const etx_call* call) {
  const etx_compute_type compute = compute_type_of_call(call);
  const int64_t argument = call->prepared[PARAMETER];
  const int64_t constant = call->prepared[CONSTANT];
  if (argument >= 0) {
    return etx_scalar_read(etx_call_value(call, (size_t)argument),
                           etx_compute_type_dtype(compute));
  }
  etx_scalar number = {.i64 = constant};
  if (compute == ETX_COMPUTE_F32) number.f32 = (float)constant;
  return number;
}

// An operand of the present call: a tensor, or a number held in `value`.
typedef struct binary_operand {
  const void* data;
  etx_dtype dtype;
  etx_dtype as;  // the type that it is rounded to: common or compute type
  etx_scalar value;
} binary_operand;

// True if an operand keeps the compute type instead of being rounded to the
// common type float16 or bfloat16. PyTorch does not round an operand of one
// element if it is the second one of a product, a rounded quotient or a scaled
// sum (KEEP_SECOND, KEEP_SECOND_IF_SCALED), or either one of an operator with
// KEEP_BOTH, such as a division or a power.
static bool keeps_compute_type(const etx_call* call, size_t index) {
  const unsigned traits = traits_of[call->prepared[FUNCTION]];
  if (compute_type_of_call(call) != ETX_COMPUTE_F32) return false;
  if (is_array(call, index)) return false;
  if ((traits & KEEP_SECOND_IF_SCALED) != 0) {
    return index == OTHER && etx_call_real(call, ALPHA) != 1;
  }
  return (traits & (index == SELF ? KEEP_FIRST : KEEP_SECOND)) != 0;
}

static void read_operand(const etx_call* call, size_t index,
                         binary_operand* out) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_dtype native = etx_compute_type_dtype(compute_type_of_call(call));
  out->as = keeps_compute_type(call, index) ? native : common;
  if (etx_call_is_tensor(call, index)) {
    out->data = etx_call_tensor(call, index)->data;
    out->dtype = etx_call_tensor(call, index)->dtype;
    return;
  }
  out->value = etx_scalar_read(etx_call_value(call, index), out->as);
  out->data = &out->value;
  out->dtype = native;
}

static bool row_has_zero(const binary_operand* divisor,
                         const etx_strided_iterator* it) {
  bool found = false;
  for (size_t done = 0; done < it->count && !found; done += ETX_BLOCK) {
    const size_t left = it->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    const char* at =
        it->data[0] + it->stride[0] * it->bytes[0] * (ptrdiff_t)done;
    etx_block block;
    const int64_t* x = etx_operand_widen(&block, divisor->as, divisor->dtype,
                                         at, it->stride[0], count);
    const size_t read = it->stride[0] == 0 ? 1 : count;
    uint64_t all = UINT64_MAX;  // the high bit is lost at the first 0
    for (size_t i = 0; i < read; ++i) {
      const uint64_t each = (uint64_t)x[i];
      all &= each | (UINT64_C(0) - each);
    }
    found = all >> 63 == 0;
  }
  return found;
}

// PyTorch refuses to divide integers by zero. The test comes before the first
// element is written.
static etx_status check_divisor(const etx_call* call,
                                const binary_operand* divisor) {
  const unsigned traits = traits_of[call->prepared[FUNCTION]];
  bool found = false;
  if (compute_type_of_call(call) != ETX_COMPUTE_I64 ||
      etx_tensor_numel(result_of(call)) == 0 || (traits & REFUSE_ZERO) == 0) {
    return ETX_OK;
  }
  if (etx_call_is_tensor(call, OTHER)) {
    const etx_tensor* tensor = etx_call_tensor(call, OTHER);
    etx_strided_iterator it;
    etx_strided_iterator_init(&it, tensor->sizes, tensor->rank);
    etx_strided_iterator_add(&it, tensor);
    for (bool more = etx_strided_iterator_start(&it); more && !found;
         more = etx_strided_iterator_next(&it)) {
      found = row_has_zero(divisor, &it);
    }
  } else {
    found = divisor->value.i64 == 0;
  }
  return found ? etx_call_refuse(call, ETX_BAD_ARGUMENT, "a divisor is zero")
               : ETX_OK;
}

static etx_status run_direct(etx_call* call) {
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_compute_type compute = compute_type_of_call(call);
  binary_operand a, b;
  read_operand(call, SELF, &a);
  read_operand(call, OTHER, &b);
  ETX_TRY(check_divisor(call, &b));
  const etx_binary_job job = {
      .loop = etx_binary_loop_of(function, compute),
      .bytes = etx_loop_bytes_of(compute, etx_binary_is_comparison(function)),
      .out = result_of(call)->data,
      .a = a.data,
      .b = b.data,
      .count = (size_t)call->prepared[COUNT],
      .a_is_array = is_array(call, SELF),
      .b_is_array = is_array(call, OTHER),
      .parameter = read_parameter(call)};
  etx_binary_apply_all(call->parallel, &job);
  return ETX_OK;
}

static etx_status run_narrow(etx_call* call) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const size_t element_bytes = etx_dtype_bytes(common);
  const size_t function = (size_t)call->prepared[FUNCTION];
  const etx_binary_job job = {
      .loop = etx_binary_loop_of_narrow(function, common),
      .bytes = {element_bytes, element_bytes},
      .out = result_of(call)->data,
      .a = etx_call_tensor(call, SELF)->data,
      .b = etx_call_tensor(call, OTHER)->data,
      .count = (size_t)call->prepared[COUNT],
      .a_is_array = is_array(call, SELF),
      .b_is_array = is_array(call, OTHER),
      .parameter = read_parameter(call)};
  etx_binary_apply(&job);
  return ETX_OK;
}

// All three bitwise operators are (x & keep) ^ flip. The number is repeated in
// eight bytes, so one loop serves elements of any width.
static etx_status run_bits(etx_call* call) {
  const etx_tensor* out = result_of(call);
  const size_t function = (size_t)call->prepared[FUNCTION];
  const size_t index = call->prepared[ARRAYS] == 1 ? SELF : OTHER;
  const size_t width = etx_dtype_bytes(out->dtype);
  const size_t bytes = (size_t)call->prepared[COUNT] * width;
  const size_t words = bytes / 8, tail = bytes % 8;
  binary_operand number;
  read_operand(call, 1 - index, &number);
  const uint64_t element_mask = UINT64_MAX >> (64 - 8 * width);
  const uint64_t word =
      ((uint64_t)number.value.i64 & element_mask) * (UINT64_MAX / element_mask);
  const uint64_t keep = function == ETX_BINARY_bitwise_and  ? word
                        : function == ETX_BINARY_bitwise_or ? ~word
                                                            : UINT64_MAX;
  const uint64_t flip = function == ETX_BINARY_bitwise_and ? 0 : word;
  const etx_float_loops* loops = etx_float_loops_best();
  const char* from = etx_call_tensor(call, index)->data;
  char* to = out->data;
  loops->bits(to, from, words, keep, flip);
  if (tail > 0) {
    char last[8] = {0};
    memcpy(last, from + 8 * words, tail);
    loops->bits(last, last, 1, keep, flip);
    memcpy(to + 8 * words, last, tail);
  }
  return ETX_OK;
}

static void add_operand(etx_strided_iterator* it, const etx_call* call,
                        size_t index, const binary_operand* read) {
  static const ptrdiff_t zero_strides[ETX_MAX_RANK];
  if (etx_call_is_tensor(call, index)) {
    etx_strided_iterator_add(it, etx_call_tensor(call, index));
  } else {
    etx_strided_iterator_add_strided(
        it, read->data, etx_dtype_bytes(read->dtype), zero_strides);
  }
}

// Converts a number to the common type where that is narrower than int64, so
// that the narrow loops can read it.
static void narrow_number(const etx_call* call, binary_operand* number) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const bool is_number = number->data == &number->value;
  if (!is_number || number->dtype != ETX_DTYPE_INT64 || number->as != common) {
    return;
  }
  const int64_t value = number->value.i64;
  etx_convert_integer(common, value, &number->value);
  number->dtype = common;
}

static etx_status run(etx_call* call) {
  const etx_tensor* out = result_of(call);
  binary_operand x, y;
  read_operand(call, SELF, &x);
  read_operand(call, OTHER, &y);
  ETX_TRY(check_divisor(call, &y));
  narrow_number(call, &x);
  narrow_number(call, &y);
  etx_binary b = etx_binary_of((size_t)call->prepared[FUNCTION],
                               (etx_dtype)call->prepared[COMMON]);
  b.dtypes[0] = out->dtype;
  b.dtypes[1] = x.dtype;
  b.dtypes[2] = y.dtype;
  b.as[1] = x.as;
  b.as[2] = y.as;
  b.parameter = read_parameter(call);
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  add_operand(&it, call, SELF, &x);
  add_operand(&it, call, OTHER, &y);
  etx_binary_run(&b, &it);
  return ETX_OK;
}

// Preparations, which binary_ops.def names. prepare_common serves operators
// without checks of their own.

// Integers are computed, and give results, in float32.
static etx_status prepare_floating(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64)
    common = ETX_DTYPE_FLOAT32;
  return prepare(call, function, common);
}

// Halves are refused, as by PyTorch.
static etx_status prepare_wide(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (etx_dtype_is_half(common)) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT,
        "the operands have the type '%s', expected float32, float64 or "
        "integers",
        etx_dtype_name(common));
  }
  return prepare_floating(call, function);
}

// Quotients of halves by halves are rounded to the half type before they are
// rounded to an integer.
static etx_status prepare_rounded_division(etx_call* call, size_t function,
                                           etx_dtype common) {
  if (!etx_dtype_is_half(common) || is_single(call, OTHER)) {
    return prepare(call, function, common);
  }
  ETX_TRY(prepare(call,
                  function == ETX_BINARY_divide_trunc
                      ? ETX_BINARY_divide_trunc_of_halves
                      : ETX_BINARY_divide_floor_of_halves,
                  common));
  call->prepared[CONSTANT] = common;
  return ETX_OK;
}

// Operators that refuse bool.
static etx_status prepare_numeric(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "type 'bool' is given, expected numbers");
  }
  if (function == ETX_BINARY_divide_trunc ||
      function == ETX_BINARY_divide_floor) {
    return prepare_rounded_division(call, function, common);
  }
  return prepare(call, function, common);
}

// Sums whose second operand is multiplied by alpha; `plain` is for alpha 1.
static etx_status prepare_scaled(etx_call* call, size_t plain, size_t scaled) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  const etx_value* alpha = etx_call_value(call, ALPHA);
  if (alpha->kind == ETX_VALUE_DOUBLE &&
      etx_compute_type_of(common) == ETX_COMPUTE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'alpha' is a float, the operands have type '%s'",
                           etx_dtype_name(common));
  }
  if (alpha->kind == ETX_VALUE_BOOL && common != ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'alpha' is a bool, the operands have type '%s'",
                           etx_dtype_name(common));
  }
  ETX_TRY(etx_call_check_scalar(call, ALPHA, common));
  const bool is_one = etx_call_real(call, ALPHA) == 1;
  ETX_TRY(prepare(call, is_one ? plain : scaled, common));
  if (!is_one) call->prepared[PARAMETER] = ALPHA;
  return ETX_OK;
}

static etx_status refuse_bool(const etx_call* call) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "tensors of bool are subtracted");
}

// True if argument `index` is a bool or a tensor of bool.
static bool is_bool(const etx_call* call, size_t index) {
  return etx_call_is_tensor(call, index)
             ? etx_call_tensor(call, index)->dtype == ETX_DTYPE_BOOL
             : etx_call_value(call, index)->kind == ETX_VALUE_BOOL;
}

static etx_status prepare_add(etx_call* call, size_t function) {
  return prepare_scaled(call, function, ETX_BINARY_add_scaled);
}
static etx_status prepare_subtract(etx_call* call, size_t function) {
  if (is_bool(call, SELF) || is_bool(call, OTHER)) return refuse_bool(call);
  return prepare_scaled(call, function, ETX_BINARY_subtract_scaled);
}
static etx_status prepare_reversed(etx_call* call, size_t function) {
  if (is_bool(call, SELF) || is_bool(call, OTHER)) return refuse_bool(call);
  ETX_TRY(prepare_scaled(call, function, function));
  call->prepared[PARAMETER] = ALPHA;  // this loop always multiplies
  return ETX_OK;
}

// `rounding_mode` is None, 'trunc' or 'floor'.
static etx_status prepare_rounding_mode(etx_call* call, size_t function) {
  if (etx_call_is_none(call, ROUNDING_MODE))
    return prepare_floating(call, function);
  const etx_text mode = etx_call_value(call, ROUNDING_MODE)->as.string;
  if (etx_text_is(mode, "trunc")) {
    return prepare_numeric(call, ETX_BINARY_divide_trunc);
  }
  if (etx_text_is(mode, "floor")) {
    return prepare_numeric(call, ETX_BINARY_divide_floor);
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the rounding mode is '%t', expected 'trunc' or "
                         "'floor'",
                         mode);
}

// The parameter is the smallest number of bits that shifts everything out.
static etx_status prepare_shift(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "tensors of bool are shifted");
  }
  ETX_TRY(prepare(call, function, common));
  const int64_t bits = 8 * (int64_t)etx_dtype_bytes(common);
  const bool keeps_sign =
      function == ETX_BINARY_shift_right && common != ETX_DTYPE_UINT8;
  call->prepared[CONSTANT] = keeps_sign ? bits - 1 : bits;
  return ETX_OK;
}

// PyTorch computes powers with some exponents as roots or products, which give
// other results than pow for -0 and minus infinity.
static size_t function_of_exponent(const etx_value* exponent, size_t function) {
  if (exponent->kind == ETX_VALUE_TENSOR) return function;
  const double real = exponent->kind == ETX_VALUE_INT
                          ? (double)exponent->as.integer
                          : exponent->as.real;
  if (exponent->kind == ETX_VALUE_BOOL) return function;
  if (real == 0.5) return ETX_BINARY_root;
  if (real == -0.5) return ETX_BINARY_inverse_root;
  if (real == 2) return ETX_BINARY_squared;
  return real == 3 ? ETX_BINARY_cubed : function;
}

// PyTorch refuses a number as exponent of integers if it is negative.
static etx_status prepare_power(etx_call* call, size_t function) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  const etx_value* exponent = etx_call_value(call, EXPONENT);
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT, "bool is raised to a power");
  }
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      exponent->kind == ETX_VALUE_INT && exponent->as.integer < 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "integers are raised to the negative power %i",
                           exponent->as.integer);
  }
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      exponent->kind != ETX_VALUE_TENSOR) {
    ETX_TRY(etx_call_check_scalar(call, EXPONENT, common));
  }
  // Powers of integers wrap and have one loop for all exponents.
  if (etx_compute_type_of(common) != ETX_COMPUTE_I64)
    function = function_of_exponent(exponent, function);
  return prepare(call, function, common);
}

static etx_status prepare_real_or_complex(etx_call* call, size_t function,
                                          etx_status (*prepare_real)(etx_call*,
                                                                     size_t)) {
  if (ETX_HAS_COMPLEX && etx_complex_is_wanted(call)) {
    return etx_complex_binary_prepare(call, function);
  }
  // The function for halves depends on sizes, too.
  if (etx_call_is_again(call) &&
      !etx_dtype_is_half((etx_dtype)call->prepared[COMMON])) {
    prepare_sizes(call);
    return ETX_OK;
  }
  return prepare_real(call, function);
}

// The kernels of all rows.
#define KERNEL(kernel, prepare_function, name)                                 \
  etx_status kernel(etx_call* call) {                                          \
    return prepare_real_or_complex(call, ETX_BINARY_##name, prepare_function); \
  }
#define NUMERIC(name, traits, floating, integral, kernels) kernels
#define FLOATING(name, traits, floating, kernels) kernels
#define FLOAT32(name, traits, floating, kernels) kernels
#define COMPARISON(name, expression, kernels) kernels
#define INTEGRAL(name, integral, kernels) kernels
#include "runtime/kernels/simd/elementwise/binary_ops.def"
#undef KERNEL
