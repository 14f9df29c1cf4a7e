#include "cli/amalgamate/selected_sources.h"

#include <string.h>

#include "cli/amalgamate/embedded_sources.h"
#include "cli/amalgamate/message_texts.h"
#include "cli/amalgamate/source_reader.h"
#include "cli/amalgamate/source_reduce.h"
#include "exporter/host/text_buffer.h"

static const char header_start[] =
    "// The runtime of etx with the kernels of some programs; goes with "
    "etx.c.\n"
    "// Written by 'etx select'; do not edit.\n"
    "// SPDX-License-Identifier: Apache-2.0\n"
    "//\n"
    "//   cc -std=c11 -O2 etx.c app.c -lm -o app\n"
    "#ifndef ETX_ETX_H\n#define ETX_ETX_H\n\n";

static const char header_open[] =
    "\n#include <stdarg.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
    "#include <stdint.h>\n#include <string.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";

static const char header_end[] = "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";

static const char source_start[] =
    "// The runtime of etx with the kernels of some programs: see etx.h.\n"
    "// Written by 'etx select'; do not edit. Comments are in etx's own "
    "sources.\n"
    "// SPDX-License-Identifier: Apache-2.0\n";

// A processor, and what its compilers do not define.
static const struct {
  const char* name;
  bool is_x86, is_arm64;
} machines[] = {
    {"x86", true, false}, {"arm64", false, true}, {"portable", false, false}};

bool etx_sources_machine_is_known(const char* machine) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
    if (strcmp(machines[i].name, machine) == 0) return true;
  }
  return false;
}

// A definition: both the preprocessor here and the compiler have it.
static etx_status state(etx_source* source, etx_text_buffer* header,
                        const char* name, const char* value) {
  etx_text_put_format(header, "#define %s %s\n", name, value);
  return etx_source_state(source, name, value);
}

static etx_status state_machine(etx_source* source, const char* machine,
                                etx_text_buffer* header) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
    if (machine == NULL || strcmp(machines[i].name, machine) != 0) continue;
    ETX_TRY(etx_source_state(source, "__x86_64__",
                             machines[i].is_x86 ? "1" : NULL));
    if (!machines[i].is_x86) {  // nothing asks which instructions it has
      ETX_TRY(etx_source_state(source, "__i386__", NULL));
    }
    ETX_TRY(etx_source_state(source, "__AARCH64EL__",
                             machines[i].is_arm64 ? "1" : NULL));
    if (!machines[i].is_x86 && !machines[i].is_arm64) {
      ETX_TRY(state(source, header, "ETX_PORTABLE", "1"));
    }
  }
  return ETX_OK;
}

static etx_status put_bytes(void* context, etx_bytes bytes) {
  etx_text_buffer* const buffer = context;
  etx_text_put(buffer, (const char*)bytes.data, bytes.size);
  return buffer->status;
}

static etx_text text_of(const etx_text_buffer* buffer) {
  return (etx_text){buffer->data, buffer->size};
}

// The text of one of the files of the build.
static etx_status build_text(const etx_selected_build* build,
                             const etx_selection* selection, size_t file,
                             etx_pool* pool, etx_text* out) {
  etx_text_buffer buffer;
  etx_text_buffer_init(&buffer, pool);
  const etx_sink sink = {put_bytes, &buffer};
  ETX_TRY(etx_selected_files[file].write(build, selection, ".", &sink));
  *out = text_of(&buffer);
  return ETX_OK;
}

// Takes the definitions from the options of a compiler, one a line.
static etx_status state_options(etx_source* source, etx_text options,
                                etx_pool* pool, etx_text_buffer* header) {
  const char* at = options.data;
  const char* const end = options.data + options.size;
  while (at < end) {
    const char* const newline = memchr(at, '\n', (size_t)(end - at));
    const size_t size = (size_t)((newline == NULL ? end : newline) - at);
    const char* const equals = memchr(at, '=', size);
    if (size > 2 && memcmp(at, "-D", 2) == 0 && equals != NULL) {
      const etx_text name = etx_pool_copy_text(
          pool, (etx_text){at + 2, (size_t)(equals - at) - 2});
      const etx_text value = etx_pool_copy_text(
          pool, (etx_text){equals + 1, size - (size_t)(equals - at) - 1});
      if (name.data == NULL || value.data == NULL) return ETX_OUT_OF_MEMORY;
      ETX_TRY(state(source, header, name.data, value.data));
    }
    at += size + 1;
  }
  return ETX_OK;
}

