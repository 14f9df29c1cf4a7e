#include "cli/select/selected_build.h"

#include "cli/select/kernel_names.h"
#include "exporter/host/sha256.h"
#include "runtime/built_types.h"
#include "runtime/program/build_features.h"

// True if the row is the operator `name`, or has its name with another overload
// and all of these are wanted.
static bool is_wanted(const etx_selected_operator* row, const etx_op* op) {
  const etx_op_name exact = etx_op_name_of(row->name, (etx_text){NULL, 0});
  if (etx_op_is_named(op, &exact)) return true;
  return row->has_all_overloads && etx_text_is(exact.name, op->name);
}

static bool takes_lists(const etx_op* op) {
  etx_argument argument;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  while (etx_argument_next(&cursor, &argument)) {
    if (argument.type == ETX_ARGUMENT_TENSORS ||
        argument.type == ETX_ARGUMENT_OPTIONAL_TENSORS) {
      return true;
    }
  }
  return false;
}

// What is wanted of each row of op_schema.def.
typedef struct wanted_kernel {
  bool is_wanted;
  uint32_t dtypes;  // of its calls
} wanted_kernel;

// The types of an operator's calls.
static uint32_t dtypes_of(const etx_selected_operator* row, const etx_op* op) {
  return row->is_from_list && takes_lists(op) ? UINT32_MAX : row->dtypes;
}

// Marks the operators of a row; false if there is none.
static bool mark(const etx_selected_operator* row, wanted_kernel* wanted) {
  bool is_known = false;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* const op = etx_op_at((etx_op_id)i);
    if (!is_wanted(row, op)) continue;
    wanted[i].is_wanted = true;
    wanted[i].dtypes |= dtypes_of(row, op);
    is_known = true;
  }
  return is_known;
}

