// Opening verifies the structure of the FlatBuffer, then the values. After that
// the accessors need no checks.

#include "format/bundle/bundle_file.h"

#include "format/base/arena.h"
#include "format/base/checked_math.h"
#include "format/base/size_limits.h"
#include "format/flatbuffers/fb_verifier.h"
#include "format/tensor/layout.h"

#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) table##_##field,
#define END(table)    \
  table##_FIELD_COUNT \
  }                   \
  ;
#include "format/bundle/bundle_schema.def"

#define FB_SCHEMA "format/bundle/bundle_schema.def"
#define FB_FIELD_COUNT(table) table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

static const etx_fb_schema schema = {FB_SCHEMA_DATA, {'B', 'P', '0', '8'}};

// The supported version, and the alignment of the program in the file.
enum { VERSION = 2, PROGRAM_ALIGNMENT = 16 };

bool etx_bundle_looks_like(etx_bytes file) {
  return file.size >= 8 && memcmp(file.data + 4, schema.identifier, 4) == 0;
}

static etx_fb_buffer buffer_of(const etx_bundle* bundle) {
  const etx_fb_buffer buffer = {bundle->file.data, (uint32_t)bundle->file.size};
  return buffer;
}

// Table `index` of the vector of tables in field `field` of the table at
// `parent`.
static uint32_t row_at(const etx_bundle* bundle, uint32_t parent,
                       uint32_t field, size_t index) {
  const etx_fb_buffer fb = buffer_of(bundle);
  return etx_fb_table_at(&fb, etx_fb_vector_in(&fb, parent, field),
                         (uint32_t)index);
}

static size_t row_count(const etx_bundle* bundle, uint32_t parent,
                        uint32_t field) {
  const etx_fb_buffer fb = buffer_of(bundle);
  return etx_fb_vector_in(&fb, parent, field).count;
}

static uint32_t suite_at(const etx_bundle* bundle, size_t suite) {
  return row_at(bundle, bundle->root, BundledProgram_method_test_suites, suite);
}

static uint32_t case_at(const etx_bundle* bundle, size_t suite, size_t index) {
  return row_at(bundle, suite_at(bundle, suite), MethodTestSuite_test_cases,
                index);
}

static etx_bundle_tensor read_tensor(const etx_fb_buffer* fb, uint32_t table) {
  const etx_fb_vector sizes = etx_fb_vector_in(fb, table, Tensor_sizes);
  const etx_fb_vector order = etx_fb_vector_in(fb, table, Tensor_dim_order);
  const etx_bundle_tensor tensor = {
      (etx_dtype)etx_fb_i8(fb, table, Tensor_scalar_type, 0),
      (uint8_t)sizes.count, etx_fb_elements(fb, sizes),
      // The exporter omits the default order.
      order.count == 0 ? NULL : etx_fb_elements(fb, order),
      etx_fb_bytes(fb, etx_fb_vector_in(fb, table, Tensor_data))};
  return tensor;
}

static etx_bundle_value read_value(const etx_bundle* bundle, uint32_t row) {
  const etx_fb_buffer fb = buffer_of(bundle);
  const uint32_t table = etx_fb_table(&fb, row, Value_val);
  etx_bundle_value value;
  memset(&value, 0, sizeof value);
  value.kind = (etx_bundle_kind)etx_fb_u8(&fb, row, Value_val_type, 0);
  switch (value.kind) {
    case ETX_BUNDLE_TENSOR:
      value.as.tensor = read_tensor(&fb, table);
      break;
    case ETX_BUNDLE_INT:
      value.as.integer = etx_fb_i64(&fb, table, Int_int_val, 0);
      break;
    case ETX_BUNDLE_BOOL:
      value.as.boolean = etx_fb_u8(&fb, table, Bool_bool_val, 0) != 0;
      break;
    case ETX_BUNDLE_DOUBLE:
      value.as.real = etx_fb_f64(&fb, table, Double_double_val, 0);
      break;
  }
  return value;
}

// Verifies what must hold before the tensor at `table` can be read.
static etx_status check_tensor_fields(const etx_fb_buffer* fb, uint32_t table,
                                      etx_diag* diag) {
  const uint32_t rank = etx_fb_vector_in(fb, table, Tensor_sizes).count;
  const uint32_t order = etx_fb_vector_in(fb, table, Tensor_dim_order).count;
  const int8_t dtype = etx_fb_i8(fb, table, Tensor_scalar_type, 0);
  if (rank > ETX_MAX_RANK || (order != rank && order != 0)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                            "a tensor has rank %u and a dim order of %u "
                            "entries, expected the same, and at most %u",
                            (uint64_t)rank, (uint64_t)order,
                            (uint64_t)ETX_MAX_RANK);
  }
  if (etx_dtype_is_valid(dtype)) return ETX_OK;
  return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                          "a tensor has the unknown scalar type %i",
                          (int64_t)dtype);
}

