// Operators of two tensors, or of a tensor and a number, element by element.
//
// Both operands are brought to their common type's wide type (convert.h) and
// meet in one loop per operator and wide type. Operands that have it already
// and lie densely, or are one value, are used where they are; the others pass
// through blocks on the stack. Every loop reads element i before it writes
// element i, so the result may overwrite an operand of its size.

#include <string.h>

#include "runtime/kernels/elementwise/binary_small.h"
#include "runtime/kernels/elementwise/binary_rows.h"
#include "runtime/kernels/elementwise/elementwise_complex.h"
#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/core/loop_apply.h"

// What prepare leaves in etx_call.prepared.
enum {
  ROW,                             // of the table
  COMMON,                          // the operands' common type
  PARAMETER,                       // argument that holds the parameter, or -1
  CONSTANT,                        // the parameter if PARAMETER is -1
  COUNT = ETX_BINARY_SMALL_COUNT,  // elements of the result
  MOVES,  // bits of the operands that have more than one element
};

// The type in which arguments 0 and 1 meet.
static etx_status find_common(const etx_call* call, etx_dtype* out) {
  return etx_call_common_type(call, 0, 2, out);
}

// True if argument `index` is a number or a tensor of one element.
static bool is_single(const etx_call* call, size_t index) {
  return !etx_call_is_tensor(call, index) ||
         etx_tensor_numel(etx_call_tensor(call, index)) == 1;
}

// True if the operand can be handed to the loop as it is: dense and of the
// result's sizes, or one value.
static bool is_direct(const etx_call* call, size_t index, size_t out,
                      etx_dtype wanted) {
  if (!etx_call_is_tensor(call, index)) return true;
  const etx_tensor* tensor = etx_call_tensor(call, index);
  const size_t numel = etx_tensor_numel(tensor);
  if (tensor->dtype != wanted) return false;
  if (numel == 1) return true;
  return numel == etx_tensor_numel(etx_call_tensor(call, out)) &&
         etx_tensor_is_contiguous(tensor);
}

static etx_status run(etx_call* call);
static etx_status run_direct(etx_call* call);
static etx_status run_narrow(etx_call* call);
static etx_status run_bits(etx_call* call);

// A call whose operands lie as its result does. `prepared` is filled.
static etx_kernel_function choose_direct(const etx_call* call,
                                         etx_dtype native) {
  const bool is_few =
      native == ETX_DTYPE_FLOAT32 &&
      call->prepared[COUNT] <= ETX_BINARY_SMALL &&
      etx_call_is_tensor(call, 0) && etx_call_is_tensor(call, 1) &&
      (call->prepared[MOVES] == 3 || call->prepared[COUNT] == 1);
  const etx_kernel_function few =
      is_few ? etx_binary_small_of((size_t)call->prepared[ROW]) : NULL;
  return few != NULL ? few : run_direct;
}

static bool divides(size_t row) {
  return row == ETX_BINARY_divide || row == ETX_BINARY_divide_trunc ||
         row == ETX_BINARY_divide_floor || row == ETX_BINARY_fmod ||
         row == ETX_BINARY_remainder;
}

// How operand `k` of a walk over rows lies; false: as etx_rows_kind knows not.
static bool find_rows_kind(const etx_strided_iterator* walk, size_t k,
                           etx_rows_kind* out) {
  const ptrdiff_t step = walk->steps[k][0] / walk->bytes[k];
  if (walk->stride[k] == 0) {
    *out = ETX_ROWS_COLUMN;
    return step == 1;
  }
  *out = step == 0 ? ETX_ROWS_SAME : ETX_ROWS_DENSE;
  return walk->stride[k] == 1 && (step == 0 || step == (ptrdiff_t)walk->count);
}