static etx_status mark_all(const etx_selection* selection,
                           const etx_unknown_operators* unknown,
                           wanted_kernel* wanted, etx_diag* diag) {
  size_t unknown_count = 0;
  for (size_t i = 0; i < selection->count; ++i) {
    const etx_selected_operator* const row = &selection->operators[i];
    if (mark(row, wanted)) continue;
    if (etx_described_find(unknown->described, row->name) != NULL) continue;
    unknown->report(unknown->context, row);
    ++unknown_count;
  }
  for (size_t i = 0; selection->has_all_operators && i < ETX_OP_COUNT; ++i) {
    wanted[i] = (wanted_kernel){true, UINT32_MAX};
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

// What the description of an application's operator says.
static void add_rules(etx_sha256* hash, const etx_op* op) {
  const etx_own_operator* const own = (const etx_own_operator*)op;
  const char* const texts[] = {op->arguments, own->sizes, own->dtypes};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    etx_sha256_add(hash, texts[i], strlen(texts[i]) + 1);
  }
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
    add_number(&hash, build->op_dtypes[i]);
    if (i + build->own_count >= build->count) add_rules(&hash, op);
  }
  for (size_t i = 0; i < ETX_LOOP_COUNT; ++i) {
    add_number(&hash, build->loops[i]);
  }
  add_number(&hash, build->dtypes);
  add_number(&hash, build->widest_set);
  add_number(&hash, build->features);
  add_number(&hash, (uint32_t)build->has_messages |
                        (uint32_t)build->has_verifier << 1 |
                        (uint32_t)build->is_narrowed << 2 |
                        (uint32_t)build->has_control_flow << 3 |
                        (uint32_t)build->has_size_programs << 4 |
                        (uint32_t)build->has_views << 5 |
                        (uint32_t)build->has_index_checks << 6 |
                        (uint32_t)build->has_data_files << 7);
  etx_sha256_finish(&hash, digest);
  for (size_t i = 0; i < sizeof build->fingerprint - 1; ++i) {
    build->fingerprint[i] = digits[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
  }
  build->fingerprint[sizeof build->fingerprint - 1] = '\0';
}

// True if a kernel refuses indices ahead.
static bool reads_indices(const etx_selected_build* build) {
  for (size_t i = 0; i < build->count - build->own_count; ++i) {
    if (etx_kernel_check_name(build->ops[i]->id) != NULL) return true;
  }
  return false;
}

// True if a list of operators was read, which does not say how they are called.
static bool has_list(const etx_selection* selection) {
  for (size_t i = 0; i < selection->count; ++i) {
    if (selection->operators[i].is_from_list) return true;
  }
  return selection->has_all_operators;
}

static void find_loops(const etx_selection* selection,
                       const etx_selected_facts* facts,
                       etx_selected_build* build) {
  // A list of operators does not say which chains they compute.
  const uint64_t steps = has_list(selection) ? UINT64_MAX : facts->chain_steps;
  memset(build->loops, 0, sizeof build->loops);
  for (size_t i = 0; i < build->count - build->own_count; ++i) {
    etx_loops_add(build->ops[i]->id, build->op_dtypes[i], steps, build->loops);
  }
}

// Adds the operators of the application, and their types to `dtypes`.
static void add_described(const etx_selection* selection,
                          const etx_described_operators* described,
                          uint32_t known, etx_selected_build* build,
                          uint32_t* dtypes) {
  for (size_t i = 0; i < selection->count; ++i) {
    const etx_selected_operator* const row = &selection->operators[i];
    const etx_own_operator* const own =
        etx_described_find(described, row->name);
    const etx_text no_overload = {NULL, 0};
    if (own == NULL || etx_op_find(row->name, no_overload) != NULL) continue;
    const uint32_t calls = dtypes_of(row, &own->op);
    *dtypes |= calls;
    build->ops[build->count] = &own->op;
    build->op_dtypes[build->count++] = calls & known;
    ++build->own_count;
  }
}

etx_status etx_selected_build_fill(const etx_selection* selection,
                                   const etx_selected_facts* facts,
                                   const etx_unknown_operators* unknown,
                                   etx_pool* pool, etx_selected_build* build,
                                   etx_diag* diag) {
  wanted_kernel wanted[ETX_OP_COUNT] = {{false, 0}};
  uint32_t dtypes = 0, known = 0;
  const size_t most = ETX_OP_COUNT + unknown->described->count;
  ETX_TRY(mark_all(selection, unknown, wanted, diag));
  build->ops = etx_pool_take(pool, most * sizeof *build->ops);
  build->op_dtypes = etx_pool_take(pool, most * sizeof *build->op_dtypes);
  if (build->ops == NULL || build->op_dtypes == NULL) return ETX_OUT_OF_MEMORY;
  build->count = build->own_count = 0;
#define DTYPE(NAME, name, code, bytes, category) known |= UINT32_C(1) << (code);
#include "format/tensor/dtype.def"
#undef DTYPE
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* const op = etx_op_at((etx_op_id)i);
    dtypes |= wanted[i].dtypes;
    // The runtime itself makes views.
    if (!wanted[i].is_wanted || etx_op_makes_view(op)) continue;
    build->ops[build->count] = op;
    build->op_dtypes[build->count++] = wanted[i].dtypes & known;
  }
  add_described(selection, unknown->described, known, build, &dtypes);
  find_loops(selection, facts, build);
  build->dtypes = ETX_DTYPES_CLOSED(dtypes) & known;
  build->features = facts->features;
  build->is_dynamic = (facts->features & ETX_FEATURES_OF_DYNAMIC) != 0 ||
                      facts->changes_used_values;
  build->has_control_flow =
      (facts->features & ETX_FEATURES_OF_CONTROL_FLOW) != 0 ||
      facts->changes_used_values;
  build->has_size_programs = build->has_size_programs && build->is_dynamic;
  build->has_data_files = (facts->features & ETX_FEATURE_BIT(DATA_FILES)) != 0;
  build->has_views = facts->has_views || has_list(selection);
  build->has_index_checks = reads_indices(build);
  build->bytes = facts->bytes;
  find_fingerprint(build);
  return ETX_OK;
}
