// The report of `etx plan`: memory of each method, copies that remain, fusions,
// quantised and packed weights.

#ifndef ETX_EXPORTER_REPORT_EXPORT_REPORT_H
#define ETX_EXPORTER_REPORT_EXPORT_REPORT_H

#include "exporter/report/fusion_report.h"
#include "exporter/ir/ir.h"
#include "exporter/report/packed_report.h"
#include "exporter/report/quantized_report.h"

enum { ETX_EXPORT_SAVINGS = 10 };

// Nodes [start, end).
typedef struct etx_export_node_range {
  uint32_t start;
  uint32_t end;
} etx_export_node_range;

// A block of scratch.
typedef struct etx_export_block {
  etx_text name;     // of a value in it
  etx_text op;       // operator that computes the value; empty: an input
  uint64_t bytes;    // at the upper bounds
  uint64_t offset;   // in its memory
  uint32_t memory;   // position of its memory in the report's list
  uint64_t traffic;  // bytes of it that a call reads and writes; only if there
                     // are several memories
  uint32_t start;    // in use from this node on,
  uint32_t end;      // one past the last,
  const etx_export_node_range*
      gaps;          // but not in these: branches that leave out
  size_t gap_count;  // those which use it
  bool is_stable;    // outlives calls of other methods: not in the shared range
  uint64_t saves;    // by how much the method's peak would fall without this
                     // block; only for the largest ETX_EXPORT_SAVINGS blocks
                     // that are live at the peak
} etx_export_block;

// One row of the plan report.
//
//   naive = view + in place + sharing + planned + stable
//
// where sizes count as multiples of the alignment.
typedef struct etx_export_method_report {
  etx_text name;
  uint64_t scratch_bytes;  // of this method's plan, from byte 0 on
  uint64_t range_start;    // of the method's part of the shared range: above 0
                           // if it is above methods that may run at the same
                           // time
  uint64_t planned_bytes;  // of that range
  uint64_t stable_bytes;   // of outputs that outlive other methods' calls
  const uint64_t* memory_bytes;    // scratch in each memory of the report
  const uint64_t* memory_traffic;  // bytes that a call reads and writes there
  uint64_t lower_bound;     // no plan of the shared range can be smaller; if
                            // it equals planned_bytes, the plan is optimal
  uint64_t naive_bytes;     // if every value had memory of its own
  uint64_t view_bytes;      // of views
  uint64_t in_place_bytes;  // of values that are computed in a state, an input,
                            // a concatenation or the block of an operand
  uint64_t sharing_bytes;   // of blocks that reuse bytes of earlier blocks
  uint64_t order_bytes;     // by which the scheduler lowered the peak
  uint64_t order_steps;     // of the scheduler
  uint64_t live_bytes;      // at the peak, without padding
  uint64_t padding_bytes;   // between the live blocks, for alignment
  etx_export_block* peak_values;  // live at the peak, the largest first; named
                                  // by the last value computed in them
  size_t peak_value_count;
  etx_export_block* blocks;  // all of them; named by the first value
  size_t block_count;
  size_t value_count;  // planned values
  size_t instruction_count;
  uint32_t peak_instruction;
  etx_text peak_operator;
  uint64_t copied_bytes;  // by all copies that remain
  // Slices, permutes and expands of computed values and inputs that the model
  // asks for and that no view can replace: no copies that remain.
  size_t part_count;
  uint64_t part_bytes;  // of their results
  const char* algorithm;
  uint64_t steps;       // of the planner
  size_t layout_count;  // for smaller sizes, beside the plan
  uint64_t
      worst_ratio;  // of the bytes at some smaller sizes to the lower bound
                    // of each, in thousandths; 0: all sizes are fixed
} etx_export_method_report;

// A copy that could not be avoided, and why.
typedef struct etx_export_copy_report {
  etx_text method;
  etx_text target;  // state, constant, input or output
  etx_text op;      // operator that copies
  uint64_t bytes;   // per call
  etx_text reason;
} etx_export_copy_report;

typedef struct etx_export_report {
  etx_export_method_report* methods;
  size_t method_count;
  etx_export_copy_report* copies;
  size_t copy_count;
  const etx_fusion* fusions;  // made, and not possible
  size_t fusion_count;
  etx_ir_weights weights;          // from a GGUF file, if path is not empty
  const etx_quantized* quantized;  // weights, if there are rules
  size_t quantized_count;
  const etx_quantized* caches;  // states, if caches are stored as --kv says
  size_t cache_count;
  const etx_quantize_rule* rules;  // which weights to quantise
  size_t rule_count;
  const etx_text* skipped;  // why variants that were asked for are not there
  size_t skipped_count;
  const etx_packed* packed;  // weights, if packing is on
  size_t packed_count;
  uint64_t pack_copy_bytes;        // of weights that are stored twice
  uint64_t pack_budget;            // the most that these may have
  const etx_memory_row* memories;  // that were planned for, the fastest first
  size_t memory_count;             // 0: one memory without limit
  const etx_ir_pair* concurrent;   // methods that may run at the same time
  size_t concurrent_count;
  uint64_t scratch_bytes;  // maximum over methods
  uint64_t method_bytes;   // sum over methods: one arena for each of them
  uint64_t state_bytes;    // arena 2
  uint64_t state_bound;    // sum of the states' sizes: the rest is padding
  size_t state_count;
  uint64_t constant_bytes;  // after deduplication
  size_t constant_count;
  uint64_t file_bytes;
} etx_export_report;

#endif
