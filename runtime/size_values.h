// Values of a method that depend on sizes and constants alone, such as the
// positions of an image that are interpolated for its size.
//
//   etx_method_init(&method, &program, name, &memory, NULL, &diag);
//   // etx_method_use_variants, if it is used, comes before
//   bytes = etx_method_size_values_needed(&method);
//   if (bytes > 0) etx_method_keep_size_values(&method, block, &diag);
//
// They are computed by the first run after a change of sizes, and kept in
// `block` for the runs that follow. Without a block, each run computes them, as
// stock runtimes do. Results have the same bits either way.
//
// Variants and copies (variants.h) keep values of their own in parts of the
// block. Methods with control flow or with sizes that data decide keep none,
// and neither do those whose blocks of scratch never move (`keeps_plan` in
// etx_limits). `repeats_size_values` in etx_limits switches it off.

#ifndef ETX_RUNTIME_SIZE_VALUES_H
#define ETX_RUNTIME_SIZE_VALUES_H

#include "runtime/method.h"

// The bytes of the block that etx_method_keep_size_values takes, enough for the
// largest sizes. 0: the method has no such values, keeps them already, or has
// run.
size_t etx_method_size_values_needed(etx_method* method);

// Keeps these values in `block`, which is aligned to ETX_MEMORY_ALIGNMENT,
// belongs to this method alone and lives as long as it. Called after loading,
// before inputs are set. etx_method_needed_at then states the scratch without
// them. A failure leaves the method as it was. ETX_OUT_OF_MEMORY: the block is
// too small; ETX_BAD_ARGUMENT: it is not aligned; ETX_BAD_STATE: the method has
// none to keep, or is running.
ETX_MUST_USE etx_status etx_method_keep_size_values(etx_method* method,
                                                    etx_bytes_mut block,
                                                    etx_diag* diag);

#endif
