// Loads methods and allocates the memory of each.

#include "runtime/module/module_method.h"

#include "runtime/size_values.h"
#include "runtime/variants.h"

typedef struct etx_module_method {
  struct etx_module_method* next;
  etx_method method;
  etx_bytes_mut structures;
  etx_bytes_mut scratch;      // private; empty: the module's is used
  etx_shared_memory session;  // private session, if `block` is not NULL
  void* block;
  etx_bytes_mut variants;     // structures of the method's variants
  etx_bytes_mut size_values;  // that the method keeps
} etx_module_method_entry;

// Allocates `block->size` bytes, at least one, without setting them.
static etx_status allocate(etx_module* module, etx_bytes_mut* block,
                           const char* what, etx_diag* diag) {
  if (block->size == 0) block->size = 1;
  block->data = (uint8_t*)module->memory.take(
      module->memory.context, block->size, ETX_SHARED_MEMORY_ALIGNMENT);
  if (block->data == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for %s: %z bytes",
                         what, block->size);
  }
  return ETX_OK;
}

etx_status etx_module_allocate_zeroed(etx_module* module, etx_bytes_mut* block,
                                      const char* what, etx_diag* diag) {
  ETX_TRY(allocate(module, block, what, diag));
  memset(block->data, 0, block->size);
  return ETX_OK;
}

static void release(etx_module* module, void* memory) {
  if (memory != NULL) module->memory.give_back(module->memory.context, memory);
}

// The same with the zeroing allocator, which does not align: `*out_allocation`
// is the address to free.
static etx_status allocate_calloc(etx_module* module, etx_bytes_mut* block,
                                  const char* what, void** out_allocation,
                                  etx_diag* diag) {
  enum { SPARE = ETX_SHARED_MEMORY_ALIGNMENT - 1 };
  *out_allocation = block->size > SIZE_MAX - SPARE
                        ? NULL
                        : module->memory.take_zeroed(module->memory.context,
                                                     block->size + SPARE);
  if (*out_allocation == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for %s: %z bytes",
                         what, block->size);
  }
  block->data =
      (uint8_t*)*out_allocation + (-(uintptr_t)*out_allocation & SPARE);
  return ETX_OK;
}

etx_status etx_module_start_session(etx_module* module, const char* what,
                                    etx_shared_memory* out_session,
                                    void** out_block, etx_diag* diag) {
  const etx_program* const program = &module->program;
  etx_bytes_mut block = {NULL, 0};
  void* allocation = NULL;
  etx_status status;
  ETX_TRY(etx_shared_memory_needed(program, &block.size));
  if (module->memory.take_zeroed != NULL) {
    ETX_TRY(allocate_calloc(module, &block, what, &allocation, diag));
    status = etx_shared_memory_init_zeroed(out_session, program, block, diag);
  } else {
    ETX_TRY(allocate(module, &block, what, diag));
    allocation = block.data;
    status = etx_shared_memory_init(out_session, program, block, diag);
  }
  if (status != ETX_OK) {
    release(module, allocation);
    return status;
  }
  *out_block = allocation;
  return ETX_OK;
}

static void close_entry(etx_module* module, etx_module_method_entry* entry) {
  release(module, entry->structures.data);
  release(module, entry->scratch.data);
  release(module, entry->block);
  release(module, entry->variants.data);
  release(module, entry->size_values.data);
  release(module, entry);
}

void etx_module_methods_close(etx_module* module) {
  while (module->methods != NULL) {
    etx_module_method_entry* entry = module->methods;
    module->methods = entry->next;
    close_entry(module, entry);
  }
  release(module, module->scratch);
  release(module, module->temporary);
  module->scratch = NULL;
  module->temporary = NULL;
}

static etx_module_method_entry* find_entry(etx_module* module, etx_text name) {
  etx_module_method_entry* entry = module->methods;
  while (entry != NULL &&
         !etx_text_equal(etx_pte_plan_name(&entry->method.plan), name)) {
    entry = entry->next;
  }
  return entry;
}

etx_method* etx_module_method(etx_module* module, const char* name) {
  etx_module_method_entry* entry = find_entry(module, etx_text_of(name));
  return entry == NULL ? NULL : &entry->method;
}

// The largest scratch and temporary memory that any method or variant needs, so
// that the blocks never have to grow. `own_needs` are those of the method that
// is loaded. Methods whose needs cannot be counted are skipped: they cannot be
// loaded either.
static void find_largest_needs(const etx_module* module,
                               const etx_memory_needed* own_needs,
                               size_t* out_scratch, size_t* out_temporary) {
  const etx_program* program = &module->program;
  *out_scratch = own_needs->scratch_bytes;
  *out_temporary = own_needs->temporary_bytes;
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    etx_memory_needed needed;
    size_t variants = 0;
    if (etx_program_method_at(program, i, &info) != ETX_OK ||
        etx_method_variants_needed(program, info.name, &variants, &needed,
                                   NULL) != ETX_OK) {
      continue;
    }
    if (needed.scratch_bytes > *out_scratch) {
      *out_scratch = needed.scratch_bytes;
    }
    if (needed.temporary_bytes > *out_temporary) {
      *out_temporary = needed.temporary_bytes;
    }
  }
}

