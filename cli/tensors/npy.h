// NumPy's .npy files, each with one dense tensor.
//
//   "\x93NUMPY" | version 1.0 | header length u16 | header text | data
//   header text: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// Reads versions 1 and 2, little-endian, in C order; writes version 1.

#ifndef ETX_CLI_TENSORS_NPY_H
#define ETX_CLI_TENSORS_NPY_H

#include "cli/tensors/host_tensor.h"
#include "format/base/sink.h"

// Reads the bytes of a .npy file; the data is copied into the pool.
ETX_MUST_USE etx_status etx_npy_read(etx_bytes file, etx_pool* pool,
                                     etx_host_tensor* out_tensor,
                                     etx_diag* diag);

// Writes a .npy file. ETX_UNSUPPORTED for types that NumPy does not have.
ETX_MUST_USE etx_status etx_npy_write(const etx_host_tensor* tensor,
                                      const etx_sink* sink, etx_diag* diag);

#endif
