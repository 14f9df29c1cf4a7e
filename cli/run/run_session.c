#include "cli/run/run_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tensors/host_tensor.h"
#include "cli/base/input_path.h"
#include "cli/base/plural.h"
#include "runtime/module/state_file.h"

// A data file that does not exist is a mistake of the user (exit code 2), not a
// failure of the system, as opening it would report.
static etx_status check_paths(const char* const* data_paths, size_t data_count,
                              etx_diag* diag) {
  for (size_t i = 0; i < data_count; ++i) {
    etx_diag why;
    etx_diag_init(&why);
    const etx_status status = etx_input_file_check(data_paths[i], &why);
    if (status == ETX_OK) continue;
    return etx_diag_fail(diag, status, "data file '%s' %s", data_paths[i],
                         why.text);
  }
  return ETX_OK;
}

static etx_status open_module(etx_run_session* session,
                              const etx_module_options* options,
                              etx_diag* diag) {
  ETX_TRY(etx_module_open_bytes(&session->module, session->file.program,
                                options, diag));
  etx_status status = etx_kernel_set_check(&session->kernels,
                                           &session->module.program.pte, diag);
  if (status == ETX_OK)
    status = etx_module_shared_open(&session->shared, &session->module, diag);
  if (status != ETX_OK) etx_module_close(&session->module);
  return status;
}

static etx_status read_ahead(etx_run_session* session,
                             const etx_run_session_options* options,
                             etx_diag* diag) {
  if (options->locks) return etx_module_mlock(&session->module, diag);
  return options->prefaults ? etx_module_prefault(&session->module, diag)
                            : ETX_OK;
}

static etx_status open_program(etx_run_session* session,
                               const etx_run_session_options* options,
                               etx_diag* diag) {
  const etx_limits limits = {.keeps_plan = options->keeps_plan};
  const etx_module_options module = {.kernels = &session->kernels.table,
                                     .limits = &limits,
                                     .data_paths = options->data_paths,
                                     .data_path_count = options->data_count,
                                     .parallel = &session->pool.parallel,
                                     .in_memory = options->in_memory};
  ETX_TRY(open_module(session, &module, diag));
  const etx_status status = read_ahead(session, options, diag);
  if (status != ETX_OK) {
    etx_module_shared_close(&session->shared);
    etx_module_close(&session->module);
  }
  return status;
}

static etx_status open_pool(etx_run_session* session, size_t threads,
                            etx_diag* diag) {
  enum { ALIGNMENT = 16 };
  const size_t needed = etx_thread_pool_needed(threads);
  const size_t size = (needed / ALIGNMENT + 1) * ALIGNMENT;
  session->pool_memory = aligned_alloc(ALIGNMENT, size);
  if (session->pool_memory == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory for threads");
  }
  const etx_bytes_mut memory = {session->pool_memory, size};
  const etx_status status =
      etx_thread_pool_init(&session->pool, threads, memory, diag);
  if (status != ETX_OK) free(session->pool_memory);
  return status;
}

static void close_pool(etx_run_session* session) {
  etx_thread_pool_close(&session->pool);
  free(session->pool_memory);
}

static etx_status open_with_pool(etx_run_session* session,
                                 const etx_run_session_options* options,
                                 etx_diag* diag) {
  const size_t threads = options->threads == 0 ? 1 : options->threads;
  ETX_TRY(open_pool(session, threads, diag));
  session->region_limit = options->uses_regions ? threads : 0;
  if (options->resident_bytes != 0) {
    etx_resident_limit_init(&session->resident, session->file.program,
                            options->resident_bytes);
  }
  const etx_status status = open_program(session, options, diag);
  if (status != ETX_OK) close_pool(session);
  return status;
}

static etx_status open_file(etx_run_session* session, const char* path,
                            const etx_run_session_options* options,
                            etx_diag* diag) {
  ETX_TRY(options->in_memory ? etx_pte_file_read(&session->file, path, diag)
                             : etx_pte_file_open(&session->file, path, diag));
  const etx_status status = open_with_pool(session, options, diag);
  if (status != ETX_OK) etx_pte_file_close(&session->file);
  return status;
}

