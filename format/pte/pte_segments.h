// Segments and their content: constants, initial data, named data, data of
// delegates. The verifier uses the functions below, which check their bounds.
//
// Ownership  bytes borrow the file.

#ifndef ETX_FORMAT_PTE_PTE_SEGMENTS_H
#define ETX_FORMAT_PTE_PTE_SEGMENTS_H

#include "format/flatbuffers/fb_reader.h"
#include "format/pte/pte_program.h"

// Sets the fields `constants` and `initial`, after segments have been checked.
// False if the segment of the constants does not exist.
bool etx_pte_subsegments_open(etx_pte* pte);

// Refuses segments that pass the end of what the header states. Needs a
// program whose FlatBuffer is verified.
ETX_MUST_USE etx_status etx_pte_segments_check(const etx_pte* pte,
                                               etx_diag* diag);

// The bytes from the start of a constant to the end of its storage; false if
// the index is invalid (0 is) or the constant starts outside of its segment.
bool etx_pte_constant_find(const etx_pte* pte, uint32_t data_buffer_index,
                           etx_bytes* out_data);

// The same of initial data of planned tensors.
bool etx_pte_initial_data_find(const etx_pte* pte, uint32_t data_buffer_index,
                               etx_bytes* out_data);

#endif
