// Loading methods: where the memory of each comes from.

#include "runtime/module/module_method.h"

typedef struct etx_module_method {
  struct etx_module_method* next;
  etx_method method;
  etx_bytes_mut structures;
  etx_bytes_mut scratch;      // of its own; empty: the module's
  etx_shared_memory session;  // private state, if it has a block
  void* block;
} etx_module_method_entry;

etx_status etx_module_take_any(etx_module* module, etx_bytes_mut* block,
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

etx_status etx_module_take(etx_module* module, etx_bytes_mut* block,
                           const char* what, etx_diag* diag) {
  ETX_TRY(etx_module_take_any(module, block, what, diag));
  memset(block->data, 0, block->size);
  return ETX_OK;
}

static void give_back(etx_module* module, void* memory) {
  if (memory != NULL) module->memory.give_back(module->memory.context, memory);
}

// As etx_module_take_any; `*out_taken` is what is to be given back.
static etx_status take_zeroed(etx_module* module, etx_bytes_mut* block,
                              const char* what, void** out_taken,
                              etx_diag* diag) {
  enum { SPARE = ETX_SHARED_MEMORY_ALIGNMENT - 1 };
  *out_taken = block->size > SIZE_MAX - SPARE
                   ? NULL
                   : module->memory.take_zeroed(module->memory.context,
                                                block->size + SPARE);
  if (*out_taken == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "no memory for %s: %z bytes",
                         what, block->size);
  }
  block->data = (uint8_t*)*out_taken + (-(uintptr_t)*out_taken & SPARE);
  return ETX_OK;
}

etx_status etx_module_start_session(etx_module* module, const char* what,
                                    etx_shared_memory* out_session,
                                    void** out_block, etx_diag* diag) {
  const etx_program* const program = &module->program;
  etx_bytes_mut block = {NULL, 0};
  void* taken = NULL;
  etx_status status;
  ETX_TRY(etx_shared_memory_needed(program, &block.size));
  if (module->memory.take_zeroed != NULL) {
    ETX_TRY(take_zeroed(module, &block, what, &taken, diag));
    status = etx_shared_memory_init_zeroed(out_session, program, block, diag);
  } else {
    ETX_TRY(etx_module_take_any(module, &block, what, diag));
    taken = block.data;
    status = etx_shared_memory_init(out_session, program, block, diag);
  }
  if (status != ETX_OK) {
    give_back(module, taken);
    return status;
  }
  *out_block = taken;
  return ETX_OK;
}

static void close_entry(etx_module* module, etx_module_method_entry* entry) {
  give_back(module, entry->structures.data);
  give_back(module, entry->scratch.data);
  give_back(module, entry->block);
  give_back(module, entry);
}

void etx_module_methods_close(etx_module* module) {
  while (module->methods != NULL) {
    etx_module_method_entry* entry = module->methods;
    module->methods = entry->next;
    close_entry(module, entry);
  }
  give_back(module, module->scratch);
  give_back(module, module->temporary);
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

// The most that any method needs, so that blocks never have to grow: `known`
// is what the method `name` does. What cannot be counted cannot be loaded
// either, and is refused then.
static void find_largest(const etx_module* module, etx_text name,
                         const etx_memory_needed* known, size_t* out_scratch,
                         size_t* out_temporary) {
  const etx_program* program = &module->program;
  *out_scratch = known->scratch_bytes;
  *out_temporary = known->temporary_bytes;
  for (size_t i = 0; i < etx_program_method_count(program); ++i) {
    etx_method_info info;
    etx_memory_needed needed;
    if (etx_program_method_at(program, i, &info) != ETX_OK ||
        etx_text_equal(info.name, name)) {
      continue;
    }
    if (etx_method_needed(program, info.name, &needed, NULL) != ETX_OK) {
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

// A plan of etx's own reads nothing that it has not written, so the blocks stay
// as they come: pages that no run touches are never there.
static etx_status take_blocks(etx_module* module, etx_text name,
                              const etx_memory_needed* known, etx_diag* diag) {
  etx_bytes_mut scratch = {NULL, 0};
  etx_bytes_mut temporary = {NULL, 0};
  if (module->temporary != NULL) return ETX_OK;
  find_largest(module, name, known, &scratch.size, &temporary.size);
  if (module->program.has_blob && module->scratch == NULL) {
    ETX_TRY(etx_module_take_any(module, &scratch, "scratch", diag));
    module->scratch = scratch.data;
    module->scratch_size = scratch.size;
  }
  ETX_TRY(etx_module_take_any(module, &temporary, "temporary memory", diag));
  module->temporary = temporary.data;
  module->temporary_size = temporary.size;
  return ETX_OK;
}

static etx_status take_private_state(etx_module* module,
                                     etx_module_method_entry* entry,
                                     etx_diag* diag) {
  if (entry->block != NULL) return ETX_OK;
  return etx_module_start_session(module, "private state", &entry->session,
                                  &entry->block, diag);
}

static etx_status init_method(etx_module* module,
                              etx_module_method_entry* entry, etx_text name,
                              const etx_planned_memory* allocator,
                              const etx_missing_sink* missing, etx_diag* diag) {
  etx_memory_needed needed;
  etx_method_memory memory;
  memset(&memory, 0, sizeof memory);
  ETX_TRY(etx_method_needed(&module->program, name, &needed, diag));
  ETX_TRY(take_blocks(module, name, &needed, diag));
  entry->structures.size = needed.structure_bytes;
  ETX_TRY(etx_module_take_any(module, &entry->structures, "a method", diag));
  memory.scratch =
      (etx_bytes_mut){(uint8_t*)module->scratch, module->scratch_size};
  if (!module->program.has_blob) {
    entry->scratch.size = needed.scratch_bytes;
    ETX_TRY(etx_module_take_any(module, &entry->scratch, "scratch", diag));
    memory.scratch = entry->scratch;
  }
  if (needed.state_bytes > 0 && allocator == NULL) {
    ETX_TRY(take_private_state(module, entry, diag));
    allocator = &entry->session.planned;
  }
  memory.structures = entry->structures;
  memory.temporary =
      (etx_bytes_mut){(uint8_t*)module->temporary, module->temporary_size};
  memory.state = allocator;
  return etx_method_init(&entry->method, &module->program, name, &memory,
                         missing, diag);
}

// A loaded method only changes its session.
static etx_status rebind(etx_module* module, etx_module_method_entry* entry,
                         const etx_planned_memory* allocator, etx_diag* diag) {
  if (entry->method.state.data == NULL) return ETX_OK;
  if (allocator == NULL) {
    ETX_TRY(take_private_state(module, entry, diag));
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
  ETX_TRY(etx_module_take(module, &memory, "a method", diag));
  entry = (etx_module_method_entry*)(void*)memory.data;
  const etx_status status =
      init_method(module, entry, text, allocator, missing, diag);
  if (status != ETX_OK) {
    close_entry(module, entry);
    return status;
  }
  entry->next = module->methods;
  module->methods = entry;
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
