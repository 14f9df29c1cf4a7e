// Data of tensors, wherever it lies: in the program's own segments or in a data
// file beside it. Data files are compared with the program when they are
// handed over, so that reading a tensor's bytes later is only a look-up.

#include "format/base/checked_math.h"
#include "format/pte/pte_segments.h"
#include "runtime/program.h"

// Keys that are compared for one program: thousands of weights in each of a
// hundred methods keep far below, and it bounds the time that a hostile file
// takes.
enum { MAX_COMPARISONS = 400000000 };

// Counts the files that have the key; the first one's entry goes to `out`.
static size_t find_entries(const etx_ptd* files, size_t count, etx_text key,
                           etx_ptd_entry* out) {
  size_t found = 0;
  etx_ptd_entry entry;
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_ptd_find(&files[i], key, &entry)) continue;
    if (found++ == 0) *out = entry;
  }
  return found;
}

static bool has_same_layout(const etx_pte_tensor* tensor,
                            const etx_ptd_entry* entry) {
  const size_t rank = tensor->rank;
  if (!entry->has_layout || entry->dtype != tensor->dtype ||
      entry->rank != rank) {
    return false;
  }
  return rank == 0 ||
         (memcmp(entry->sizes, tensor->sizes, rank * sizeof(int32_t)) == 0 &&
          memcmp(entry->dim_order, tensor->dim_order, rank) == 0);
}

// Appends "float32[2, 3]" to the message.
static void append_type(etx_dtype dtype, size_t rank, const int32_t* sizes,
                        etx_diag* diag) {
  etx_diag_append(diag, "%s[", etx_dtype_name(dtype));
  for (size_t i = 0; i < rank; ++i) {
    etx_diag_append(diag, "%s%i", i == 0 ? "" : ", ", (int64_t)sizes[i]);
  }
  etx_diag_append(diag, "]");
}

static etx_status refuse_layout(const etx_pte_tensor* tensor,
                                const etx_ptd_entry* entry, etx_text method,
                                etx_diag* diag) {
  etx_diag_fail(diag, ETX_BAD_FILE, "'%t' is ", tensor->name);
  if (entry->has_layout) {
    append_type(entry->dtype, entry->rank, entry->sizes, diag);
  } else {
    etx_diag_append(diag, "not a tensor");
  }
  etx_diag_append(diag, " in the data file, method '%t' expects ", method);
  append_type(tensor->dtype, tensor->rank, tensor->sizes, diag);
  etx_diag_append(diag, " in the same dimension order");
  return ETX_BAD_FILE;
}

static etx_status check_tensor(const etx_pte_tensor* tensor, etx_text method,
                               const etx_ptd* files, size_t count,
                               etx_diag* diag) {
  etx_ptd_entry entry;
  const size_t found = find_entries(files, count, tensor->name, &entry);
  if (found == 0) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "no data file has '%t', which method '%t' needs",
                         tensor->name, method);
  }
  if (found > 1) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "%z data files have '%t'", found,
                         tensor->name);
  }
  if (!has_same_layout(tensor, &entry)) {
    return refuse_layout(tensor, &entry, method, diag);
  }
  if (etx_dtype_is_aligned(tensor->dtype, (uintptr_t)entry.data.data)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "'%t' is not aligned to its type in the data file",
                       tensor->name);
}

static uint64_t count_keys(const etx_ptd* files, size_t count) {
  uint64_t keys = 0;
  for (size_t i = 0; i < count; ++i) keys += etx_ptd_count(&files[i]);
  return keys;
}

static bool find_data(const etx_program* program, etx_text name,
                      etx_bytes* out_data) {
  etx_ptd_entry entry;
  if (find_entries(program->data_files, program->data_file_count, name,
                   &entry) == 0) {
    return false;
  }
  *out_data = entry.data;
  return true;
}

static etx_status use_data(etx_program* program, const etx_ptd* files,
                           size_t count, etx_diag* diag) {
  const uint64_t keys = count_keys(files, count);
  uint64_t comparisons = 0;
  for (size_t i = 0; i < etx_pte_plan_count(&program->pte); ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&program->pte, i);
    const etx_text method = etx_pte_plan_name(&plan);
    for (size_t k = 0; k < etx_pte_value_count(&plan); ++k) {
      if (etx_pte_value_kind(&plan, k) != ETX_PTE_TENSOR) continue;
      const etx_pte_tensor tensor = etx_pte_value_at(&plan, k).as.tensor;
      if (tensor.location != ETX_PTE_EXTERNAL) continue;
      comparisons += keys;
      if (comparisons > MAX_COMPARISONS) {
        return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                             "data files have %u keys, too many for the "
                             "tensors of this program",
                             keys);
      }
      ETX_TRY(check_tensor(&tensor, method, files, count, diag));
    }
  }
  program->data_files = files;
  program->data_file_count = count;
  program->find_data = find_data;
  return ETX_OK;
}

etx_status etx_program_use_data(etx_program* program, const etx_ptd* files,
                                size_t count, etx_diag* diag) {
  return etx_diag_seal(diag, use_data(program, files, count, diag));
}

bool etx_program_stored(const etx_program* program,
                        const etx_pte_tensor* tensor, etx_bytes* out_data) {
  if (tensor->location == ETX_PTE_EXTERNAL) {
    return program->find_data != NULL &&
           program->find_data(program, tensor->name, out_data);
  }
  if (tensor->data_buffer_index == 0) return false;
  // Verified when the file was opened.
  return tensor->has_allocation
             ? etx_pte_initial_data_find(&program->pte,
                                         tensor->data_buffer_index, out_data)
             : etx_pte_constant_find(&program->pte, tensor->data_buffer_index,
                                     out_data);
}
