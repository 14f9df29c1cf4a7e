// Opens the blob and verifies its structure, then its content against the
// program: first each row of the blob; then every named tensor of the program
// in the state arena must be the state of that name.

#include "format/base/checked_math.h"
#include "format/base/size_limits.h"
#include "format/pte/etx_blob.h"
#include "format/pte/etx_blob_schema.h"
#include "format/pte/named_data.h"
#include "format/pte/pte_segments.h"
#include "format/pte/reserved_names.h"

typedef struct blob_checker {
  const etx_blob* blob;
  const etx_pte* pte;
  etx_diag* diag;
  size_t index;       // of the current method: its position in the blob
  etx_pte_plan plan;  // its plan
} blob_checker;

// Name of the current method, for messages.
static etx_text method_of(const blob_checker* c) {
  return etx_pte_plan_name(&c->plan);
}

// ---- states ----

// Bytes of a state; false if a size is negative or the product overflows.
static bool state_bytes(const etx_blob_state* state, uint64_t* out_bytes) {
  uint64_t bytes = etx_dtype_bytes(state->dtype);
  for (size_t i = 0; i < state->rank; ++i) {
    if (state->sizes[i] < 0) return false;
    if (!etx_multiply_u64(bytes, (uint64_t)state->sizes[i], &bytes)) {
      return false;
    }
  }
  *out_bytes = bytes;
  return bytes <= PTRDIFF_MAX;
}

static etx_status check_state_shape(blob_checker* c,
                                    const etx_blob_state* state,
                                    uint64_t* out_bytes) {
  const uint64_t all = etx_blob_state_bytes(c->blob);
  const int64_t dtype = (int64_t)state->dtype;
  if (!etx_dtype_is_valid(dtype) || state->rank > ETX_MAX_RANK) {
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "state '%t' has invalid scalar type %i or rank %z",
                         state->name, dtype, state->rank);
  }
  if (!state_bytes(state, out_bytes) ||
      !etx_fits_within(state->offset, *out_bytes, all)) {
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "state '%t' at offset %u passes the end of the "
                         "state's %u bytes",
                         state->name, state->offset, all);
  }
  if (!etx_dtype_is_aligned(state->dtype, state->offset)) {
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "state '%t' lies at offset %u, which is not a "
                         "multiple of its element of %u bytes",
                         state->name, state->offset,
                         (uint64_t)etx_dtype_bytes(state->dtype));
  }
  return ETX_OK;
}

static etx_status check_state_constant(blob_checker* c,
                                       const etx_blob_state* state,
                                       uint64_t bytes) {
  etx_bytes data = {NULL, 0};
  if (state->data_buffer_index == 0) return ETX_OK;
  if (state->is_uniform) bytes = etx_dtype_bytes(state->dtype);
  if (!etx_pte_constant_find(c->pte, state->data_buffer_index, &data)) {
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "state '%t' is initialised by constant '%u', which "
                         "does not exist",
                         state->name, (uint64_t)state->data_buffer_index);
  }
  if (data.size < bytes) {
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "state '%t' is initialised by constant '%u' of %z "
                         "bytes, expected %u",
                         state->name, (uint64_t)state->data_buffer_index,
                         data.size, bytes);
  }
  return ETX_OK;
}

static etx_status check_states(blob_checker* c) {
  const size_t count = etx_blob_state_count(c->blob);
  etx_text before = {NULL, 0};
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_state state = etx_blob_state_at(c->blob, i);
    uint64_t bytes = 0;
    ETX_TRY(check_state_shape(c, &state, &bytes));
    ETX_TRY(check_state_constant(c, &state, bytes));
    if (i > 0 && etx_text_compare(before, state.name) >= 0) {
      return etx_diag_fail(c->diag, ETX_BAD_FILE,
                           "state '%t' follows '%t', expected ascending names",
                           state.name, before);
    }
    before = state.name;
  }
  return ETX_OK;
}

// ---- methods ----

static etx_status check_symbols(blob_checker* c) {
  const size_t count = etx_blob_symbol_count(c->blob, c->index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_symbol symbol = etx_blob_symbol_at(c->blob, c->index, i);
    if (symbol.minimum <= symbol.maximum) continue;
    return etx_diag_fail(
        c->diag, ETX_BAD_FILE, "symbol '%t' of method '%t' has bounds %i to %i",
        symbol.name, method_of(c), symbol.minimum, symbol.maximum);
  }
  return ETX_OK;
}