// What runs a few float32 elements whose operands are rows or columns beside
// the result, or NULL.
static etx_kernel_function choose_few_rows(etx_call* call,
                                           const etx_tensor* to) {
  const size_t row = (size_t)call->prepared[ROW];
  bool is_float = to->dtype == ETX_DTYPE_FLOAT32;
  for (size_t i = 0; i < 2; ++i) {
    is_float = is_float && etx_call_is_tensor(call, i) &&
               etx_call_tensor(call, i)->dtype == ETX_DTYPE_FLOAT32;
  }
  if (!is_float || call->prepared[COUNT] > ETX_BINARY_SMALL_BROADCAST)
    return NULL;
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, to->sizes, to->rank);
  etx_strided_iterator_add(&walk, to);
  etx_strided_iterator_add(&walk, etx_call_tensor(call, 0));
  etx_strided_iterator_add(&walk, etx_call_tensor(call, 1));
  if (!etx_strided_iterator_start(&walk) || walk.rank != 1) return NULL;
  etx_rows_kind kinds[3];
  for (size_t k = 0; k < 3; ++k) {
    if (!find_rows_kind(&walk, k, &kinds[k])) return NULL;
  }
  const etx_kernel_function found =
      kinds[0] == ETX_ROWS_DENSE ? etx_binary_small_rows_of(row) : NULL;
  if (found != NULL) {
    call->prepared[ETX_BINARY_SMALL_ROWS] =
        etx_binary_rows_word(walk.count, kinds[1], kinds[2]);
  }
  return found;
}

// True if everything has one narrow integer type with a loop of its own, and
// lies as run_narrow takes it.
static bool is_narrow(const etx_call* call, size_t row, etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const etx_tensor* to = etx_call_tensor(call, out);
  return to->dtype == common && etx_tensor_is_contiguous(to) && !divides(row) &&
         etx_binary_loop_of_narrow(row, common) != NULL &&
         etx_call_is_tensor(call, 0) && etx_call_is_tensor(call, 1) &&
         is_direct(call, 0, out, common) && is_direct(call, 1, out, common);
}

// True if a number meets the bits of a dense tensor of the result's type.
static bool is_bits_and_number(const etx_call* call, size_t row,
                               etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const size_t index = call->prepared[MOVES] == 1 ? 0 : 1;
  const etx_tensor* to = etx_call_tensor(call, out);
  return (row == ETX_BINARY_bitwise_and || row == ETX_BINARY_bitwise_or ||
          row == ETX_BINARY_bitwise_xor) &&
         etx_call_is_tensor(call, index) &&
         !etx_call_is_tensor(call, 1 - index) && to->dtype == common &&
         etx_tensor_is_contiguous(to) && is_direct(call, index, out, common);
}

static etx_kernel_function choose(etx_call* call, etx_dtype common,
                                  bool is_direct_call) {
  const etx_dtype native = etx_compute_type_dtype(etx_compute_type_of(common));
  if (is_bits_and_number(call, (size_t)call->prepared[ROW], common)) {
    return run_bits;
  }
  if (is_direct_call) return choose_direct(call, native);
  if (is_narrow(call, (size_t)call->prepared[ROW], common)) return run_narrow;
  const etx_tensor* to = etx_call_tensor(call, call->argument_count - 1);
  const etx_kernel_function few_rows = choose_few_rows(call, to);
  return few_rows != NULL ? few_rows : run;
}

static etx_status prepare(etx_call* call, size_t row, etx_dtype common) {
  const size_t out = call->argument_count - 1;
  const etx_compute_type wide = etx_compute_type_of(common);
  const etx_dtype result =
      etx_binary_is_comparison(row) ? ETX_DTYPE_BOOL : common;
  if (etx_binary_loop_of(row, wide) == NULL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "type '%s' is given, expected integers or bool",
                           etx_dtype_name(common));
  }
  ETX_TRY(etx_call_check_result(call, out, result));
  const etx_dtype native = etx_compute_type_dtype(wide);
  const etx_tensor* to = etx_call_tensor(call, out);
  const etx_dtype stored =
      etx_binary_is_comparison(row) ? ETX_DTYPE_BOOL : native;
  const bool direct =
      common == native && to->dtype == stored && etx_tensor_is_contiguous(to) &&
      is_direct(call, 0, out, native) && is_direct(call, 1, out, native);
  call->prepared[ROW] = (int64_t)row;
  call->prepared[COMMON] = common;
  call->prepared[PARAMETER] = -1;
  call->prepared[CONSTANT] = 0;
  call->prepared[COUNT] = (int64_t)etx_tensor_numel(to);
  call->prepared[MOVES] =
      (is_single(call, 0) ? 0 : 1) + (is_single(call, 1) ? 0 : 2);
  call->run = choose(call, common, direct);
  return ETX_OK;
}

