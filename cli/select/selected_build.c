#include "cli/select/selected_build.h"

#include "cli/select/selection_yaml.h"
#include "exporter/host/sha256.h"
#include "runtime/built_types.h"

// True if the row is the operator `name`, or has its name with another overload
// and all of these are wanted.
static bool is_wanted(const etx_selected_operator* row, const etx_op* op) {
  const etx_op_name exact = etx_op_name_of(row->name, (etx_text){NULL, 0});
  if (etx_op_is_named(op, &exact)) return true;
  return row->has_all_overloads && etx_text_is(exact.name, op->name);
}

// Marks the operators of a row; false if there is none.
static bool mark(const etx_selected_operator* row, bool* wanted) {
  bool is_known = false;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    if (!is_wanted(row, etx_op_at((etx_op_id)i))) continue;
    wanted[i] = true;
    is_known = true;
  }
  return is_known;
}

// Types that the row's calls may have: all if it does not say.
static uint32_t dtypes_of(const etx_selected_operator* row) {
  if (!row->has_kernels) return UINT32_MAX;
  uint32_t dtypes = 0;
  for (size_t i = 0; i < row->kernels.count; ++i) {
    uint32_t types = 0;
    (void)etx_kernel_key_dtypes(row->kernels.items[i], &types);
    dtypes |= types;
  }
  return dtypes;
}

static etx_status mark_all(const etx_selection* selection,
                           const etx_unknown_operators* unknown, bool* wanted,
                           uint32_t* dtypes, etx_diag* diag) {
  size_t unknown_count = 0;
  for (size_t i = 0; i < selection->count; ++i) {
    const etx_selected_operator* const row = &selection->operators[i];
    *dtypes |= dtypes_of(row);
    if (mark(row, wanted)) continue;
    unknown->report(unknown->context, row);
    ++unknown_count;
  }
  if (selection->has_all_operators) {
    memset(wanted, true, ETX_OP_COUNT * sizeof *wanted);
    *dtypes = UINT32_MAX;
  }
  if (unknown_count == 0) return ETX_OK;
  return etx_diag_fail(diag, ETX_MISSING_OPERATOR,
                       "%z of %z operators have no kernel in this version of "
                       "etx, so nothing was written",
                       unknown_count, selection->count);
}

static void add_number(etx_sha256* hash, uint32_t number) {
  const uint8_t bytes[4] = {(uint8_t)number, (uint8_t)(number >> 8),
                            (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
  etx_sha256_add(hash, bytes, sizeof bytes);
}

static void find_fingerprint(etx_selected_build* build) {
  static const char digits[] = "0123456789abcdef";
  uint8_t digest[ETX_SHA256_BYTES];
  etx_sha256 hash;
  etx_sha256_init(&hash);
  for (size_t i = 0; i < build->count; ++i) {
    const etx_op* const op = build->ops[i];
    etx_sha256_add(&hash, op->name, strlen(op->name) + 1);
    etx_sha256_add(&hash, op->overload, strlen(op->overload) + 1);
  }
  add_number(&hash, build->dtypes);
  add_number(&hash, build->widest_set);
  add_number(&hash, (uint32_t)build->has_messages |
                        (uint32_t)build->has_verifier << 1 |
                        (uint32_t)build->is_dynamic << 2 |
                        (uint32_t)build->has_data_files << 3);
  etx_sha256_finish(&hash, digest);
  for (size_t i = 0; i < sizeof build->fingerprint - 1; ++i) {
    build->fingerprint[i] = digits[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
  }
  build->fingerprint[sizeof build->fingerprint - 1] = '\0';
}

etx_status etx_selected_build_fill(const etx_selection* selection,
                                   const etx_selected_facts* facts,
                                   const etx_unknown_operators* unknown,
                                   etx_pool* pool, etx_selected_build* build,
                                   etx_diag* diag) {
  bool wanted[ETX_OP_COUNT] = {false};
  uint32_t dtypes = facts->dtypes;
  ETX_TRY(mark_all(selection, unknown, wanted, &dtypes, diag));
  build->ops = etx_pool_take(pool, ETX_OP_COUNT * sizeof *build->ops);
  if (build->ops == NULL) return ETX_OUT_OF_MEMORY;
  build->count = 0;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* const op = etx_op_at((etx_op_id)i);
    // The runtime itself makes views.
    if (wanted[i] && !etx_op_makes_view(op)) build->ops[build->count++] = op;
  }
  uint32_t built = 0;
#define DTYPE(NAME, name, code, bytes, category) built |= UINT32_C(1) << (code);
#include "format/tensor/dtype.def"
#undef DTYPE
  build->dtypes = ETX_DTYPES_CLOSED(dtypes) & built;
  build->is_dynamic = facts->is_dynamic;
  build->has_data_files = facts->has_data_files;
  build->bytes = facts->bytes;
  find_fingerprint(build);
  return ETX_OK;
}
