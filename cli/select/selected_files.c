// Writes the files of a selected build.

#include "cli/kernels/operator_header.h"
#include "cli/select/kernel_names.h"
#include "cli/select/selected_build.h"
#include "cli/select/selection_yaml.h"

enum { LINE_BYTES = 1024 };

// Formats (as diag.h does) one piece of text into the sink; a piece is shorter
// than LINE_BYTES.
static etx_status put(const etx_sink* sink, const char* format, ...) {
  char line[LINE_BYTES];
  va_list list;
  va_start(list, format);
  const size_t length = etx_format_text_list(line, sizeof line, format, list);
  va_end(list);
  if (length + 1 >= sizeof line) return ETX_OUT_OF_RANGE;  // cut off
  return etx_sink_write(sink, line, length);
}

// Where the operators of the application begin.
static size_t first_own(const etx_selected_build* build) {
  return build->count - build->own_count;
}

static etx_status put_own_rows(const etx_selected_build* build,
                               const etx_sink* sink) {
  for (size_t i = first_own(build); i < build->count; ++i) {
    ETX_TRY(put(sink, "    {&"));
    ETX_TRY(etx_operator_identifier_write(build->ops[i], sink));
    ETX_TRY(put(sink, ".op, "));
    ETX_TRY(etx_operator_identifier_write(build->ops[i], sink));
    ETX_TRY(put(sink, "_prepare, NULL, NULL},\n"));
  }
  return ETX_OK;
}

static etx_status put_rows(const etx_selected_build* build,
                           const etx_sink* sink) {
  ETX_TRY(put(sink, "static const etx_kernel rows[] = {\n"));
  for (size_t i = 0; i < first_own(build); ++i) {
    const etx_op_id op = build->ops[i]->id;
    const char* const temporary = etx_kernel_temporary_name(op);
    const char* const check = etx_kernel_check_name(op);
    ETX_TRY(put(sink,
                "    {&etx_op_row_%s, etx_kernel_%s_prepare, %s, %s%s},\n",
                etx_kernel_symbol(op), etx_kernel_symbol(op),
                temporary == NULL ? "NULL" : temporary,
                check == NULL ? "" : "&", check == NULL ? "NULL" : check));
  }
  ETX_TRY(put_own_rows(build, sink));
  ETX_TRY(put(sink,
              "};\n\n// The types that each kernel is called with: a bit for "
              "each code of dtype.def.\n"
              "static const uint32_t dtypes[] = {\n"));
  for (size_t i = 0; i < build->count; ++i) {
    ETX_TRY(put(sink, "    UINT32_C(0x%x),\n", (uint64_t)build->op_dtypes[i]));
  }
  return put(sink, "};\n");
}

// The cells of the table, with what a message says about missing ones.
static etx_status put_advice(const etx_selected_build* build,
                             const etx_sink* sink) {
  ETX_TRY(
      put(sink,
          "\n// Without messages, no text is needed, and no list of what is "
          "missing.\n"
          "static const etx_cells cells = {\n    %s,\n"
          "    UINT32_C(0x%x),  // features\n",
          build->count == 0 ? "NULL" : "dtypes", (uint64_t)build->features));
  if (build->is_narrowed) {
    ETX_TRY(
        put(sink,
            "    ETX_MESSAGES ? \"this build (%s) has only what traces have "
            "reached: \"\n"
            "                   \"record these calls with 'etx run "
            "--trace-ops more.yaml', give \"\n"
            "                   \"all traces to 'etx select --narrow "
            "--trace' and build again\"\n",
            build->fingerprint));
  } else {
    ETX_TRY(put(sink,
                "    ETX_MESSAGES ? \"give this program to 'etx select', too, "
                "and build again\"\n"));
  }
  return put(sink,
             "                 : NULL,\n"
             "    ETX_MESSAGES ? etx_missing_cells_check : NULL,\n};\n\n");
}

// True if no kernel before position `i` of the build has this name.
static bool is_new_name(const etx_selected_build* build, size_t i,
                        const char* (*name_of)(etx_op_id op)) {
  const char* const name = name_of(build->ops[i]->id);
  for (size_t k = 0; name != NULL && k < i; ++k) {
    const char* const other = name_of(build->ops[k]->id);
    if (other != NULL && strcmp(other, name) == 0) return false;
  }
  return name != NULL;
}

