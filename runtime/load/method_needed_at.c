// What a loaded method needs at given sizes of its symbols.

#include "runtime/method/method_types.h"
#include "runtime/run/method_run.h"
#include "runtime/run/sized_memory.h"
#include "runtime/shapes/shape_phase.h"

static etx_status set_symbol(etx_method* method, const etx_named_size* given,
                             etx_diag* diag) {
  for (size_t i = 0; i < method->symbol_count; ++i) {
    const etx_blob_symbol* const symbol = &method->symbol_bounds[i];
    if (!etx_text_equal(symbol->name, given->name)) continue;
    if (given->size < symbol->minimum || given->size > symbol->maximum) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "'%t' is %i, its bounds in method '%t' are %i and "
                           "%i",
                           given->name, given->size,
                           etx_pte_plan_name(&method->plan), symbol->minimum,
                           symbol->maximum);
    }
    method->symbols[i] = given->size;
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_NOT_FOUND,
                       "method '%t' has no symbol '%t'; etx inspect lists them",
                       etx_pte_plan_name(&method->plan), given->name);
}

// Sets the size or the number of an input that depends on a symbol. When the
// file was opened, the bounds of its sizes were computed from those of symbols,
// so the product and the sum fit.
static void set_input_size(etx_method* method, const etx_blob_input_dim* row) {
  etx_method_input* const input = &method->inputs[row->input];
  const int64_t size = row->factor * method->symbols[row->symbol] + row->offset;
  if (row->dim < 0) {
    input->integer = size;
  } else {
    input->sizes[row->dim] = (int32_t)size;
  }
}

static etx_status set_sizes(etx_method* method, const etx_named_size* sizes,
                            size_t count, etx_diag* diag) {
  for (size_t i = 0; i < method->symbol_count; ++i) {
    method->symbols[i] = method->symbol_bounds[i].maximum;
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(set_symbol(method, &sizes[i], diag));
  }
  for (size_t i = 0; i < method->input_dim_count; ++i) {
    set_input_size(method, &method->input_dims[i]);
  }
  return ETX_OK;
}

static etx_status find_needed(etx_method* method, const etx_named_size* sizes,
                              size_t count, etx_memory_needed* out_needed,
                              etx_diag* diag) {
  ETX_TRY(etx_method_needed(method->program, etx_pte_plan_name(&method->plan),
                            out_needed, diag));
  ETX_TRY(set_sizes(method, sizes, count, diag));
  ETX_TRY(etx_method_shape_all(method, diag));
  out_needed->scratch_bytes = etx_method_scratch_needed(method);
  out_needed->temporary_bytes = etx_method_temporary_needed(method);
  method->is_prepared = false;  // the next run checks its memory
  return ETX_OK;
}

etx_status etx_method_needed_at(etx_method* method, const etx_named_size* sizes,
                                size_t count, etx_memory_needed* out_needed,
                                etx_diag* diag) {
  etx_status status = etx_method_forget(method, diag);
  if (status == ETX_OK) status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = find_needed(method, sizes, count, out_needed, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}
