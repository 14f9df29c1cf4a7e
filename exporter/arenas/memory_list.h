// The memories of a board, from --memory or from `memories` of program.yaml:
//
//   sram=64K               64 KiB, the fastest
//   psram=8M,cost=4,state  a byte that is read or written costs 4 times as
//   much;
//                          the state lies in it
//   flash                  no limit
//
// The fastest one comes first. Without `cost` each costs 4 times the one before
// it. Without `state` the state lies in the last one.

#ifndef ETX_EXPORTER_ARENAS_MEMORY_LIST_H
#define ETX_EXPORTER_ARENAS_MEMORY_LIST_H

#include "exporter/host/text_buffer.h"
#include "exporter/ir/ir.h"

// Adds one memory to the module. ETX_BAD_ARGUMENT with a message if the text
// has another form, the name was given before, or there are too many.
ETX_MUST_USE etx_status etx_memory_list_add(etx_ir_module* module,
                                            etx_text text, etx_diag* diag);

// Decides what was left out. ETX_BAD_ARGUMENT: two memories hold the state.
ETX_MUST_USE etx_status etx_memory_list_complete(etx_ir_module* module,
                                                 etx_diag* diag);

// Appends a memory as etx_memory_list_add reads it.
void etx_memory_list_put(etx_text_buffer* out, const etx_memory_row* memory);

#endif