// Declares what the rows refer to. What several kernels share is declared once.
static etx_status put_declarations(const etx_selected_build* build,
                                   const etx_sink* sink) {
  for (size_t i = 0; i < first_own(build); ++i) {
    const etx_op_id op = build->ops[i]->id;
    ETX_TRY(put(sink, "etx_status etx_kernel_%s_prepare(etx_call* call);\n",
                etx_kernel_symbol(op)));
    if (is_new_name(build, i, etx_kernel_temporary_name)) {
      ETX_TRY(put(sink,
                  "etx_status %s(const etx_call* call, size_t* out_bytes);\n",
                  etx_kernel_temporary_name(op)));
    }
    if (is_new_name(build, i, etx_kernel_check_name)) {
      ETX_TRY(put(sink, "extern const etx_kernel_check %s;\n",
                  etx_kernel_check_name(op)));
    }
  }
  for (size_t i = first_own(build); i < build->count; ++i) {
    ETX_TRY(put(sink, "\n"));
    ETX_TRY(
        etx_operator_row_write((const etx_own_operator*)build->ops[i], sink));
  }
  return ETX_OK;
}

// What the application defines: the first phases of its kernels.
static etx_status put_own_kernels(const etx_selected_build* build,
                                  const etx_sink* sink) {
  if (build->own_count == 0) return ETX_OK;
  ETX_TRY(put(sink,
              "// Kernels of the application's own operators, which it defines "
              "(runtime/kernel.h).\n"
              "// 'etx ops --header' writes the numbers of their "
              "arguments.\n"));
  for (size_t i = first_own(build); i < build->count; ++i) {
    ETX_TRY(etx_operator_prototype_write(build->ops[i], sink));
  }
  return put(sink, "\n");
}

// Parts of a build that a selection may need, for messages of the compiler.
static const struct {
  const char* name;
  const char* what;
} parts[] = {
    {"DYNAMIC", "dynamic sizes and control flow"},
    {"CONTROL_FLOW", "control flow"},
    {"VIEWS", "views"},
    {"DATA_FILES", "data files"},
    {"INDEX_CHECKS", "checks of indices"},
};

static etx_status write_table(const etx_selected_build* build,
                              const etx_selection* selection,
                              const char* folder, const etx_sink* sink) {
  (void)selection, (void)folder;
  ETX_TRY(
      put(sink,
          "// The kernels of a selected build. Written by 'etx select'; do not "
          "edit.\n"
          "//\n"
          "// An application that links this file has these kernels and no "
          "others:\n"
          "// modules that are opened without a table use etx_default_kernels, "
          "and\n"
          "// etx_program_open takes &etx_selected_kernels.\n\n"
          "#include \"etx_selected.h\"\n\n"));
  ETX_TRY(
      put(sink,
          "_Static_assert((ETX_SELECTED_DTYPES &\n"
          "                ~ETX_DTYPES_CLOSED((uint32_t)ETX_BUILT_DTYPES)) "
          "== 0,\n"
          "               \"this build leaves out element types that the "
          "selection \"\n"
          "               \"needs: see ETX_DTYPES in selected.cmake\");\n"));
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    ETX_TRY(put(sink,
                "_Static_assert(!ETX_SELECTED_%s || ETX_%s,\n"
                "               \"this build leaves out %s, which the \"\n"
                "               \"selection needs: see ETX_%s\");\n",
                parts[i].name, parts[i].name, parts[i].what, parts[i].name));
  }
  ETX_TRY(put(sink,
              "_Static_assert(ETX_CELLS,\n"
              "               \"this build does not check the types of "
              "calls: see ETX_CELLS in \"\n"
              "               \"selected.cmake\");\n\n"));
  ETX_TRY(put_declarations(build, sink));
  ETX_TRY(put(sink, "\n"));
  if (build->count > 0) ETX_TRY(put_rows(build, sink));
  ETX_TRY(put_advice(build, sink));
  ETX_TRY(
      put(sink, build->count == 0
                    ? "const etx_kernel_table etx_selected_kernels = "
                      "{NULL, 0, &cells};\n"
                    : "const etx_kernel_table etx_selected_kernels = {\n"
                      "    rows, sizeof rows / sizeof rows[0], &cells};\n"));
  return put(sink,
             "const etx_kernel_table* const etx_default_kernels =\n"
             "    &etx_selected_kernels;\n");
}

static etx_status put_bytes(const etx_sink* sink, const etx_memory_needed* b) {
  ETX_TRY(put(sink,
              "// Bytes of the most demanding method, by kind of memory. "
              "Structures are\n"
              "// stated for pointers of 64 bits; smaller pointers need "
              "less.\n"));
  ETX_TRY(
      put(sink, "#define ETX_SELECTED_SCRATCH_BYTES %z\n", b->scratch_bytes));
  ETX_TRY(put(sink, "#define ETX_SELECTED_TEMPORARY_BYTES %z\n",
              b->temporary_bytes));
  ETX_TRY(put(sink, "#define ETX_SELECTED_STATE_BYTES %z\n", b->state_bytes));
  return put(sink, "#define ETX_SELECTED_STRUCTURE_BYTES %z\n\n",
             b->structure_bytes);
}

