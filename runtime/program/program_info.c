// Describes methods without loading them: inputs, outputs, and the results of
// constant methods.

#include "format/base/build_parts.h"
#include "format/base/reachability.h"
#include "format/pte/reserved_names.h"
#include "format/pte/variant_name.h"
#include "format/tensor/layout.h"
#include "runtime/program.h"
#include "runtime/program/unplanned_outputs.h"

#if ETX_DYNAMIC

// An empty name is that of no variant.
static bool find_named(const etx_program* program, etx_text name,
                       etx_pte_plan* out_plan) {
  return name.size > 0 && etx_pte_plan_find(&program->pte, name, out_plan);
}

size_t etx_program_variant_count(const etx_program* program, etx_text method) {
  char buffer[ETX_VARIANT_NAME_BYTES];
  etx_pte_plan plan;
  size_t count = 0;
  if (!program->has_blob || etx_is_variant_name(method) ||
      !find_named(program, method, &plan)) {
    return 0;
  }
  while (find_named(program, etx_variant_name(method, count, buffer), &plan)) {
    ++count;
  }
  return count;
}

static bool is_variant(const etx_program* program, const etx_pte_plan* plan) {
  char buffer[ETX_VARIANT_NAME_BYTES];
  const etx_text name = etx_pte_plan_name(plan);
  if (!etx_is_variant_name(name)) return false;
  const etx_text method = etx_variant_method(name);
  const size_t count = etx_program_variant_count(program, method);
  for (size_t i = 0; i < count; ++i) {
    if (etx_text_equal(name, etx_variant_name(method, i, buffer))) return true;
  }
  return false;
}

#else  // no method has sizes to choose by

static bool is_variant(const etx_program* program, const etx_pte_plan* plan) {
  (void)program;
  (void)plan;
  return false;
}

size_t etx_program_variant_count(const etx_program* program, etx_text method) {
  (void)program;
  (void)method;
  return 0;
}

#endif

size_t etx_program_method_count(const etx_program* program) {
  const size_t all = etx_pte_plan_count(&program->pte);
  size_t count = 0;
  for (size_t i = 0; i < all; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    if (!is_variant(program, &plan)) ++count;
  }
  return count;
}

static size_t count_instructions(const etx_pte_plan* plan) {
  size_t count = 0;
  for (size_t i = 0; i < etx_pte_chain_count(plan); ++i) {
    count += etx_pte_instruction_count(plan, i);
  }
  return count;
}

