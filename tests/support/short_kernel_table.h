// A short kernel table, as an application may pass one. Its kernels are simple;
// some of them fail or count calls for tests.

#ifndef ETX_TESTS_SUPPORT_SHORT_KERNEL_TABLE_H
#define ETX_TESTS_SUPPORT_SHORT_KERNEL_TABLE_H

#include "runtime/kernel.h"

// aten::add.out (float32, equal sizes or one element), aten::copy_ (equal
// bytes), aten::index_put.out (writes the first half, then refuses an index of
// 99), aten::mm.out (float32; wants 4 bytes of temporary for each element of
// the output and fills them), aten::sym_size.int, executorch_prim::add.Scalar,
// executorch_prim::lt.Scalar, aten::_local_scalar_dense, aten::relu.out (does
// nothing: for measuring), aten::view_copy.out, aten::slice_copy.Tensor_out
// (first dimension from 0 on).
extern const etx_kernel_table test_few_kernels;

// Calls of `prepare` since it was last set to 0.
extern size_t test_prepare_count;

#endif