static etx_status check_tensor(const etx_bundle* bundle, uint32_t table,
                               etx_diag* diag) {
  const etx_fb_buffer fb = buffer_of(bundle);
  ETX_TRY(check_tensor_fields(&fb, table, diag));
  const etx_bundle_tensor tensor = read_tensor(&fb, table);
  const size_t item = etx_dtype_bytes(tensor.dtype);
  size_t numel = 0;
  size_t bytes = 0;
  if (tensor.dim_order != NULL &&
      !etx_layout_is_order(tensor.dim_order, tensor.rank)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                            "the dim order of a tensor is not a permutation");
  }
  if (!etx_layout_numel(tensor.sizes, tensor.rank, &numel) ||
      !etx_multiply_size(numel, item, &bytes) || bytes != tensor.data.size) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                            "a tensor has %z bytes of data, its sizes ask for "
                            "%z",
                            tensor.data.size, bytes);
  }
  if (etx_dtype_is_aligned(tensor.dtype, (uintptr_t)tensor.data.data)) {
    return ETX_OK;
  }
  return etx_diag_fail_at(diag, ETX_BAD_FILE, table,
                          "the data of a tensor is not aligned to its type");
}

static etx_status check_values(const etx_bundle* bundle, uint32_t parent,
                               uint32_t field, etx_diag* diag) {
  const etx_fb_buffer fb = buffer_of(bundle);
  const size_t count = row_count(bundle, parent, field);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = row_at(bundle, parent, field, i);
    const uint32_t table = etx_fb_table(&fb, row, Value_val);
    if (table == 0) {
      return etx_diag_fail_at(diag, ETX_BAD_FILE, row, "a value is empty");
    }
    if (etx_fb_u8(&fb, row, Value_val_type, 0) == ETX_BUNDLE_TENSOR) {
      ETX_TRY(check_tensor(bundle, table, diag));
    }
  }
  return ETX_OK;
}

static etx_status check_suites(const etx_bundle* bundle, etx_diag* diag) {
  const size_t suites = etx_bundle_suite_count(bundle);
  for (size_t i = 0; i < suites; ++i) {
    const size_t cases = etx_bundle_case_count(bundle, i);
    for (size_t k = 0; k < cases; ++k) {
      const uint32_t row = case_at(bundle, i, k);
      ETX_TRY(check_values(bundle, row, MethodTestCase_inputs, diag));
      ETX_TRY(check_values(bundle, row, MethodTestCase_expected_outputs, diag));
    }
  }
  return ETX_OK;
}

static etx_status open_file(etx_bundle* bundle, etx_bytes file,
                            etx_diag* diag) {
  etx_bundle opened = {file, 0};
  if ((uintptr_t)file.data % ETX_ARENA_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the file's bytes are not aligned to %u",
                         (uint64_t)ETX_ARENA_ALIGNMENT);
  }
  if (file.size > INT32_MAX) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "a bundle has %z bytes, at most %u are possible",
                         file.size, (uint64_t)INT32_MAX);
  }
  const etx_fb_buffer fb = buffer_of(&opened);
  ETX_TRY(etx_fb_verify(&fb, &schema, 0, diag));
  opened.root = etx_fb_root(&fb);
  const uint32_t version =
      etx_fb_u32(&fb, opened.root, BundledProgram_version, 0);
  if (version != VERSION) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the bundle has version %u, expected %u",
                         (uint64_t)version, (uint64_t)VERSION);
  }
  if ((uintptr_t)etx_bundle_program(&opened).data % PROGRAM_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the program lies at byte %z of the bundle, not a "
                         "multiple of %u",
                         (size_t)(etx_bundle_program(&opened).data - file.data),
                         (uint64_t)PROGRAM_ALIGNMENT);
  }
  ETX_TRY(check_suites(&opened, diag));
  *bundle = opened;
  return ETX_OK;
}

etx_status etx_bundle_open(etx_bundle* bundle, etx_bytes file, etx_diag* diag) {
  return etx_diag_seal(diag, open_file(bundle, file, diag));
}

etx_bytes etx_bundle_program(const etx_bundle* bundle) {
  const etx_fb_buffer fb = buffer_of(bundle);
  return etx_fb_bytes(
      &fb, etx_fb_vector_in(&fb, bundle->root, BundledProgram_program));
}

size_t etx_bundle_suite_count(const etx_bundle* bundle) {
  return row_count(bundle, bundle->root, BundledProgram_method_test_suites);
}

etx_text etx_bundle_suite_method(const etx_bundle* bundle, size_t suite) {
  const etx_fb_buffer fb = buffer_of(bundle);
  return etx_fb_string(&fb, suite_at(bundle, suite),
                       MethodTestSuite_method_name);
}

size_t etx_bundle_case_count(const etx_bundle* bundle, size_t suite) {
  return row_count(bundle, suite_at(bundle, suite), MethodTestSuite_test_cases);
}

size_t etx_bundle_input_count(const etx_bundle* bundle, size_t suite,
                              size_t index) {
  return row_count(bundle, case_at(bundle, suite, index),
                   MethodTestCase_inputs);
}

etx_bundle_value etx_bundle_input_at(const etx_bundle* bundle, size_t suite,
                                     size_t index, size_t input) {
  return read_value(bundle, row_at(bundle, case_at(bundle, suite, index),
                                   MethodTestCase_inputs, input));
}

size_t etx_bundle_output_count(const etx_bundle* bundle, size_t suite,
                               size_t index) {
  return row_count(bundle, case_at(bundle, suite, index),
                   MethodTestCase_expected_outputs);
}

etx_bundle_value etx_bundle_output_at(const etx_bundle* bundle, size_t suite,
                                      size_t index, size_t output) {
  return read_value(bundle, row_at(bundle, case_at(bundle, suite, index),
                                   MethodTestCase_expected_outputs, output));
}