// The largest size that the program's plan has for the dimension.
static bool dim_bound(blob_checker* c, const etx_blob_input_dim* dim,
                      int64_t* out_bound) {
  const size_t value = (size_t)etx_pte_input_at(&c->plan, dim->input);
  const etx_pte_value input = etx_pte_value_at(&c->plan, value);
  if (dim->dim == -1 && input.kind == ETX_PTE_INT) {
    *out_bound = INT64_MAX;
    return true;
  }
  if (input.kind != ETX_PTE_TENSOR || dim->dim < 0 ||
      dim->dim >= input.as.tensor.rank) {
    return false;
  }
  *out_bound = input.as.tensor.sizes[dim->dim];
  return true;
}

static etx_status check_input_dim(blob_checker* c,
                                  const etx_blob_input_dim* dim, size_t index) {
  int64_t bound = 0;
  if (dim->input >= etx_pte_input_count(&c->plan) ||
      dim->symbol >= etx_blob_symbol_count(c->blob, c->index) ||
      dim->factor <= 0 || !dim_bound(c, dim, &bound)) {
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "size '%z' of method '%t' names dimension %i of input "
                         "%u and symbol %u, which do not exist",
                         index, method_of(c), (int64_t)dim->dim,
                         (uint64_t)dim->input, (uint64_t)dim->symbol);
  }
  const etx_blob_symbol symbol =
      etx_blob_symbol_at(c->blob, c->index, dim->symbol);
  int64_t least = 0;
  int64_t most = 0;
  const bool fits = etx_multiply_i64(symbol.minimum, dim->factor, &least) &&
                    etx_add_i64(least, dim->offset, &least) &&
                    etx_multiply_i64(symbol.maximum, dim->factor, &most) &&
                    etx_add_i64(most, dim->offset, &most) && most <= bound &&
                    (least >= 0 || dim->dim == -1);
  if (fits) return ETX_OK;
  return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                       "size '%z' of method '%t' is outside the bounds of "
                       "dimension %i of input %u, 0 to %i",
                       index, method_of(c), (int64_t)dim->dim,
                       (uint64_t)dim->input, bound);
}

static etx_status check_input_dims(blob_checker* c) {
  const size_t count = etx_blob_input_dim_count(c->blob, c->index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_input_dim dim = etx_blob_input_dim_at(c->blob, c->index, i);
    ETX_TRY(check_input_dim(c, &dim, i));
  }
  return ETX_OK;
}

// True if `inner`, which starts `offset` bytes into `outer`, is within it. If
// both are planned, their planned offsets must agree with that.
static bool lies_in(const etx_pte_tensor* inner, const etx_pte_tensor* outer,
                    uint64_t offset) {
  if (!etx_fits_within(offset, etx_pte_tensor_bytes(inner),
                       etx_pte_tensor_bytes(outer))) {
    return false;
  }
  if (!inner->has_allocation || !outer->has_allocation) return true;
  return inner->memory_id == outer->memory_id &&
         inner->memory_offset == outer->memory_offset + offset;
}

// Reads a value of the method; false if it does not exist or is not a tensor.
static bool find_tensor(const blob_checker* c, uint32_t index,
                        etx_pte_value* out) {
  if (index >= etx_pte_value_count(&c->plan)) return false;
  etx_pte_value_read(&c->plan, index, out);
  return out->kind == ETX_PTE_TENSOR;
}

static bool view_is_valid(const blob_checker* c, const etx_blob_view* view) {
  etx_pte_value value;
  etx_pte_value base;
  return view->value != view->base && find_tensor(c, view->value, &value) &&
         find_tensor(c, view->base, &base) &&
         (lies_in(&value.as.tensor, &base.as.tensor, view->offset) ||
          lies_in(&base.as.tensor, &value.as.tensor, view->offset));
}

static etx_status check_views(blob_checker* c) {
  const size_t count = etx_blob_view_count(c->blob, c->index);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_view view = etx_blob_view_at(c->blob, c->index, i);
    if (view_is_valid(c, &view)) continue;
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "view '%z' of method '%t': value %u does not lie at "
                         "offset %u of value %u",
                         i, method_of(c), (uint64_t)view.value, view.offset,
                         (uint64_t)view.base);
  }
  return ETX_OK;
}

static bool is_in_scratch(const blob_checker* c, size_t index) {
  etx_pte_value value;
  return find_tensor(c, (uint32_t)index, &value) &&
         value.as.tensor.has_allocation &&
         value.as.tensor.memory_id == ETX_MEMORY_SCRATCH;
}

static etx_status refuse_place(const blob_checker* c, size_t index,
                               const etx_blob_place* place) {
  return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                       "place '%z' of method '%t' has value %u, layout %u and "
                       "offset %u, expected the values of arena 1 in order, "
                       "in up to %z layouts",
                       index, method_of(c), (uint64_t)place->value,
                       (uint64_t)place->layout, place->offset,
                       (size_t)ETX_BLOB_MOST_LAYOUTS);
}

