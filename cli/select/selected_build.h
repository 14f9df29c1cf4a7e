// The build that a selection asks for, and the files that describe it.
//
//   etx_selected.c           the kernel table, as C
//   etx_selected.h           types, features, bytes of memory, fingerprint
//   etx_selected_loops.h     the loops that the kernels call
//   selected.cmake           options of the build for CMake
//   cc.args                  the same for a compiler, for etx.c
//   selected_operators.yaml  the selection in ExecuTorch's form

#ifndef ETX_CLI_SELECT_SELECTED_BUILD_H
#define ETX_CLI_SELECT_SELECTED_BUILD_H

#include "cli/select/described_operators.h"
#include "cli/select/select_program.h"
#include "cli/select/selected_loops.h"
#include "format/base/sink.h"
#include "runtime/instruction_set.h"

typedef struct etx_selected_build {
  // Those that want a kernel, in the order of op_schema.def; then those of the
  // application, each the first field of an etx_own_operator.
  const etx_op** ops;
  uint32_t* op_dtypes;  // for each of them the types of its calls: its cells
  size_t count;         // of ops
  size_t own_count;     // of these, those of the application
  uint32_t dtypes;      // with all that they bring along
  uint32_t loops[ETX_LOOP_COUNT];  // types of the calls that want each loop
  bool has_messages;
  bool has_verifier;
  bool has_size_programs;
  bool is_narrowed;   // to what traces have reached
  uint32_t features;  // a bit for each row of build_features.def
  bool is_dynamic;
  bool has_control_flow;
  bool has_data_files;
  bool has_views;
  bool has_index_checks;
  etx_memory_needed bytes;         // 0: no program was read
  etx_instruction_set widest_set;  // ETX_SET_ANY: no limit
  char fingerprint[17];            // of all above but the bytes, hexadecimal
} etx_selected_build;

// Where operators that this version of etx does not have are looked up, and
// what is called for each one that is not there.
typedef struct etx_unknown_operators {
  const etx_described_operators* described;
  void (*report)(void* context, const etx_selected_operator* op);
  void* context;
} etx_unknown_operators;

// Fills `build` from a selection and the facts of the programs in it; operators
// that etx does not have are those of `unknown`. Choices that no file
// states (messages, verifier, size programs,
// instruction set) are set by the caller before.
// ETX_MISSING_OPERATOR: some operators are unknown; each is reported.
ETX_MUST_USE etx_status etx_selected_build_fill(
    const etx_selection* selection, const etx_selected_facts* facts,
    const etx_unknown_operators* unknown, etx_pool* pool,
    etx_selected_build* build, etx_diag* diag);

// A file of the build: its name, and the function that writes it. `folder` is
// where the files will be.
typedef struct etx_selected_file {
  const char* name;
  etx_status (*write)(const etx_selected_build* build,
                      const etx_selection* selection, const char* folder,
                      const etx_sink* sink);
} etx_selected_file;

enum {
  ETX_SELECTED_TABLE,
  ETX_SELECTED_HEADER,
  ETX_SELECTED_LOOPS_FILE,
  ETX_SELECTED_CMAKE,
  ETX_SELECTED_ARGUMENTS,
  ETX_SELECTED_YAML,
  ETX_SELECTED_FILES  // the number of files
};
extern const etx_selected_file etx_selected_files[ETX_SELECTED_FILES];

#endif