// True if all tensors that the method returns are constants that are available;
// states are not constants.
static bool returns_constants(const etx_program* program,
                              const etx_pte_plan* plan) {
  for (size_t i = 0; i < etx_pte_output_count(plan); ++i) {
    const etx_pte_value value =
        etx_pte_value_at(plan, (size_t)etx_pte_output_at(plan, i));
    if (value.kind != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor* const tensor = &value.as.tensor;
    if (tensor->has_allocation) return false;
    etx_bytes data;
    if (etx_program_stored(program, tensor, &data)) continue;
    if (tensor->location == ETX_PTE_EXTERNAL ||
        etx_pte_tensor_numel(tensor) != 0) {
      return false;
    }
  }
  return true;
}

static void describe(const etx_program* program, const etx_pte_plan* plan,
                     etx_method_info* out_info) {
  out_info->name = etx_pte_plan_name(plan);
  out_info->input_count = etx_pte_input_count(plan);
  out_info->output_count = etx_pte_output_count(plan);
  out_info->instruction_count = count_instructions(plan);
  out_info->scratch_bytes =
      etx_pte_buffer_size_count(plan) > ETX_MEMORY_SCRATCH
          ? (uint64_t)etx_pte_buffer_size_at(plan, ETX_MEMORY_SCRATCH)
          : 0;
  out_info->is_constant =
      out_info->instruction_count == 0 && out_info->input_count == 0 &&
      out_info->output_count > 0 && returns_constants(program, plan);
}

etx_status etx_program_method_at(const etx_program* program, size_t index,
                                 etx_method_info* out_info) {
  const size_t all = etx_pte_plan_count(&program->pte);
  size_t passed = 0;
  for (size_t i = 0; i < all; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    if (is_variant(program, &plan) || passed++ < index) continue;
    describe(program, &plan, out_info);
    return ETX_OK;
  }
  return ETX_OUT_OF_RANGE;
}

etx_status etx_program_variant_at(const etx_program* program, etx_text method,
                                  size_t index, etx_method_info* out_info) {
  char buffer[ETX_VARIANT_NAME_BYTES];
  etx_pte_plan plan;
  if (index >= etx_program_variant_count(program, method)) {
    return ETX_OUT_OF_RANGE;
  }
  // It was counted, so it is there.
  const bool is_found = etx_pte_plan_find(
      &program->pte, etx_variant_name(method, index, buffer), &plan);
  if (ETX_NEVER(!is_found)) return ETX_INTERNAL;
  describe(program, &plan, out_info);
  return ETX_OK;
}

etx_status etx_program_find_plan(const etx_program* program, etx_text name,
                                 etx_pte_plan* out_plan, etx_diag* diag) {
  if (etx_pte_plan_find(&program->pte, name, out_plan)) return ETX_OK;
  return etx_diag_seal(
      diag, etx_diag_fail(diag, ETX_NOT_FOUND, "the program has no method '%t'",
                          name));
}

// Finds the plan of a method and the blob's description of it. Leaves `blob` as
// it is if there is none.
static etx_status find_described(const etx_program* program, etx_text method,
                                 etx_pte_plan* out_plan, size_t* blob,
                                 etx_diag* diag) {
  ETX_TRY(etx_program_find_plan(program, method, out_plan, diag));
  if (program->has_blob) {
    (void)etx_blob_method_find(&program->blob, method, blob);
  }
  return ETX_OK;
}

static void fill_info(const etx_pte_plan* plan, int32_t value,
                      etx_port_info* out_port) {
  memset(out_port, 0, sizeof *out_port);
  out_port->value = etx_pte_value_at(plan, (size_t)value);
  out_port->kind = out_port->value.kind;
  out_port->mutated_input = -1;
}

static etx_status refuse_index(size_t index, etx_text method, const char* what,
                               size_t count, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "there is no %s %z, method '%t' has %z", what, index,
                       method, count);
}

static etx_status read_input(const etx_program* program, etx_text method,
                             size_t index, etx_port_info* out_info,
                             etx_diag* diag) {
  etx_pte_plan plan;
  size_t blob = SIZE_MAX;
  ETX_TRY(find_described(program, method, &plan, &blob, diag));
  const size_t count = etx_pte_input_count(&plan);
  if (index >= count) return refuse_index(index, method, "input", count, diag);
  fill_info(&plan, etx_pte_input_at(&plan, index), out_info);
  if (blob == SIZE_MAX) {
    // In a stock file an input is mutable if an instruction writes it.
    out_info->is_mutable =
        out_info->kind == ETX_PTE_TENSOR &&
        etx_program_plan_writes(program, &plan,
                                (uint32_t)etx_pte_input_at(&plan, index));
    return ETX_OK;
  }
  const etx_blob_input input = etx_blob_input_at(&program->blob, blob, index);
  out_info->name = input.name;
  out_info->is_mutable = input.is_mutable;
  const size_t rows = etx_blob_input_dim_count(&program->blob, blob);
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_input_dim row =
        etx_blob_input_dim_at(&program->blob, blob, i);
    if (row.input == index && row.dim < 0) out_info->varies = true;
  }
  return ETX_OK;
}

etx_status etx_program_input_at(const etx_program* program, etx_text method,
                                size_t index, etx_port_info* out_info,
                                etx_diag* diag) {
  return etx_diag_seal(diag,
                       read_input(program, method, index, out_info, diag));
}

static etx_status read_output(const etx_program* program, etx_text method,
                              size_t index, etx_port_info* out_info,
                              etx_diag* diag) {
  etx_pte_plan plan;
  size_t blob = SIZE_MAX;
  ETX_TRY(find_described(program, method, &plan, &blob, diag));
  const size_t count = etx_pte_output_count(&plan);
  if (index >= count) return refuse_index(index, method, "output", count, diag);
  fill_info(&plan, etx_pte_output_at(&plan, index), out_info);
  if (blob == SIZE_MAX) return ETX_OK;
  const etx_blob_output output =
      etx_blob_output_at(&program->blob, blob, index);
  out_info->name = output.name;
  out_info->mutated_input = output.mutated_input;
  out_info->sizes = etx_blob_output_sizes(&program->blob, blob, index);
  return ETX_OK;
}

