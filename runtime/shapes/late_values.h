// Which values are known only during the run, and which records must therefore
// be prepared then.
//
// The shape phase goes over the records once, in the file's order, while the
// run may skip and repeat records. A record is prepared ahead if every value
// that it uses has one number, one size and one root in the whole run:
//
//   a number   one record computes it, from numbers and sizes that are known
//              ahead, and all uses come after that record (number_scopes.h)
//   sizes      all records that set the sizes of a tensor set the same ones
//   a root     one record binds the tensor to the memory of another one
//
// Anything else is late. What a late record computes is late, too: its numbers,
// the sizes of its dynamic outputs, the root of its view. Outputs of fixed size
// are not, so the records after them are prepared ahead again.
//
// If a value turns out to be late after a record ahead of it in the file used
// it, the value stays late and the phase starts again. After a few rounds all
// records are prepared during the run, so the phase takes linear time.

#ifndef ETX_RUNTIME_SHAPES_LATE_VALUES_H
#define ETX_RUNTIME_SHAPES_LATE_VALUES_H

#include "runtime/method/method_types.h"

// Makes a value late: a number, or the sizes or the root (`bits`) of a tensor.
// It stays late if it was used in this phase.
void etx_late_mark(etx_method* method, const etx_value* value, uint8_t bits);
// The same for all that a late record computes.
void etx_late_mark_results(etx_method* method, const etx_method_record* record);
// What must be done for a call when it runs, by the values that it uses.
etx_record_late etx_late_of(const etx_method* method,
                            const etx_method_record* record);
// The same for a prepared call whose kernel sets the sizes of outputs, which
// are at their bounds when it starts.
etx_record_late etx_late_of_resizing(const etx_method* method,
                                     const etx_method_record* record);
// True if a value must not change because it was used before in this phase. It
// stays late then, and the present record is deferred to the run.
bool etx_late_defer_if_used(etx_method* method, const etx_value* value,
                            uint8_t bits);

#endif
