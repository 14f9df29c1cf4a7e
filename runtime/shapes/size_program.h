// The size program of a method: the sizes of all its tensors as expressions
// over the symbols (format/shapes/size_table.h). A change of sizes evaluates
// them instead of calling the shape function of every operator.
//
// It is built when sizes change for the first time, by the same shape
// functions, which compute with symbols then. They tell if a decision holds for
// some values of the symbols only (etx_shape_call, `undecided`); then, and if a
// size cannot be expressed, the method has no program, and every phase calls
// the shape functions. So a program gives exactly the sizes that they give.
//
// In a method with jumps or late values (late_values.h), the program has what
// is known ahead. Which values are late does not depend on sizes in the
// programs of exporters, so they stay as the phase before building found them;
// what is late is left to the run. After a phase in which that does not
// succeed, such as one for which a branch is not valid, the program is built
// again; that branch is left to the run from then on.
//
// Shape functions and prepare depend on types, sizes, strides and numbers only.
// Records of the same operator whose arguments agree in these for all values of
// the symbols, such as those of repeated layers, share one prepared call: that
// of the first, their leader.

#ifndef ETX_RUNTIME_SHAPES_SIZE_PROGRAM_H
#define ETX_RUNTIME_SHAPES_SIZE_PROGRAM_H

#include "runtime/method/method_types.h"

// Sets the counts of a method whose other counts are known, and whose dynamic
// tensors have so many dimensions.
void etx_size_program_count(etx_method* method, size_t dynamic_dims);
// Builds the program of a method that is prepared, if it can have one.
void etx_size_program_build(etx_method* method);
// Sets all sizes from the method's symbols, and prepares the records. False if
// something is refused, such as a size without memory: then the shape phase
// must run without the program, which gives the message.
bool etx_size_program_run(etx_method* method);
// Gives all tensors sizes of their own again, as a phase without the program
// needs them: the program lets equal tensors have those of the first of them.
void etx_size_program_detach(etx_method* method);

#endif
