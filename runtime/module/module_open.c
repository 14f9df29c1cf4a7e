// Opens modules and sessions, and runs methods.

#include "runtime/module/module.h"

#include "runtime/module/module_file.h"
#include "runtime/module/module_method.h"

// Maps or reads a file. `memory` must stay until it is closed.
static etx_status open_file(const char* path, bool in_memory,
                            const etx_module_memory* memory,
                            etx_bytes* out_file, etx_diag* diag) {
  return in_memory ? etx_module_file_read(path, memory, out_file, diag)
                   : etx_module_file_map(path, out_file, diag);
}

static void close_file(etx_bytes file, bool in_memory,
                       const etx_module_memory* memory) {
  if (!in_memory) {
    etx_module_file_unmap(file);
  } else if (file.size > 0) {
    memory->give_back(memory->context, (void*)(uintptr_t)file.data);
  }
}

static void close_data(etx_module* module) {
  for (size_t i = 0; i < module->data_count; ++i) {
    close_file(module->data[i].file, module->in_memory, &module->memory);
  }
  if (module->data != NULL) {
    module->memory.give_back(module->memory.context, module->data);
  }
  module->data = NULL;
  module->data_count = 0;
}

static etx_status open_data_file(etx_module* module, const char* path,
                                 etx_diag* diag) {
  etx_bytes file;
  etx_ptd* const ptd = &module->data[module->data_count];
  ETX_TRY(open_file(path, module->in_memory, &module->memory, &file, diag));
  const etx_status status = etx_ptd_open(ptd, file, diag);
  if (status != ETX_OK) {
    etx_diag_append(diag, " (data file '%s')", path);
    close_file(file, module->in_memory, &module->memory);
    return status;
  }
  ++module->data_count;
  return ETX_OK;
}

static etx_status open_data(etx_module* module,
                            const etx_module_options* options, etx_diag* diag) {
  const size_t count = options->data_path_count;
  if (count == 0) return ETX_OK;
  if (!ETX_DATA_FILES) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "data file '%s' was given, and this build leaves out "
                         "data files (ETX_DATA_FILES)",
                         options->data_paths[0]);
  }
  if (count > SIZE_MAX / sizeof *module->data) return ETX_OUT_OF_RANGE;
  etx_bytes_mut memory = {NULL, count * sizeof *module->data};
  ETX_TRY(etx_module_allocate_zeroed(module, &memory, "data files", diag));
  module->data = (etx_ptd*)(void*)memory.data;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(open_data_file(module, options->data_paths[i], diag));
  }
  return etx_program_use_data(&module->program, module->data, count, diag);
}

static etx_status open_bytes(etx_module* module, etx_bytes file,
                             const etx_module_options* options,
                             etx_diag* diag) {
  static const etx_module_options no_options = {.kernels = NULL};
  if (options == NULL) options = &no_options;
  etx_limits limits;
  memset(&limits, 0, sizeof limits);
  if (options->limits != NULL) limits = *options->limits;
  if (options->parallel != NULL) limits.parallel = options->parallel;
  memset(module, 0, sizeof *module);
  module->memory = options->memory == NULL ? etx_module_heap : *options->memory;
  module->in_memory = options->in_memory;
  module->file = file;
  // Volatile: where the weak definition is in the same file (etx.c), gcc would
  // take its value, though the linker may choose the application's.
  const etx_kernel_table* const volatile* const chosen = &etx_default_kernels;
  const etx_kernel_table* kernels =
      options->kernels == NULL ? *chosen : options->kernels;
  ETX_TRY(etx_program_open(&module->program, file, kernels, &limits, diag));
  const etx_status status = open_data(module, options, diag);
  if (status != ETX_OK) close_data(module);
  return status;
}

etx_status etx_module_open_bytes(etx_module* module, etx_bytes file,
                                 const etx_module_options* options,
                                 etx_diag* diag) {
  return etx_diag_seal(diag, open_bytes(module, file, options, diag));
}

static etx_status open_path(etx_module* module, const char* path,
                            const etx_module_options* options, etx_diag* diag) {
  etx_bytes file;
  memset(module, 0, sizeof *module);
  const bool in_memory = options != NULL && options->in_memory;
  const etx_module_memory memory = options == NULL || options->memory == NULL
                                       ? etx_module_heap
                                       : *options->memory;
  ETX_TRY(open_file(path, in_memory, &memory, &file, diag));
  const etx_status status = open_bytes(module, file, options, diag);
  if (status == ETX_OK) {
    module->owns_file = true;
    return ETX_OK;
  }
  close_file(file, in_memory, &memory);
  memset(module, 0, sizeof *module);
  return status;
}