// Bits of truth values are the truth values.
static size_t row_of_bools(size_t row) {
  if (row == ETX_BINARY_bitwise_and) return ETX_BINARY_logical_and;
  if (row == ETX_BINARY_bitwise_or) return ETX_BINARY_logical_or;
  return row == ETX_BINARY_bitwise_xor ? ETX_BINARY_logical_xor : row;
}

static etx_status prepare_common(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) row = row_of_bools(row);
  return prepare(call, row, common);
}

static etx_scalar read_parameter(const etx_call* call) {
  etx_scalar number = {0};
  const int64_t argument = call->prepared[PARAMETER];
  if (argument >= 0) {
    const etx_compute_type wide =
        etx_compute_type_of((etx_dtype)call->prepared[COMMON]);
    return etx_scalar_read(etx_call_value(call, (size_t)argument),
                           etx_compute_type_dtype(wide));
  }
  const int64_t constant = call->prepared[CONSTANT];
  number.i64 = constant;
  if (etx_compute_type_of((etx_dtype)call->prepared[COMMON]) ==
      ETX_COMPUTE_F32) {
    number.f32 = (float)constant;
  }
  return number;
}

// An operand of the present call: a tensor, or a number held in `value`.
typedef struct operand {
  const void* data;
  etx_dtype dtype;
  etx_dtype as;  // the type it is cut to: the common one or its wide type
  etx_scalar value;
} operand;

// PyTorch's products, quotients and scaled sums of halves take a second operand
// of one element as it is, unrounded; all else is brought to the common type.
// Operators that are functions of real numbers lose nothing of either operand.
static bool stays_wide(const etx_call* call, size_t index) {
  const size_t row = (size_t)call->prepared[ROW];
  const bool is_real_function = row == ETX_BINARY_divide ||
                                row == ETX_BINARY_power ||
                                row == ETX_BINARY_atan2;
  const bool keeps_second =
      row == ETX_BINARY_multiply || row == ETX_BINARY_divide_trunc ||
      row == ETX_BINARY_divide_floor || row == ETX_BINARY_add_scaled ||
      row == ETX_BINARY_subtract_scaled ||
      (row == ETX_BINARY_subtract_reversed && etx_call_real(call, 2) != 1);
  const etx_compute_type wide =
      etx_compute_type_of((etx_dtype)call->prepared[COMMON]);
  const bool moves = (call->prepared[MOVES] >> index & 1) != 0;
  if (wide != ETX_COMPUTE_F32 || moves) return false;
  return is_real_function || (keeps_second && index == 1);
}

static void read_operand(const etx_call* call, size_t index, operand* out) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_dtype wide = etx_compute_type_dtype(etx_compute_type_of(common));
  out->as = stays_wide(call, index) ? wide : common;
  if (etx_call_is_tensor(call, index)) {
    out->data = etx_call_tensor(call, index)->data;
    out->dtype = etx_call_tensor(call, index)->dtype;
    return;
  }
  out->value = etx_scalar_read(etx_call_value(call, index), out->as);
  out->data = &out->value;
  out->dtype = wide;
}

static bool row_has_zero(const operand* divisor,
                         const etx_strided_iterator* walk) {
  bool found = false;
  for (size_t done = 0; done < walk->count && !found; done += ETX_BLOCK) {
    const size_t left = walk->count - done;
    const size_t count = left < ETX_BLOCK ? left : ETX_BLOCK;
    const char* at =
        walk->data[0] + walk->stride[0] * walk->bytes[0] * (ptrdiff_t)done;
    etx_block block;
    const int64_t* x = etx_operand_widen(&block, divisor->as, divisor->dtype,
                                         at, walk->stride[0], count);
    const size_t read = walk->stride[0] == 0 ? 1 : count;
    uint64_t all = UINT64_MAX;  // the high bit goes with the first 0
    for (size_t i = 0; i < read; ++i) {
      const uint64_t each = (uint64_t)x[i];
      all &= each | (UINT64_C(0) - each);
    }
    found = all >> 63 == 0;
  }
  return found;
}