etx_status etx_run_session_open(etx_run_session* session, const char* path,
                                const etx_run_session_options* options,
                                etx_diag* diag) {
  memset(session, 0, sizeof *session);
  if (options->uses_regions && options->resident_bytes != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--resident observes the instructions one by one, so "
                         "it cannot be combined with --parallel-regions");
  }
  if (options->in_memory && options->resident_bytes != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--resident is for a file that is mapped, so it "
                         "cannot be combined with --in-memory");
  }
  if (options->locks && options->resident_bytes != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "--resident lets parts of the file leave memory, so "
                         "it cannot be combined with --mlock");
  }
  ETX_TRY(check_paths(options->data_paths, options->data_count, diag));
  ETX_TRY(etx_kernel_set_open(&session->kernels, options->kernel_paths,
                              options->kernel_count, diag));
  const etx_status status = open_file(session, path, options, diag);
  if (status != ETX_OK) etx_kernel_set_close(&session->kernels);
  return status;
}

void etx_run_session_close(etx_run_session* session) {
  etx_module_regions_release(&session->regions);
  etx_module_shared_close(&session->shared);
  etx_module_close(&session->module);
  etx_pte_file_close(&session->file);
  close_pool(session);
  etx_kernel_set_close(&session->kernels);
}

// Prints each operator that a method needs and this build does not have.
static void print_missing(void* context, etx_text name, etx_text overload,
                          size_t instruction) {
  size_t* const count = context;
  ++*count;
  fprintf(stderr, "operator '%.*s%s%.*s' of instruction %zu is missing\n",
          (int)name.size, name.data, overload.size == 0 ? "" : ".",
          (int)overload.size, overload.data, instruction);
}

static etx_status load(etx_run_session* session, const char* name,
                       const etx_planned_memory* allocator, etx_diag* diag) {
  size_t count = 0;
  const etx_missing_sink missing = {print_missing, &count, NULL};
  const etx_status status = etx_module_load_method_telling(
      &session->module, name, allocator, &missing, diag);
  if (count == 0) return status;
  etx_diag_init(diag);
  return etx_diag_fail(diag, status,
                       "method '%s' needs %z operator%s that this build does "
                       "not have; --kernels adds those of an application",
                       name, count, etx_plural(count));
}

// True if a method is worth a hint: not a constant, and not one of those that
// etx adds ("et_...").
static bool is_offered(const etx_method_info* info) {
  static const char ours[] = "et_";
  return !info->is_constant &&
         (info->name.size < sizeof ours - 1 ||
          memcmp(info->name.data, ours, sizeof ours - 1) != 0);
}

static void name_methods(const etx_program* program, etx_diag* diag) {
  const size_t count = etx_program_method_count(program);
  const char* before = "; its methods are ";
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    if (etx_program_method_at(program, i, &info) != ETX_OK ||
        !is_offered(&info)) {
      continue;
    }
    etx_diag_append(diag, "%s'%t'", before, info.name);
    before = ", ";
  }
}

etx_status etx_run_session_method(etx_run_session* session, const char* name,
                                  etx_method** out_method, etx_diag* diag) {
  etx_method* method = etx_module_method(&session->module, name);
  if (method == NULL) {
    etx_planned_memory allocator;
    const etx_status found =
        etx_module_shared_allocator(&session->shared, name, &allocator, diag);
    if (found == ETX_NOT_FOUND) name_methods(&session->module.program, diag);
    ETX_TRY(found);
    ETX_TRY(load(session, name, &allocator, diag));
    method = etx_module_method(&session->module, name);
  }
  *out_method = method;
  return ETX_OK;
}

void etx_run_session_observe(etx_run_session* session, etx_method* method,
                             const etx_run_observer* observer) {
  session->resident.inner = observer;
  if (session->resident.released.size == 0)
    etx_method_observe(method, observer);
}

etx_status etx_run_session_run(etx_run_session* session, etx_method* method,
                               etx_diag* diag) {
  if (session->trace != NULL) {
    return etx_run_trace_call(session->trace, method, diag);
  }
  if (session->region_limit > 0) {
    ETX_TRY(etx_module_regions_use(&session->regions, method,
                                   &session->pool.launcher,
                                   session->region_limit, diag));
  }
  etx_resident_limit_observe(&session->resident, method);
  return etx_method_run(method, diag);
}

etx_status etx_run_session_restore(etx_run_session* session, const char* path,
                                   etx_diag* diag) {
  etx_diag why;
  etx_diag_init(&why);
  const etx_status status =
      etx_state_file_restore(&session->shared.memory, path, &why);
  if (status == ETX_OK || status == ETX_NOT_FOUND) return ETX_OK;
  return etx_diag_fail(diag, status, "%s", why.text);
}

etx_status etx_run_session_save(const etx_run_session* session,
                                const char* path, etx_diag* diag) {
  return etx_state_file_save(&session->shared.memory, path, diag);
}