// Allocates scratch and temporary memory for all methods. They are not zeroed:
// a plan made by etx reads only what it has written, and pages that are never
// touched cost nothing.
static etx_status allocate_shared_blocks(etx_module* module,
                                         const etx_memory_needed* own_needs,
                                         etx_diag* diag) {
  etx_bytes_mut scratch = {NULL, 0};
  etx_bytes_mut temporary = {NULL, 0};
  if (module->temporary != NULL) return ETX_OK;
  find_largest_needs(module, own_needs, &scratch.size, &temporary.size);
  if (module->program.has_blob && module->scratch == NULL) {
    ETX_TRY(allocate(module, &scratch, "scratch", diag));
    module->scratch = scratch.data;
    module->scratch_size = scratch.size;
  }
  ETX_TRY(allocate(module, &temporary, "temporary memory", diag));
  module->temporary = temporary.data;
  module->temporary_size = temporary.size;
  return ETX_OK;
}

static etx_status start_private_session(etx_module* module,
                                        etx_module_method_entry* entry,
                                        etx_diag* diag) {
  if (entry->block != NULL) return ETX_OK;
  return etx_module_start_session(module, "private state", &entry->session,
                                  &entry->block, diag);
}

static etx_status keep_size_values(etx_module* module,
                                   etx_module_method_entry* entry,
                                   etx_diag* diag) {
  if (!ETX_DYNAMIC) return ETX_OK;
  entry->size_values.size = etx_method_size_values_needed(&entry->method);
  if (entry->size_values.size == 0) return ETX_OK;
  ETX_TRY(allocate(module, &entry->size_values,
                   "values that depend on sizes alone", diag));
  return etx_method_keep_size_values(&entry->method, entry->size_values, diag);
}

// Scratch and temporary memory of the module are large enough for all methods
// of the file, variants included.
static etx_status load_variants(etx_module* module,
                                etx_module_method_entry* entry, etx_text name,
                                const etx_missing_sink* missing,
                                etx_diag* diag) {
  etx_memory_needed needed;
  size_t count = 0;
  if (!ETX_DYNAMIC) return ETX_OK;
  ETX_TRY(etx_method_variants_needed(&module->program, name, &count, &needed,
                                     diag));
  if (count == 0) return ETX_OK;
  entry->variants.size = needed.structure_bytes;
  ETX_TRY(allocate(module, &entry->variants, "the variants of a method", diag));
  return etx_method_use_variants(&entry->method, entry->variants, missing,
                                 diag);
}

static etx_status init_method(etx_module* module,
                              etx_module_method_entry* entry, etx_text name,
                              const etx_planned_memory* allocator,
                              const etx_missing_sink* missing, etx_diag* diag) {
  etx_memory_needed needed;
  etx_method_memory memory;
  memset(&memory, 0, sizeof memory);
  ETX_TRY(etx_method_needed(&module->program, name, &needed, diag));
  ETX_TRY(allocate_shared_blocks(module, &needed, diag));
  entry->structures.size = needed.structure_bytes;
  ETX_TRY(allocate(module, &entry->structures, "a method", diag));
  memory.scratch =
      (etx_bytes_mut){(uint8_t*)module->scratch, module->scratch_size};
  if (!module->program.has_blob) {
    entry->scratch.size = needed.scratch_bytes;
    ETX_TRY(allocate(module, &entry->scratch, "scratch", diag));
    memory.scratch = entry->scratch;
  }
  if (needed.state_bytes > 0 && allocator == NULL) {
    ETX_TRY(start_private_session(module, entry, diag));
    allocator = &entry->session.planned;
  }
  memory.structures = entry->structures;
  memory.temporary =
      (etx_bytes_mut){(uint8_t*)module->temporary, module->temporary_size};
  memory.state = allocator;
  ETX_TRY(etx_method_init(&entry->method, &module->program, name, &memory,
                          missing, diag));
  ETX_TRY(load_variants(module, entry, name, missing, diag));
  return keep_size_values(module, entry, diag);
}

// A method that is already loaded is bound to another session.
static etx_status rebind(etx_module* module, etx_module_method_entry* entry,
                         const etx_planned_memory* allocator, etx_diag* diag) {
  if (entry->method.state.data == NULL) return ETX_OK;
  if (allocator == NULL) {
    ETX_TRY(start_private_session(module, entry, diag));
    allocator = &entry->session.planned;
  }
  return etx_method_bind(&entry->method, allocator, diag);
}

static etx_status load_method(etx_module* module, const char* name,
                              const etx_planned_memory* allocator,
                              const etx_missing_sink* missing, etx_diag* diag) {
  const etx_text text = etx_text_of(name);
  etx_module_method_entry* entry = find_entry(module, text);
  if (entry != NULL) return rebind(module, entry, allocator, diag);
  etx_bytes_mut memory = {NULL, sizeof *entry};
  ETX_TRY(etx_module_allocate_zeroed(module, &memory, "a method", diag));
  entry = (etx_module_method_entry*)(void*)memory.data;
  const etx_status status =
      init_method(module, entry, text, allocator, missing, diag);
  if (status != ETX_OK) {
    close_entry(module, entry);
    return status;
  }
  entry->next = module->methods;
  module->methods = entry;
  if (module->resident.observe != NULL) {
    module->resident.observe(&module->resident, &entry->method);
  }
  return ETX_OK;
}

etx_status etx_module_load_method_telling(etx_module* module, const char* name,
                                          const etx_planned_memory* allocator,
                                          const etx_missing_sink* missing,
                                          etx_diag* diag) {
  return etx_diag_seal(diag,
                       load_method(module, name, allocator, missing, diag));
}

etx_status etx_module_load_method(etx_module* module, const char* name,
                                  const etx_planned_memory* allocator,
                                  etx_diag* diag) {
  return etx_module_load_method_telling(module, name, allocator, NULL, diag);
}