etx_status etx_module_open(etx_module* module, const char* path,
                           const etx_module_options* options, etx_diag* diag) {
  return etx_diag_seal(diag, open_path(module, path, options, diag));
}

void etx_module_share(etx_module* module, const etx_module* owner) {
  memset(module, 0, sizeof *module);
  module->program = owner->program;
  module->memory = owner->memory;
  module->file = owner->file;
  module->resident = owner->resident;
  module->resident.observer.context = &module->resident;
}

// Memory of the heap, and of the caller, would stay locked.
static void unlock_files(const etx_module* module) {
  etx_module_file_unlock(module->file);
  for (size_t i = 0; i < module->data_count; ++i) {
    etx_module_file_unlock(module->data[i].file);
  }
}

void etx_module_close(etx_module* module) {
  etx_module_methods_close(module);
  if (module->is_locked) unlock_files(module);
  if (module->memory.give_back != NULL) close_data(module);
  if (module->owns_file) {
    close_file(module->file, module->in_memory, &module->memory);
  }
  memset(module, 0, sizeof *module);
}

static etx_status open_shared(etx_module_shared* shared, etx_module* module,
                              etx_diag* diag) {
  memset(shared, 0, sizeof *shared);
  ETX_TRY(etx_module_start_session(module, "a session", &shared->memory,
                                   &shared->block, diag));
  shared->module = module;
  return ETX_OK;
}

etx_status etx_module_shared_open(etx_module_shared* shared, etx_module* module,
                                  etx_diag* diag) {
  return etx_diag_seal(diag, open_shared(shared, module, diag));
}

void etx_module_shared_close(etx_module_shared* shared) {
  if (shared->block != NULL) {
    const etx_module_memory* memory = &shared->module->memory;
    memory->give_back(memory->context, shared->block);
  }
  memset(shared, 0, sizeof *shared);
}

etx_status etx_module_shared_allocator(etx_module_shared* shared,
                                       const char* method,
                                       etx_planned_memory* out_planned,
                                       etx_diag* diag) {
  return etx_shared_memory_allocator(&shared->memory, etx_text_of(method),
                                     out_planned, diag);
}

static etx_status find_or_load(etx_module* module, const char* name,
                               etx_method** out_method, etx_diag* diag) {
  if (etx_module_method(module, name) == NULL) {
    ETX_TRY(etx_module_load_method(module, name, NULL, diag));
  }
  *out_method = etx_module_method(module, name);
  return ETX_OK;
}

static etx_status execute(etx_module* module, const char* name,
                          const etx_value* inputs, size_t input_count,
                          etx_diag* diag) {
  etx_method* method = NULL;
  ETX_TRY(find_or_load(module, name, &method, diag));
  for (size_t i = 0; i < input_count; ++i) {
    ETX_TRY(etx_method_set_value(method, i, &inputs[i], diag));
  }
  if (module->resident.observe != NULL) {
    module->resident.observe(&module->resident, method);
  }
  return etx_method_run(method, diag);
}

etx_status etx_module_execute(etx_module* module, const char* name,
                              const etx_value* inputs, size_t input_count,
                              etx_diag* diag) {
  return etx_diag_seal(diag, execute(module, name, inputs, input_count, diag));
}

static etx_status find_output(etx_module* module, const char* name,
                              size_t index, const etx_value** out_value,
                              etx_diag* diag) {
  const etx_method* method = etx_module_method(module, name);
  if (method == NULL) {
    return etx_diag_fail(diag, ETX_BAD_STATE, "method '%s' is not loaded",
                         name);
  }
  if (etx_method_output(method, index, out_value) == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "output %z, but method '%s' has %z outputs", index, name,
                       method->output_count);
}

etx_status etx_module_output(etx_module* module, const char* name, size_t index,
                             const etx_value** out_value, etx_diag* diag) {
  return etx_diag_seal(diag, find_output(module, name, index, out_value, diag));
}

etx_value etx_module_tensor(void* data, etx_dtype dtype, const int32_t* sizes,
                            uint8_t rank) {
  etx_value value;
  memset(&value, 0, sizeof value);
  value.kind = ETX_VALUE_TENSOR;
  value.as.tensor = (etx_tensor){data, sizes, NULL, rank, dtype};
  return value;
}
