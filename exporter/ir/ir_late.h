// Late symbols: sizes and numbers that nodes set from the data of tensors
// (etx_ir_node, `late`). A node that needs such a symbol must stand behind the
// node that sets it, although it need not read a result of that node.

#ifndef ETX_EXPORTER_IR_IR_LATE_H
#define ETX_EXPORTER_IR_IR_LATE_H

#include "exporter/ir/ir.h"

// The late symbols in the sizes of a value, as bits.
uint64_t etx_ir_late_in_value(const etx_ir_method* method, uint32_t value);

// The late symbols that a node needs, as bits: those in its arguments and in
// the sizes of its results, but for the one that it sets itself.
uint64_t etx_ir_late_needed(const etx_ir_method* method,
                            const etx_ir_node* node);

// True if the node must stay although nothing may read its results: it sets a
// symbol, or checks a condition on symbols.
bool etx_ir_late_must_stay(const etx_ir_node* node);

// True if a symbol is needed where no node has set it: the symbol, and the node
// that needs it, or the number of nodes for an output of the method.
bool etx_ir_late_find_unset(const etx_ir_method* method, uint32_t* out_symbol,
                            size_t* out_node);

#endif