// PyTorch refuses to divide integers by zero; so nothing is written then.
static etx_status check_divisor(const etx_call* call, const operand* divisor) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  bool found = false;
  if (etx_compute_type_of(common) != ETX_COMPUTE_I64 ||
      etx_tensor_numel(out) == 0 || !divides((size_t)call->prepared[ROW])) {
    return ETX_OK;
  }
  if (etx_call_is_tensor(call, 1)) {
    const etx_tensor* tensor = etx_call_tensor(call, 1);
    etx_strided_iterator walk;
    etx_strided_iterator_init(&walk, tensor->sizes, tensor->rank);
    etx_strided_iterator_add(&walk, tensor);
    for (bool more = etx_strided_iterator_start(&walk); more && !found;
         more = etx_strided_iterator_next(&walk)) {
      found = row_has_zero(divisor, &walk);
    }
  } else {
    found = divisor->value.i64 == 0;
  }
  return found ? etx_call_refuse(call, ETX_BAD_ARGUMENT, "a divisor is zero")
               : ETX_OK;
}

static etx_status run_direct(etx_call* call) {
  const size_t row = (size_t)call->prepared[ROW];
  const etx_compute_type wide =
      etx_compute_type_of((etx_dtype)call->prepared[COMMON]);
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  operand a, b;
  read_operand(call, 0, &a);
  read_operand(call, 1, &b);
  ETX_TRY(check_divisor(call, &b));
  etx_binary_apply_all(call->parallel, etx_binary_loop_of(row, wide),
                       etx_loop_bytes_of(wide, etx_binary_is_comparison(row)),
                       out->data, a.data, b.data, (size_t)call->prepared[COUNT],
                       (call->prepared[MOVES] & 1) != 0,
                       (call->prepared[MOVES] & 2) != 0, read_parameter(call));
  return ETX_OK;
}

static etx_status run_narrow(etx_call* call) {
  const etx_dtype common = (etx_dtype)call->prepared[COMMON];
  const size_t own = etx_dtype_bytes(common);
  const etx_loop_bytes bytes = {own, own};
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  etx_binary_apply(
      etx_binary_loop_of_narrow((size_t)call->prepared[ROW], common), bytes,
      out->data, etx_call_tensor(call, 0)->data, etx_call_tensor(call, 1)->data,
      (size_t)call->prepared[COUNT], (call->prepared[MOVES] & 1) != 0,
      (call->prepared[MOVES] & 2) != 0, read_parameter(call));
  return ETX_OK;
}

// All three operators keep some bits and turn some; the number stands in eight
// bytes as often as elements do, whatever their width.
static etx_status run_bits(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  const size_t row = (size_t)call->prepared[ROW];
  const size_t index = call->prepared[MOVES] == 1 ? 0 : 1;
  const size_t width = etx_dtype_bytes(out->dtype);
  const size_t bytes = (size_t)call->prepared[COUNT] * width;
  const size_t whole = bytes / 8, rest = bytes % 8;
  operand number;
  read_operand(call, 1 - index, &number);
  const uint64_t one = UINT64_MAX >> (64 - 8 * width);  // bits of an element
  const uint64_t word = ((uint64_t)number.value.i64 & one) * (UINT64_MAX / one);
  const uint64_t keep = row == ETX_BINARY_bitwise_and  ? word
                        : row == ETX_BINARY_bitwise_or ? ~word
                                                       : UINT64_MAX;
  const uint64_t turn = row == ETX_BINARY_bitwise_and ? 0 : word;
  const etx_float_loops* loops = etx_float_loops_best();
  const char* from = etx_call_tensor(call, index)->data;
  char* to = out->data;
  loops->bits(to, from, whole, keep, turn);
  if (rest > 0) {
    char last[8] = {0};
    memcpy(last, from + 8 * whole, rest);
    loops->bits(last, last, 1, keep, turn);
    memcpy(to + 8 * whole, last, rest);
  }
  return ETX_OK;
}