// Takes the loops that the kernels call (runtime/built_loops.h).
static etx_status state_loops(etx_source* source,
                              const etx_selected_build* build, etx_pool* pool,
                              etx_text_buffer* header) {
  ETX_TRY(etx_source_state(source, "ETX_SELECTED_LOOPS", NULL));
  ETX_TRY(state(source, header, "ETX_SELECTED_LOOPS_H", "1"));
  for (size_t i = 0; i < ETX_LOOP_COUNT; ++i) {
    etx_text_buffer name, value;
    etx_text_buffer_init(&name, pool);
    etx_text_buffer_init(&value, pool);
    etx_text_put_format(&name, "ETX_LOOP_%s", etx_loop_name((etx_loop_id)i));
    etx_text_put_format(&value, "0x%xu", (uint64_t)build->loops[i]);
    etx_text_put(&name, "", 1);  // ends the string
    etx_text_put(&value, "", 1);
    ETX_TRY(name.status);
    ETX_TRY(value.status);
    ETX_TRY(state(source, header, name.data, value.data));
  }
  return ETX_OK;
}

static etx_status state_build(etx_source* source, etx_text options,
                              const etx_selected_build* build,
                              const etx_sources_choice* choice, etx_pool* pool,
                              etx_text_buffer* header) {
  ETX_TRY(state_options(source, options, pool, header));
  ETX_TRY(state_loops(source, build, pool, header));
  ETX_TRY(etx_source_state(source, "__cplusplus", NULL));
  ETX_TRY(etx_source_state(source, "__has_include", NULL));
  ETX_TRY(etx_source_state(source, "ETX_WITH_THREADS", NULL));
  ETX_TRY(state_machine(source, choice->machine, header));
  if (choice->has_module) {
    return etx_source_state(source, "ETX_CORE_ONLY", NULL);
  }
  return state(source, header, "ETX_CORE_ONLY", "1");
}

static etx_status need_entries(etx_source* source,
                               const etx_selected_build* build,
                               const etx_sources_choice* choice,
                               etx_diag* diag) {
  bool has_all = true;
#define ENTRY(function) has_all = etx_source_need(source, #function) && has_all;
#include "cli/amalgamate/entry_points.def"
#undef ENTRY
  if (!has_all) return ETX_INTERNAL;
  if (choice->has_module) etx_source_need_all(source, "etx_module_");
  if (build->own_count > 0) {  // what kernels of an application call
    etx_source_need_all(source, "etx_call_");
    etx_source_need_all(source, "etx_tensor_");
  }
  for (size_t i = 0; i < choice->kept_count; ++i) {
    if (etx_source_need(source, choice->kept[i])) continue;
    return etx_diag_fail(diag, ETX_NOT_FOUND,
                         "etx.c has no function '%s'; give one that etx.h of "
                         "the whole library declares",
                         choice->kept[i]);
  }
  return ETX_OK;
}

// Reads the library and the files of the build, the header's text first.
static etx_status read_all(etx_source* source, const etx_selected_build* build,
                           const etx_selection* selection, etx_pool* pool) {
  etx_text header, table;
  ETX_TRY(build_text(build, selection, ETX_SELECTED_HEADER, pool, &header));
  ETX_TRY(build_text(build, selection, ETX_SELECTED_TABLE, pool, &table));
  ETX_TRY(etx_source_read(
      source, (etx_text){etx_embedded_header, etx_embedded_header_bytes},
      true));
  ETX_TRY(etx_source_read(
      source, (etx_text){etx_embedded_source, etx_embedded_source_bytes},
      false));
  ETX_TRY(etx_source_read(source, header, true));
  return etx_source_read(source, table, false);
}

etx_status etx_selected_sources_make(const etx_selected_build* build,
                                     const etx_selection* selection,
                                     const etx_sources_choice* choice,
                                     etx_pool* pool, etx_text_files* files,
                                     etx_diag* diag) {
  etx_source source;
  etx_text options, yaml;
  etx_text_buffer header, text;
  etx_text_buffer_init(&header, pool);
  etx_text_buffer_init(&text, pool);
  const etx_sink to_header = {put_bytes, &header};
  const etx_sink to_text = {put_bytes, &text};
  ETX_TRY(build_text(build, selection, ETX_SELECTED_ARGUMENTS, pool, &options));
  ETX_TRY(build_text(build, selection, ETX_SELECTED_YAML, pool, &yaml));
  etx_text_put_string(&header, header_start);
  ETX_TRY(etx_source_init(&source, pool));
  ETX_TRY(state_build(&source, options, build, choice, pool, &header));
  ETX_TRY(read_all(&source, build, selection, pool));
  ETX_TRY(need_entries(&source, build, choice, diag));
  ETX_TRY(etx_source_reduce(&source));
  if (!build->has_messages) ETX_TRY(etx_message_texts_empty(&source));
  etx_text_put_string(&header, header_open);
  ETX_TRY(etx_source_write(&source, true, &to_header));
  etx_text_put_string(&header, header_end);
  etx_text_put_string(&text, source_start);
  ETX_TRY(etx_source_write(&source, false, &to_text));
  ETX_TRY(header.status);
  ETX_TRY(text.status);
  ETX_TRY(etx_text_files_add(files, "etx.h", text_of(&header)));
  ETX_TRY(etx_text_files_add(files, "etx.c", text_of(&text)));
  return etx_text_files_add(files, etx_selected_files[ETX_SELECTED_YAML].name,
                            yaml);
}
