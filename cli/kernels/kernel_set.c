#include "cli/kernels/kernel_set.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "format/own_ops/own_operator_list.h"

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                       "not enough memory for a table "
                       "of kernels");
}

static const etx_kernel* find_like(const etx_kernel_set* set,
                                   const etx_op* op) {
  const etx_op_name name =
      etx_op_name_of(etx_text_of(op->name), etx_text_of(op->overload));
  return etx_kernel_find_named(&set->table, &name);
}

// Kernels of libraries have all types.
static etx_status add_cells(etx_kernel_set* set, size_t count, etx_diag* diag) {
  if (set->table.cells == NULL) return ETX_OK;
  const size_t all = set->table.count + count;
  uint32_t* const dtypes = realloc(set->dtypes, (all + 1) * sizeof *dtypes);
  if (dtypes == NULL) return no_memory(diag);
  memset(dtypes + set->table.count, 0xff, count * sizeof *dtypes);
  set->dtypes = dtypes;
  set->cells.dtypes = dtypes;
  return ETX_OK;
}

// Takes the kernels of this build, and their cells if it is a selected one.
static etx_status take_own(etx_kernel_set* set, etx_diag* diag) {
  const etx_kernel_table* const own = &etx_all_kernels;
  // In this order etx_kernel_find finds a kernel by its position.
  memcpy(set->rows, own->kernels, own->count * sizeof *set->rows);
  set->table = (etx_kernel_table){.kernels = set->rows};
  if (own->cells != NULL) {
    set->cells = *own->cells;
    set->table.cells = &set->cells;
    ETX_TRY(add_cells(set, own->count, diag));
    memcpy(set->dtypes, own->cells->dtypes, own->count * sizeof *set->dtypes);
  }
  set->table.count = own->count;
  return ETX_OK;
}

// Adds rows, which are copied. ETX_BAD_ARGUMENT if the set has one of the
// operators.
static etx_status add_rows(etx_kernel_set* set, const etx_kernel* rows,
                           size_t count, etx_diag* diag) {
  etx_kernel* const all =
      realloc(set->rows, (set->table.count + count) * sizeof *all);
  if (all == NULL) return no_memory(diag);
  set->rows = all;
  set->table.kernels = all;
  ETX_TRY(add_cells(set, count, diag));
  for (size_t i = 0; i < count; ++i) {
    const etx_op* const op = rows[i].op;
    if (find_like(set, op) != NULL) {
      return etx_diag_fail(
          diag, ETX_BAD_ARGUMENT, "there are two kernels of operator '%s%s%s'",
          op->name, op->overload[0] == '\0' ? "" : ".", op->overload);
    }
    all[set->table.count++] = rows[i];
  }
  return ETX_OK;
}

static etx_status check_version(const etx_kernel_library* library,
                                const char* path, etx_diag* diag) {
  if (library->version != ETX_KERNEL_LIBRARY_VERSION) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "'%s' was built for version %u of kernel_library.h, "
                         "expected %u: build it again with the headers of this "
                         "etx",
                         path, (uint64_t)library->version,
                         (uint64_t)ETX_KERNEL_LIBRARY_VERSION);
  }
  if (library->call_bytes != sizeof(etx_call) ||
      library->operator_bytes != sizeof(etx_own_operator) ||
      library->value_bytes != sizeof(etx_value) ||
      library->diag_bytes != sizeof(etx_diag)) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "'%s' was built with headers whose structures have "
                         "other sizes: build it again with the headers and "
                         "options of this etx",
                         path);
  }
  return ETX_OK;
}