static void add_operand(etx_strided_iterator* walk, const etx_call* call,
                        size_t index, const operand* read) {
  static const ptrdiff_t still[ETX_MAX_RANK];
  if (etx_call_is_tensor(call, index)) {
    etx_strided_iterator_add(walk, etx_call_tensor(call, index));
  } else {
    etx_strided_iterator_add_strided(walk, read->data,
                                     etx_dtype_bytes(read->dtype), still);
  }
}

// A number beside narrower integers becomes one of them.
static void narrow_number(const etx_call* call, operand* number) {
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
  const etx_tensor* out = etx_call_tensor(call, call->argument_count - 1);
  operand x, y;
  read_operand(call, 0, &x);
  read_operand(call, 1, &y);
  ETX_TRY(check_divisor(call, &y));
  narrow_number(call, &x);
  narrow_number(call, &y);
  etx_binary b = etx_binary_of((size_t)call->prepared[ROW],
                               (etx_dtype)call->prepared[COMMON]);
  b.dtypes[0] = out->dtype;
  b.dtypes[1] = x.dtype;
  b.dtypes[2] = y.dtype;
  b.as[1] = x.as;
  b.as[2] = y.as;
  b.parameter = read_parameter(call);
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, out->sizes, out->rank);
  etx_strided_iterator_add(&walk, out);
  add_operand(&walk, call, 0, &x);
  add_operand(&walk, call, 1, &y);
  etx_binary_run(&b, &walk);
  return ETX_OK;
}

// Kernels. Most meet in the common type; these do something of their own.

// Division gives floats.
static etx_status prepare_float(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64)
    common = ETX_DTYPE_FLOAT32;
  return prepare(call, row, common);
}

// Quotients of halves by halves are rounded before they are cut.
static etx_status prepare_quotient(etx_call* call, size_t row,
                                   etx_dtype common) {
  const bool is_half =
      common == ETX_DTYPE_FLOAT16 || common == ETX_DTYPE_BFLOAT16;
  if (!is_half || is_single(call, 1)) return prepare(call, row, common);
  ETX_TRY(prepare(call,
                  row == ETX_BINARY_divide_trunc
                      ? ETX_BINARY_divide_trunc_of_halves
                      : ETX_BINARY_divide_floor_of_halves,
                  common));
  call->prepared[CONSTANT] = common;
  return ETX_OK;
}

// Operators that do not know truth values.
static etx_status prepare_numbers(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are given, expected numbers");
  }
  if (row == ETX_BINARY_divide_trunc || row == ETX_BINARY_divide_floor) {
    return prepare_quotient(call, row, common);
  }
  return prepare(call, row, common);
}

// Sums with a factor, argument 2; the plain sum is a loop of its own.
static etx_status prepare_scaled(etx_call* call, size_t plain, size_t scaled) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  const etx_value* alpha = etx_call_value(call, 2);
  if (alpha->kind == ETX_VALUE_DOUBLE &&
      etx_compute_type_of(common) == ETX_COMPUTE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'alpha' is a float, the operands have type '%s'",
                           etx_dtype_name(common));
  }
  if (alpha->kind == ETX_VALUE_BOOL && common != ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'alpha' is a truth value, the operands have type "
                           "'%s'",
                           etx_dtype_name(common));
  }
  ETX_TRY(etx_call_check_scalar(call, 2, common));
  const bool is_one = etx_call_real(call, 2) == 1;
  ETX_TRY(prepare(call, is_one ? plain : scaled, common));
  if (!is_one) call->prepared[PARAMETER] = 2;
  return ETX_OK;
}

static etx_status refuse_bool(const etx_call* call) {
  return etx_call_refuse(call, ETX_BAD_ARGUMENT, "truth values are subtracted");
}

