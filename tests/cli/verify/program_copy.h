// A program file as the input of the writer, so that a test can change one
// field and write the file again. All arrays may be changed. Constants have
// only the bytes that some tensor needs.

#ifndef ETX_TESTS_CLI_VERIFY_PROGRAM_COPY_H
#define ETX_TESTS_CLI_VERIFY_PROGRAM_COPY_H

#include "format/pte/etx_blob.h"
#include "format/pte/pte_types.h"

typedef struct program_copy {
  etx_pte_plan_content* plans;
  size_t plan_count;
  etx_pte_content content;
  bool has_blob;
  etx_blob_content blob;
  etx_blob_method* blob_methods;  // of `blob`
  etx_blob_state* states;         // of `blob`
  void* blocks;                   // all memory of the copy
} program_copy;

// Copies `file`, which must be valid and must outlive the copy.
program_copy* program_copy_of(etx_bytes file);
void program_copy_end(program_copy* copy);

// Arrays of a method and of its part of the blob, which may be changed.
etx_pte_value* program_copy_values(program_copy* copy, size_t plan);
int64_t* program_copy_arenas(program_copy* copy, size_t plan);
etx_pte_instruction* program_copy_instructions(program_copy* copy, size_t plan,
                                               size_t chain);
etx_blob_view* program_copy_views(program_copy* copy, size_t method);
etx_blob_symbol* program_copy_symbols(program_copy* copy, size_t method);
etx_blob_input_dim* program_copy_input_dims(program_copy* copy, size_t method);
etx_blob_place* program_copy_places(program_copy* copy, size_t method);
// The plan that a method of the blob describes.
size_t program_copy_plan_of(const program_copy* copy, size_t method);
// Appends to the places of a method a layout that places every value as the
// plan does.
void program_copy_add_layout(program_copy* copy, size_t method);
etx_blob_output* program_copy_outputs(program_copy* copy, size_t method);

// Writes a file; free the bytes with sample_release.
etx_bytes_mut program_copy_write(const program_copy* copy);

#endif