static etx_status open_library(etx_kernel_set* set, const char* path,
                               etx_diag* diag) {
  // Names without a slash are files here, too, and are not searched.
  const char* const slash = strchr(path, '/');
  char* const local = malloc(strlen(path) + 3);
  if (local == NULL) return no_memory(diag);
  strcpy(local, slash == NULL ? "./" : "");
  strcat(local, path);
  void* const handle = dlopen(local, RTLD_NOW | RTLD_LOCAL);
  free(local);
  if (handle == NULL) {
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "cannot open the library of "
                         "kernels: %s",
                         dlerror());
  }
  set->libraries[set->library_count++] = handle;
  const etx_kernel_library* const library = dlsym(handle, "etx_kernels");
  if (library == NULL) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "'%s' has no object 'etx_kernels', which "
                         "ETX_KERNEL_LIBRARY of kernel_library.h defines",
                         path);
  }
  ETX_TRY(check_version(library, path, diag));
  const etx_status status =
      add_rows(set, library->table->kernels, library->table->count, diag);
  if (status != ETX_OK) etx_diag_append(diag, ", in '%s'", path);
  return status;
}

static etx_status open_all(etx_kernel_set* set, const char* const* paths,
                           size_t count, etx_diag* diag) {
  ETX_TRY(take_own(set, diag));
  ETX_TRY(add_rows(set, NULL, 0, diag));
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(open_library(set, paths[i], diag));
  }
  return ETX_OK;
}

etx_status etx_kernel_set_open(etx_kernel_set* set, const char* const* paths,
                               size_t count, etx_diag* diag) {
  const size_t own = etx_all_kernels.count;
  memset(set, 0, sizeof *set);
  set->rows = malloc((own + 1) * sizeof *set->rows);
  set->libraries = malloc((count + 1) * sizeof *set->libraries);
  if (set->rows == NULL || set->libraries == NULL) {
    etx_kernel_set_close(set);
    return no_memory(diag);
  }
  const etx_status status = open_all(set, paths, count, diag);
  if (status != ETX_OK) etx_kernel_set_close(set);
  return status;
}

void etx_kernel_set_close(etx_kernel_set* set) {
  for (size_t i = 0; i < set->library_count; ++i) dlclose(set->libraries[i]);
  free(set->libraries);
  free(set->rows);
  free(set->dtypes);
  memset(set, 0, sizeof *set);
}

// ---------------------------------------------------------------- program

// Reads the operators that a program describes. The list is in `*out_memory`,
// which the caller frees.
static etx_status read_described(const etx_pte* pte, etx_own_list* out_list,
                                 void** out_memory, etx_diag* diag) {
  etx_bytes data = {NULL, 0};
  *out_list = (etx_own_list){NULL, 0};
  *out_memory = NULL;
  if (!etx_pte_named_data_find(pte, ETX_OWN_OPERATORS_KEY, &data)) {
    return ETX_OK;
  }
  const etx_text text = {(const char*)data.data, data.size};
  const size_t needed = etx_own_list_needed(text);
  void* const memory = malloc(needed);
  etx_arena arena;
  if (memory == NULL) return no_memory(diag);
  etx_arena_init(&arena, memory, needed);
  const etx_status status = etx_own_list_read(text, &arena, out_list, diag);
  if (status == ETX_OK) {
    *out_memory = memory;
  } else {
    free(memory);
    etx_diag_append(diag, ", in the description of operators");
  }
  return status;
}

static etx_status check_row(const etx_kernel_set* set,
                            const etx_own_entry* entry, etx_diag* diag) {
  const etx_op* const wanted = &entry->row.op;
  const etx_kernel* const found = find_like(set, wanted);
  if (found == NULL) return ETX_OK;  // it is missing when a method is loaded
  if (strcmp(found->op->arguments, wanted->arguments) == 0 &&
      found->op->result == wanted->result) {
    return ETX_OK;
  }
  return etx_diag_fail(
      diag, ETX_BAD_ARGUMENT,
      "the kernel of operator '%s%s%s' takes (%s), but the program was planned "
      "for (%s)",
      wanted->name, wanted->overload[0] == '\0' ? "" : ".", wanted->overload,
      found->op->arguments, wanted->arguments);
}

etx_status etx_kernel_set_check(const etx_kernel_set* set, const etx_pte* pte,
                                etx_diag* diag) {
  etx_own_list list;
  void* memory = NULL;
  ETX_TRY(read_described(pte, &list, &memory, diag));
  etx_status status = ETX_OK;
  for (size_t i = 0; status == ETX_OK && i < list.count; ++i) {
    status = check_row(set, &list.entries[i], diag);
  }
  free(memory);
  return status;
}