// True if argument `index` is a truth value or a tensor of them.
static bool is_truth(const etx_call* call, size_t index) {
  return etx_call_is_tensor(call, index)
             ? etx_call_tensor(call, index)->dtype == ETX_DTYPE_BOOL
             : etx_call_value(call, index)->kind == ETX_VALUE_BOOL;
}

static etx_status prepare_add(etx_call* call, size_t row) {
  return prepare_scaled(call, row, ETX_BINARY_add_scaled);
}
static etx_status prepare_subtract(etx_call* call, size_t row) {
  if (is_truth(call, 0) || is_truth(call, 1)) return refuse_bool(call);
  return prepare_scaled(call, row, ETX_BINARY_subtract_scaled);
}
static etx_status prepare_reversed(etx_call* call, size_t row) {
  if (is_truth(call, 0) || is_truth(call, 1)) return refuse_bool(call);
  ETX_TRY(prepare_scaled(call, row, row));
  call->prepared[PARAMETER] = 2;  // this loop always multiplies
  return ETX_OK;
}

// `rounding_mode` is argument 2: None, 'trunc' or 'floor'.
static etx_status prepare_mode(etx_call* call, size_t row) {
  if (etx_call_is_none(call, 2)) return prepare_float(call, row);
  const etx_text mode = etx_call_value(call, 2)->as.string;
  if (etx_text_is(mode, "trunc")) {
    return prepare_numbers(call, ETX_BINARY_divide_trunc);
  }
  if (etx_text_is(mode, "floor")) {
    return prepare_numbers(call, ETX_BINARY_divide_floor);
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the rounding mode is '%t', expected 'trunc' or "
                         "'floor'",
                         mode);
}

// The width of the common type is the parameter.
static etx_status prepare_shift(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT, "truth values are shifted");
  }
  ETX_TRY(prepare(call, row, common));
  const int64_t bits = 8 * (int64_t)etx_dtype_bytes(common);
  const bool keeps_sign =
      row == ETX_BINARY_shift_right && common != ETX_DTYPE_UINT8;
  call->prepared[CONSTANT] = keeps_sign ? bits - 1 : bits;
  return ETX_OK;
}

// PyTorch computes powers with some numbers in another way; for -0 and minus
// infinity the results differ.
static size_t row_of_power(const etx_value* exponent, size_t row) {
  if (exponent->kind == ETX_VALUE_TENSOR) return row;
  const double real = exponent->kind == ETX_VALUE_INT
                          ? (double)exponent->as.integer
                          : exponent->as.real;
  if (exponent->kind == ETX_VALUE_BOOL) return row;
  if (real == 0.5) return ETX_BINARY_root;
  if (real == -0.5) return ETX_BINARY_inverse_root;
  if (real == 2) return ETX_BINARY_squared;
  return real == 3 ? ETX_BINARY_cubed : row;
}

// PyTorch refuses a negative whole exponent that is a number.
static etx_status prepare_power(etx_call* call, size_t row) {
  etx_dtype common;
  ETX_TRY(find_common(call, &common));
  const etx_value* exponent = etx_call_value(call, 1);
  if (common == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are raised to a power");
  }
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      exponent->kind == ETX_VALUE_INT && exponent->as.integer < 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "integers are raised to the negative power %i",
                           exponent->as.integer);
  }
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64 &&
      exponent->kind != ETX_VALUE_TENSOR) {
    ETX_TRY(etx_call_check_scalar(call, 1, common));
  }
  // Whole powers of integers wrap; they have one loop.
  if (etx_compute_type_of(common) != ETX_COMPUTE_I64)
    row = row_of_power(exponent, row);
  return prepare(call, row, common);
}

static etx_status prepare_any(etx_call* call, size_t row,
                              etx_status (*how)(etx_call*, size_t)) {
  if (ETX_HAS_COMPLEX && etx_complex_is_wanted(call)) {
    return etx_complex_binary_prepare(call, row);
  }
  return how(call, row);
}

#define KERNEL(kernel, prepare, row)                     \
  etx_status kernel(etx_call* call) {                    \
    return prepare_any(call, ETX_BINARY_##row, prepare); \
  }
#include "runtime/kernels/elementwise/binary_kernels.def"
#undef KERNEL
