// Variants of a method: copies of it in the file that were planned for some of
// its sizes (`etx plan --specialize`, format/pte/variant_name.h).
//
//   etx_method_variants_needed(&program, name, &count, &needed, &diag);
//   // Scratch and temporary memory of `needed` bytes serve all variants.
//   etx_method_init(&method, &program, name, &memory, NULL, &diag);
//   if (count > 0) etx_method_use_variants(&method, block, NULL, &diag);
//   etx_method_run(&method, &diag);  // the first variant for these sizes runs
//
// The method is used as one without variants: inputs, runs, outputs, state,
// other memory, random numbers, observers and asynchronous runs are those of
// the method. A run uses the first variant that accepts the sizes of the inputs
// and fits into the scratch and temporary memory that the method was given;
// where none does, the method's own instructions run.
//
// Copies of the method are used in the same way: `kept_sizes` in etx_limits
// copies of each method whose sizes vary, 0 by default. Each stays prepared for
// the sizes of an earlier run, so a run whose sizes are among the last ones
// that no variant takes computes none. They cost their structures only.
//
// A method that uses variants has no regions (regions.h); after
// etx_method_use_regions, the method's own instructions run.
// etx_method_needed_at states what these need.

#ifndef ETX_RUNTIME_VARIANTS_H
#define ETX_RUNTIME_VARIANTS_H

#include "runtime/method.h"

struct etx_method_variants;  // in the caller's memory

// The number of variants and copies of a method, and the bytes that it needs
// with them:
// `structure_bytes` are those of the block for etx_method_use_variants alone;
// scratch and temporary memory are the largest of the method and its variants.
// A build without dynamic sizes and a stock file have no variants. Statuses are
// those of etx_method_needed.
ETX_MUST_USE etx_status etx_method_variants_needed(
    const etx_program* program, etx_text name, size_t* out_count,
    etx_memory_needed* out_needed, etx_diag* diag);

// Loads all variants of a loaded method into `block`, which is aligned to
// ETX_MEMORY_ALIGNMENT and lives as long as the method. They share the
// method's scratch, temporary memory and state. The method must stay where it
// is from now on. `missing` is that of etx_method_init. A failure leaves the
// method as it was. ETX_BAD_FILE: a variant has other inputs or outputs than
// the method, or state that the method lacks; ETX_OUT_OF_MEMORY,
// ETX_BAD_ARGUMENT: the block, or the method's scratch or temporary memory, is
// too small or not aligned; ETX_BAD_STATE: the method uses its variants
// already, or is running; other statuses are those of etx_method_init.
ETX_MUST_USE etx_status etx_method_use_variants(etx_method* method,
                                                etx_bytes_mut block,
                                                const etx_missing_sink* missing,
                                                etx_diag* diag);

// The number of variants that the method uses, without copies; 0 before
// etx_method_use_variants.
size_t etx_method_variant_count(const etx_method* method);

// The name of a variant; that of the method itself at the index of
// etx_method_variant_count.
etx_text etx_method_variant_name(const etx_method* method, size_t index);

// The number of runs of a variant since it was loaded, failed ones included; of
// the method's own instructions at the index of etx_method_variant_count.
uint64_t etx_method_variant_runs(const etx_method* method, size_t index);

// The variant of the last run or etx_method_prepare; etx_method_variant_count
// if the method's own instructions ran, or none yet.
size_t etx_method_variant_last(const etx_method* method);

// etx_method_phase_count of the method, its variants and its copies together.
uint64_t etx_method_variant_phases(const etx_method* method);

// The number of times that sizes changed to those of an earlier call for which
// a copy was still prepared (`kept_sizes` in etx_limits), so that nothing was
// computed.
uint64_t etx_method_variant_hits(const etx_method* method);

// etx_method_address_count of the method, its variants and its copies together.
uint64_t etx_method_variant_addresses(const etx_method* method);

#endif