static etx_status write_header(const etx_selected_build* build,
                               const etx_selection* selection,
                               const char* folder, const etx_sink* sink) {
  (void)selection, (void)folder;
  ETX_TRY(put(sink,
              "// What a selected build has. Written by 'etx select'; do not "
              "edit.\n\n"
              "#ifndef ETX_SELECTED_H\n#define ETX_SELECTED_H\n\n"
              "// Beside the two files etx.c and etx.h, or an installed "
              "library.\n"
              "#if defined(__has_include)\n#if __has_include(<etx/etx.h>)\n"
              "#include <etx/etx.h>\n#else\n#include \"etx.h\"\n#endif\n"
              "#else\n#include \"etx.h\"\n#endif\n\n"));
  ETX_TRY(put(sink,
              "// Equal for equal selections.\n"
              "#define ETX_SELECTED_FINGERPRINT \"%s\"\n\n"
              "// Kernels of the table.\n#define ETX_SELECTED_KERNEL_COUNT "
              "%z\n\n",
              build->fingerprint, build->count));
  ETX_TRY(put(sink,
              "// Element types: a bit for each code of dtype.def.\n"
              "#define ETX_SELECTED_DTYPES UINT32_C(0x%x)\n\n",
              (uint64_t)build->dtypes));
  ETX_TRY(
      put(sink,
          "// Parts that the programs need: dynamic sizes; control flow, and\n"
          "// values and sizes that data decide; data files; views; indices.\n"
          "#define ETX_SELECTED_DYNAMIC %i\n"
          "#define ETX_SELECTED_CONTROL_FLOW %i\n"
          "#define ETX_SELECTED_DATA_FILES %i\n"
          "#define ETX_SELECTED_VIEWS %i\n"
          "#define ETX_SELECTED_INDEX_CHECKS %i\n\n",
          (int64_t)build->is_dynamic, (int64_t)build->has_control_flow,
          (int64_t)build->has_data_files, (int64_t)build->has_views,
          (int64_t)build->has_index_checks));
  ETX_TRY(put(sink,
              "// 1: has only what traces of calls have reached (etx select "
              "--narrow).\n"
              "#define ETX_SELECTED_NARROWED %i\n\n",
              (int64_t)build->is_narrowed));
  ETX_TRY(put_bytes(sink, &build->bytes));
  ETX_TRY(put(sink, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"));
  ETX_TRY(put_own_kernels(build, sink));
  return put(sink,
             "extern const etx_kernel_table etx_selected_kernels;\n"
             "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

static etx_status write_loops(const etx_selected_build* build,
                              const etx_selection* selection,
                              const char* folder, const etx_sink* sink) {
  (void)selection, (void)folder;
  ETX_TRY(
      put(sink,
          "// The loops of a selected build, for ETX_SELECTED_LOOPS. "
          "Written by\n// 'etx select'; do not edit.\n//\n"
          "// Each macro has the types of the calls that may want a loop: a "
          "bit for each\n// code of dtype.def.\n\n"
          "#ifndef ETX_SELECTED_LOOPS_H\n"
          "#define ETX_SELECTED_LOOPS_H\n\n"));
  for (size_t i = 0; i < ETX_LOOP_COUNT; ++i) {
    ETX_TRY(put(sink, "#define ETX_LOOP_%s UINT32_C(0x%x)\n",
                etx_loop_name((etx_loop_id)i), (uint64_t)build->loops[i]));
  }
  return put(sink, "\n#endif\n");
}

static etx_status put_types(const etx_selected_build* build,
                            const etx_sink* sink) {
  const char* separator = "";
#define DTYPE(NAME, name, code, bytes, category) \
  if ((build->dtypes >> (code)&1) != 0) {        \
    ETX_TRY(put(sink, "%s%s", separator, name)); \
    separator = ";";                             \
  }
#include "format/tensor/dtype.def"
#undef DTYPE
  return ETX_OK;
}

static etx_status put_part(const etx_sink* sink, const char* name, bool is_in) {
  return put(sink, "set(ETX_%s %s CACHE BOOL \"\" FORCE)\n", name,
             is_in ? "ON" : "OFF");
}

static etx_status write_cmake(const etx_selected_build* build,
                              const etx_selection* selection,
                              const char* folder, const etx_sink* sink) {
  (void)selection, (void)folder;
  ETX_TRY(put(sink,
              "# The options of a selected build. Written by 'etx select'; do "
              "not edit.\n#\n"
              "#   include(selected.cmake)        # before etx's own CMake "
              "files\n"
              "#   add_subdirectory(etx)\n"
              "#   target_link_libraries(app PRIVATE etx::etx)\n"
              "#   etx_use_selected(app)\n\n"));
  ETX_TRY(put(sink,
              "set(ETX_EXPORTER OFF CACHE BOOL \"\" FORCE)\n"
              "set(ETX_DTYPES \""));
  ETX_TRY(put_types(build, sink));
  ETX_TRY(put(sink, "\" CACHE STRING \"\" FORCE)\n"));
  ETX_TRY(put(sink, "set(ETX_WIDEST_SET \"%s\" CACHE STRING \"\" FORCE)\n",
              build->widest_set == ETX_SET_ANY
                  ? ""
                  : etx_instruction_set_name(build->widest_set)));
  ETX_TRY(put_part(sink, "DYNAMIC", build->is_dynamic));
  ETX_TRY(put_part(sink, "CONTROL_FLOW", build->has_control_flow));
  ETX_TRY(put_part(sink, "SIZE_PROGRAMS", build->has_size_programs));
  ETX_TRY(put_part(sink, "VIEWS", build->has_views));
  ETX_TRY(put_part(sink, "DATA_FILES", build->has_data_files));
  ETX_TRY(put_part(sink, "INDEX_CHECKS", build->has_index_checks));
  ETX_TRY(put_part(sink, "MESSAGES", build->has_messages));
  ETX_TRY(put_part(sink, "VERIFIER", build->has_verifier));
  ETX_TRY(put_part(sink, "CELLS", true));
  ETX_TRY(put(sink,
              "set(ETX_SELECTED_LOOPS "
              "\"${CMAKE_CURRENT_LIST_DIR}/etx_selected_loops.h\"\n"
              "  CACHE FILEPATH \"\" FORCE)\n"));
  ETX_TRY(put_part(sink, "TESTS", false));
  return put(sink,
             "\n# Gives the target the selected kernels; what they do not use "
             "is not linked.\n"
             "set(ETX_SELECTED_FOLDER ${CMAKE_CURRENT_LIST_DIR})\n"
             "function(etx_use_selected target)\n"
             "  target_sources(${target} PRIVATE "
             "${ETX_SELECTED_FOLDER}/etx_selected.c)\n"
             "  target_include_directories(${target} PRIVATE "
             "${ETX_SELECTED_FOLDER})\n"
             "  target_link_options(${target} PRIVATE -Wl,--gc-sections)\n"
             "endfunction()\n");
}

static etx_status write_arguments(const etx_selected_build* build,
                                  const etx_selection* selection,
                                  const char* folder, const etx_sink* sink) {
  (void)selection;
  ETX_TRY(put(sink, "-DETX_BUILT_DTYPES=0x%xu\n", (uint64_t)build->dtypes));
  if (build->widest_set != ETX_SET_ANY) {
    ETX_TRY(put(sink, "-DETX_WIDEST_SET=%i\n", (int64_t)build->widest_set));
  }
  if (!build->is_dynamic) ETX_TRY(put(sink, "-DETX_DYNAMIC=0\n"));
  if (!build->has_control_flow) {
    ETX_TRY(put(sink, "-DETX_CONTROL_FLOW=0\n"));
  }
  if (!build->has_size_programs) {
    ETX_TRY(put(sink, "-DETX_SIZE_PROGRAMS=0\n"));
  }
  if (!build->has_views) ETX_TRY(put(sink, "-DETX_VIEWS=0\n"));
  if (!build->has_data_files) ETX_TRY(put(sink, "-DETX_DATA_FILES=0\n"));
  if (!build->has_index_checks) {
    ETX_TRY(put(sink, "-DETX_INDEX_CHECKS=0\n"));
  }
  ETX_TRY(put(sink,
              "-DETX_CELLS=1\n"
              "\"-DETX_SELECTED_LOOPS=<etx_selected_loops.h>\"\n"));
  if (!build->has_messages) ETX_TRY(put(sink, "-DETX_MESSAGES=0\n"));
  if (!build->has_verifier) ETX_TRY(put(sink, "-DETX_VERIFIER=0\n"));
  ETX_TRY(put(sink,
              "-ffunction-sections\n-fdata-sections\n"
              "-fno-asynchronous-unwind-tables\n"
              "-Wl,--gc-sections\n"));
  return put(sink, "\"-I%s\"\n\"%s/etx_selected.c\"\n", folder, folder);
}

static etx_status write_yaml(const etx_selected_build* build,
                             const etx_selection* selection, const char* folder,
                             const etx_sink* sink) {
  (void)build, (void)folder;
  return etx_selection_yaml_write(selection, sink);
}

const etx_selected_file etx_selected_files[ETX_SELECTED_FILES] = {
    {"etx_selected.c", write_table},
    {"etx_selected.h", write_header},
    {"etx_selected_loops.h", write_loops},
    {"selected.cmake", write_cmake},
    {"cc.args", write_arguments},
    {"selected_operators.yaml", write_yaml},
};