// Every layout has a row for each tensor of arena 1, in order.
static etx_status check_places(blob_checker* c) {
  const size_t count = etx_blob_place_count(c->blob, c->index);
  const size_t values = etx_pte_value_count(&c->plan);
  size_t value = 0;
  uint32_t layout = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_place place = etx_blob_place_at(c->blob, c->index, i);
    while (value < values && !is_in_scratch(c, value)) ++value;
    if (value == values || place.value != value || place.layout != layout ||
        place.layout >= ETX_BLOB_MOST_LAYOUTS ||
        place.offset > PTRDIFF_MAX / 2 || place.bytes > PTRDIFF_MAX / 2) {
      return refuse_place(c, i, &place);
    }
    ++value;
    while (value < values && !is_in_scratch(c, value)) ++value;
    if (value < values) continue;
    value = 0;
    ++layout;
  }
  if (value == 0) return ETX_OK;
  const etx_blob_place last = etx_blob_place_at(c->blob, c->index, count - 1);
  return refuse_place(c, count - 1, &last);
}

static etx_status check_inputs_and_outputs(blob_checker* c) {
  const size_t inputs = etx_blob_input_count(c->blob, c->index);
  const size_t outputs = etx_blob_output_count(c->blob, c->index);
  if (inputs != etx_pte_input_count(&c->plan) ||
      outputs != etx_pte_output_count(&c->plan)) {
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "'%s' has %z inputs and %z outputs for method '%t', "
                         "the plan has %z and %z",
                         ETX_BLOB_KEY, inputs, outputs, method_of(c),
                         etx_pte_input_count(&c->plan),
                         etx_pte_output_count(&c->plan));
  }
  for (size_t i = 0; i < outputs; ++i) {
    const etx_blob_output output = etx_blob_output_at(c->blob, c->index, i);
    const bool is_valid =
        output.lifetime <= ETX_LIFETIME_STATE && output.mutated_input >= -1 &&
        (output.mutated_input < 0 || (size_t)output.mutated_input < inputs);
    if (is_valid) continue;
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "output '%t' of method '%t' has lifetime %u and "
                         "mutated input %i of %z",
                         output.name, method_of(c), (uint64_t)output.lifetime,
                         (int64_t)output.mutated_input, inputs);
  }
  return ETX_OK;
}

static etx_status check_method(blob_checker* c) {
  ETX_TRY(check_inputs_and_outputs(c));
  if (ETX_DYNAMIC) {
    ETX_TRY(check_symbols(c));
    ETX_TRY(check_input_dims(c));
    ETX_TRY(check_places(c));
  }
  return check_views(c);
}

static etx_status check_methods(blob_checker* c) {
  const size_t count = etx_blob_method_count(c->blob);
  if (count > etx_pte_plan_count(c->pte)) {
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "'%s' describes %z methods, the program has %z",
                         ETX_BLOB_KEY, count, etx_pte_plan_count(c->pte));
  }
  for (c->index = 0; c->index < count; ++c->index) {
    size_t first = 0;
    const etx_text name = etx_blob_method_name(c->blob, c->index);
    (void)etx_blob_method_find(c->blob, name, &first);  // this one, or before
    if (!etx_pte_plan_find(c->pte, name, &c->plan) || first != c->index) {
      return etx_diag_fail(c->diag, ETX_BAD_FILE,
                           "'%s' describes method '%t', which the program "
                           "does not have, or describes it twice",
                           ETX_BLOB_KEY, name);
    }
    ETX_TRY(check_method(c));
  }
  return ETX_OK;
}

// ---- methods that may run at the same time ----

static bool pairs_ascend(etx_blob_pair a, etx_blob_pair b) {
  return a.first < b.first || (a.first == b.first && a.second < b.second);
}

static etx_status check_concurrent(blob_checker* c) {
  const size_t methods = etx_blob_method_count(c->blob);
  const size_t count = etx_blob_concurrent_count(c->blob);
  const etx_fb_buffer* fb = &c->blob->fb;
  const etx_fb_vector all =
      etx_fb_vector_in(fb, c->blob->root, ETX_BLOB_Blob_concurrent);
  if (all.count % 2 != 0) {
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "'%s' has %u concurrent methods, expected pairs",
                         ETX_BLOB_KEY, (uint64_t)all.count);
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_pair pair = etx_blob_concurrent_at(c->blob, i);
    const bool is_valid =
        pair.first < pair.second && pair.second < methods &&
        (i == 0 || pairs_ascend(etx_blob_concurrent_at(c->blob, i - 1), pair));
    if (is_valid) continue;
    return etx_diag_fail(c->diag, ETX_BAD_FILE,
                         "concurrent pair '%z' of '%s' names methods %u and "
                         "%u of %z, expected pairs in ascending order",
                         i, ETX_BLOB_KEY, (uint64_t)pair.first,
                         (uint64_t)pair.second, methods);
  }
  return ETX_OK;
}