etx_status etx_program_output_at(const etx_program* program, etx_text method,
                                 size_t index, etx_port_info* out_info,
                                 etx_diag* diag) {
  return etx_diag_seal(diag,
                       read_output(program, method, index, out_info, diag));
}

static etx_status constant_tensor(const etx_program* program,
                                  const etx_pte_tensor* tensor, etx_text name,
                                  etx_value* out_value, etx_constant_hold* hold,
                                  etx_diag* diag) {
  const bool empty = etx_pte_tensor_numel(tensor) == 0;
  const bool is_stored = etx_pte_tensor_is_stored(tensor);
  etx_bytes bytes = {NULL, 0};
  if (tensor->has_allocation || (!is_stored && !empty)) {
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "output of method '%t' is not a constant of the file",
                         name);
  }
  if (is_stored && !etx_program_stored(program, tensor, &bytes)) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "method '%t' returns '%t' of a data file (.ptd), and "
                         "none was given",
                         name, tensor->name);
  }
  void* const data = (void*)(uintptr_t)bytes.data;
  // Verified to fit when the file was opened.
  (void)etx_layout_strides(tensor->sizes, tensor->dim_order, tensor->rank,
                           hold->strides);
  out_value->kind = ETX_VALUE_TENSOR;
  out_value->as.tensor = (etx_tensor){data, tensor->sizes, hold->strides,
                                      tensor->rank, tensor->dtype};
  return ETX_OK;
}

// Converts a value of the file that needs no memory of a loaded method.
static etx_status constant_value(const etx_program* program,
                                 const etx_pte_value* value, etx_text name,
                                 etx_value* out_value, etx_constant_hold* hold,
                                 etx_diag* diag) {
  switch (value->kind) {
    case ETX_PTE_NULL:
      out_value->kind = ETX_VALUE_NONE;
      return ETX_OK;
    case ETX_PTE_INT:
      out_value->kind = ETX_VALUE_INT;
      out_value->as.integer = value->as.integer;
      return ETX_OK;
    case ETX_PTE_BOOL:
      out_value->kind = ETX_VALUE_BOOL;
      out_value->as.boolean = value->as.boolean;
      return ETX_OK;
    case ETX_PTE_DOUBLE:
      out_value->kind = ETX_VALUE_DOUBLE;
      out_value->as.real = value->as.real;
      return ETX_OK;
    case ETX_PTE_STRING:
      out_value->kind = ETX_VALUE_STRING;
      out_value->as.string = value->as.string;
      return ETX_OK;
    case ETX_PTE_TENSOR:
      return constant_tensor(program, &value->as.tensor, name, out_value, hold,
                             diag);
    default:
      return etx_diag_fail(diag, ETX_UNSUPPORTED,
                           "constant method '%t' returns a list", name);
  }
}

etx_status etx_program_constant(const etx_program* program, etx_text name,
                                etx_value* out_value, etx_constant_hold* hold,
                                etx_diag* diag) {
  return etx_program_constant_at(program, name, 0, out_value, hold, diag);
}

static etx_status read_constant(const etx_program* program, etx_text name,
                                size_t index, etx_value* out_value,
                                etx_constant_hold* hold, etx_diag* diag) {
  etx_pte_plan plan;
  ETX_TRY(etx_program_find_plan(program, name, &plan, diag));
  if (etx_pte_input_count(&plan) != 0 || count_instructions(&plan) != 0 ||
      etx_pte_output_count(&plan) == 0) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT,
        "method '%t' is not a constant method: it has %z inputs, "
        "%z instructions, %z outputs",
        name, etx_pte_input_count(&plan), count_instructions(&plan),
        etx_pte_output_count(&plan));
  }
  const size_t count = etx_pte_output_count(&plan);
  if (index >= count) return refuse_index(index, name, "output", count, diag);
  const etx_pte_value value =
      etx_pte_value_at(&plan, (size_t)etx_pte_output_at(&plan, index));
  return constant_value(program, &value, name, out_value, hold, diag);
}

etx_status etx_program_constant_at(const etx_program* program, etx_text name,
                                   size_t index, etx_value* out_value,
                                   etx_constant_hold* hold, etx_diag* diag) {
  return etx_diag_seal(
      diag, read_constant(program, name, index, out_value, hold, diag));
}