// ---- tensors in the state arena ----

// States are sorted by name.
static bool find_state(blob_checker* c, etx_text name,
                       etx_blob_state* out_state) {
  size_t low = 0;
  size_t high = etx_blob_state_count(c->blob);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    *out_state = etx_blob_state_at(c->blob, middle);
    const int order = etx_text_compare(name, out_state->name);
    if (order == 0) return true;
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return false;
}

static bool is_state(const etx_pte_tensor* tensor,
                     const etx_blob_state* state) {
  if (tensor->memory_offset != state->offset || tensor->dtype != state->dtype ||
      tensor->rank != state->rank) {
    return false;
  }
  return memcmp(tensor->sizes, state->sizes,
                state->rank * sizeof *state->sizes) == 0;
}

static etx_status check_plan_states(blob_checker* c) {
  const size_t value_count = etx_pte_value_count(&c->plan);
  for (size_t i = 0; i < value_count; ++i) {
    if (etx_pte_value_arena(&c->plan, i) != ETX_MEMORY_STATE) continue;
    etx_pte_value value;
    etx_pte_value_read(&c->plan, i, &value);
    const etx_pte_tensor* const tensor = &value.as.tensor;
    if (tensor->name.size == 0) continue;
    etx_blob_state state;
    if (find_state(c, tensor->name, &state) && is_state(tensor, &state)) {
      continue;
    }
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "value '%z' of method '%t' is state '%t', but '%s' "
                         "has no such state of this type, shape and offset",
                         i, method_of(c), tensor->name, ETX_BLOB_KEY);
  }
  return ETX_OK;
}

static etx_status check_plans(blob_checker* c) {
  const size_t count = etx_pte_plan_count(c->pte);
  const uint64_t expected = etx_blob_state_bytes(c->blob);
  for (size_t i = 0; i < count; ++i) {
    etx_pte_plan_read(c->pte, i, &c->plan);
    // A method without the arena has no states.
    if (etx_pte_buffer_size_count(&c->plan) <= ETX_MEMORY_STATE) continue;
    ETX_TRY(check_plan_states(c));
    const uint64_t found =
        (uint64_t)etx_pte_buffer_size_at(&c->plan, ETX_MEMORY_STATE);
    if (found == expected) continue;
    return etx_diag_fail(c->diag, c->pte->bad_plan_status,
                         "method '%t' has %u bytes of state, '%s' says %u",
                         method_of(c), found, ETX_BLOB_KEY, expected);
  }
  return ETX_OK;
}

static etx_status check_fingerprint(blob_checker* c) {
  const etx_fb_vector fingerprint =
      etx_fb_vector_in(&c->blob->fb, c->blob->root, ETX_BLOB_Blob_fingerprint);
  if (fingerprint.count == ETX_FINGERPRINT_BYTES) return ETX_OK;
  return etx_diag_fail(c->diag, ETX_BAD_FILE,
                       "the fingerprint in '%s' has %u bytes, expected %u",
                       ETX_BLOB_KEY, (uint64_t)fingerprint.count,
                       (uint64_t)ETX_FINGERPRINT_BYTES);
}

// A runtime without ETX_DYNAMIC refuses methods with symbols, so it does not
// read these rows. Nor does it read concurrent pairs, which only tools use.
static etx_status check_blob(const etx_blob* blob, const etx_pte* pte,
                             etx_diag* diag) {
  blob_checker c;
  c.blob = blob;
  c.pte = pte;
  c.diag = diag;
  ETX_TRY(check_fingerprint(&c));
  ETX_TRY(check_states(&c));
  ETX_TRY(check_methods(&c));
  if (ETX_DYNAMIC) ETX_TRY(check_concurrent(&c));
  return check_plans(&c);
}

static etx_status open_blob(etx_blob* blob, const etx_pte* pte,
                            etx_diag* diag) {
  etx_blob opened;
  const etx_fb_schema* const schema = ETX_VERIFIER ? &etx_blob_schema : NULL;
  ETX_TRY(etx_named_data_open(pte, ETX_BLOB_KEY, schema, &opened.fb,
                              &opened.root, diag));
  if (ETX_VERIFIER) ETX_TRY(check_blob(&opened, pte, diag));
  *blob = opened;
  return ETX_OK;
}

etx_status etx_blob_open(etx_blob* blob, const etx_pte* pte, etx_diag* diag) {
  const etx_status status = open_blob(blob, pte, diag);
  // A stock file has no blob, which is not an error.
  return status == ETX_NOT_FOUND ? status : etx_diag_seal(diag, status);
}
