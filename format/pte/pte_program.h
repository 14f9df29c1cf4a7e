// Reads a .pte file in place: etx_pte_open, and typed accessors.
//
// etx_pte_open verifies everything that can be said about the bytes without
// knowing operators: header, FlatBuffers structure, indexes, lists, offsets,
// tensors within arenas, constants within segments. After that, accessors check
// nothing and cannot fail; the caller guarantees that indices are in range.
//
// Ownership  views borrow the file's bytes, which must outlive them, be
//            aligned to 16 and not change.
// Threads    an opened program is const and may be read by many.

#ifndef ETX_FORMAT_PTE_PTE_PROGRAM_H
#define ETX_FORMAT_PTE_PTE_PROGRAM_H

#include "format/base/diag.h"
#include "format/base/status.h"
#include "format/flatbuffers/fb_reader.h"
#include "format/pte/pte_types.h"

// Limits of a caller on what a file may need; a file beyond them is refused
// with ETX_OUT_OF_RANGE. All zero means the defaults.
typedef struct etx_pte_limits {
  uint64_t max_file_bytes;    // 0: no limit
  uint64_t max_arena_bytes;   // of one arena of one method; 0: no limit
  uint32_t max_tables;        // FlatBuffers tables; 0: see etx_fb_verify
  uint32_t max_instructions;  // of one method; 0: no limit
  // True: errors of the plan alone (offsets, sizes, arenas, layout) are
  // ETX_BAD_PLAN, and only a damaged structure is ETX_BAD_FILE. False: both are
  // ETX_BAD_FILE.
  bool reports_bad_plan;
} etx_pte_limits;

// Parts of a segment. Each extends from its offset to the end of the segment.
typedef struct etx_pte_subsegments {
  etx_fb_vector offsets;  // of each part, in bytes; entry 0 is reserved
  etx_bytes segment;      // that the offsets are relative to
} etx_pte_subsegments;

// Counts over all values and instructions of a plan.
typedef struct etx_pte_totals {
  size_t tensors;        // values that are tensors
  size_t dims;           // of all tensors; twice for those with dynamic sizes
  size_t items;          // of lists of values, and arguments of calls
  size_t without_bytes;  // tensors that are neither planned nor stored
  // Only counted in builds with dynamic methods:
  size_t dynamic_dims;  // of tensors with dynamic sizes
  size_t not_calls;     // instructions that are jumps, moves or releases
} etx_pte_totals;

// Plans whose totals are cached: more than most files have.
enum { ETX_PTE_CACHED_TOTALS = 8 };

// An opened file. Fields are private to format/pte.
typedef struct etx_pte {
  etx_bytes file;          // all of it, the caller's
  etx_fb_buffer fb;        // the FlatBuffer part, at the start of the file
  uint64_t segment_base;   // 0: no segments
  uint64_t segment_bytes;  // from there to the end of the last segment, or to
                           // the end of the file if the header does not say
  uint32_t root;           // offset of the root table
  bool has_header;         // extended header present
  uint32_t header_length;  // 0, 24, 32, ...
  etx_pte_subsegments constants;  // none if they are in the FlatBuffer
  etx_pte_subsegments initial;    // initial data of planned tensors
  etx_status bad_plan_status;     // for an error of a plan: see etx_pte_limits
  // Totals of the first plans; the last element is work space for the others.
  etx_pte_totals totals[ETX_PTE_CACHED_TOTALS + 1];
} etx_pte;

// The lists of a plan.
typedef enum etx_pte_list {
  ETX_PTE_VALUES,     // which all indices name
  ETX_PTE_INPUTS,     // indices of values
  ETX_PTE_OUTPUTS,    // indices of values
  ETX_PTE_CHAINS,     // lists of instructions
  ETX_PTE_OPERATORS,  // which instructions name
  ETX_PTE_DELEGATES,  // parts that backends run
  ETX_PTE_ARENAS,     // bytes of each, entry 0 a dummy
  ETX_PTE_DEVICES,    // arenas that are not in the CPU's memory
  ETX_PTE_LIST_COUNT  // the number of lists
} etx_pte_list;

// One method's plan. Fields are private.
typedef struct etx_pte_plan {
  const etx_pte* pte;                       // the file that it lies in
  uint32_t table;                           // position of its table
  uint32_t index;                           // among the plans of the file
  etx_fb_vector lists[ETX_PTE_LIST_COUNT];  // cached, since used often
} etx_pte_plan;

// Opens and verifies. On failure `diag` says where (byte offset), what was
// expected and what was found. `limits` may be NULL. A plan with delegates is
// not a broken file: see etx_pte_delegate_count. ETX_BAD_FILE: the bytes are no
// program, or a damaged one; ETX_BAD_PLAN: see etx_pte_limits;
// ETX_OUT_OF_RANGE: beyond a limit; ETX_UNSUPPORTED: of a kind that etx does
// not read; ETX_BAD_ARGUMENT: `file` is not aligned to 16.
ETX_MUST_USE etx_status etx_pte_open(etx_pte* pte, etx_bytes file,
                                     const etx_pte_limits* limits,
                                     etx_diag* diag);

// Version of the schema that the writer stated; 0 so far.
uint32_t etx_pte_version(const etx_pte* pte);

// Plans of the file, which are its methods.
size_t etx_pte_plan_count(const etx_pte* pte);

// The plan at `index`, which is below the count. No function checks indices.
void etx_pte_plan_read(const etx_pte* pte, size_t index,
                       etx_pte_plan* out_plan);
// The same, returned by value: where a copy does not matter.
static inline etx_pte_plan etx_pte_plan_at(const etx_pte* pte, size_t index) {
  etx_pte_plan plan;
  etx_pte_plan_read(pte, index, &plan);
  return plan;
}

// Finds the first plan of that name; false if there is none.
bool etx_pte_plan_find(const etx_pte* pte, etx_text name,
                       etx_pte_plan* out_plan);

// The method's name.
etx_text etx_pte_plan_name(const etx_pte_plan* plan);
// The name of the plan at `index`, without reading the plan.
etx_text etx_pte_plan_name_at(const etx_pte* pte, size_t index);
// The pytree text of inputs that the exporter left; may be empty.
etx_text etx_pte_plan_input_tree(const etx_pte_plan* plan);
// The same of outputs.
etx_text etx_pte_plan_output_tree(const etx_pte_plan* plan);

// Values of the plan.
static inline size_t etx_pte_value_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_VALUES].count;
}
// The value at `index`, borrowed from the file. False if it has no content,
// which of a verified value only None may lack.
bool etx_pte_value_read(const etx_pte_plan* plan, size_t index,
                        etx_pte_value* out_value);
// The same, returned by value: where a copy does not matter.
static inline etx_pte_value etx_pte_value_at(const etx_pte_plan* plan,
                                             size_t index) {
  etx_pte_value value;
  (void)etx_pte_value_read(plan, index, &value);
  return value;
}
// Only the kind: cheaper than the whole value.
etx_pte_kind etx_pte_value_kind(const etx_pte_plan* plan, size_t index);
// Only the arena of a planned tensor, its memory_id; 0 for every other value.
uint32_t etx_pte_value_arena(const etx_pte_plan* plan, size_t index);

// Inputs of the method.
static inline size_t etx_pte_input_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_INPUTS].count;
}
// The index of the value that is input `index`.
int32_t etx_pte_input_at(const etx_pte_plan* plan, size_t index);
// Outputs of the method.
static inline size_t etx_pte_output_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_OUTPUTS].count;
}
// The index of the value that is output `index`.
int32_t etx_pte_output_at(const etx_pte_plan* plan, size_t index);

// Operators that the method calls, each once.
static inline size_t etx_pte_operator_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_OPERATORS].count;
}
// The operator at `index`, borrowed from the file.
etx_pte_operator etx_pte_operator_at(const etx_pte_plan* plan, size_t index);
// Parts of the method that backends run: a method that has some is refused when
// it is loaded.
static inline size_t etx_pte_delegate_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_DELEGATES].count;
}
// The delegate at `index`, borrowed from the file.
etx_pte_delegate etx_pte_delegate_at(const etx_pte_plan* plan, size_t index);
// Its data, wherever in the file it is.
etx_bytes etx_pte_delegate_data(const etx_pte_plan* plan, size_t index);
// Options of a delegate.
size_t etx_pte_compile_spec_count(const etx_pte_plan* plan, size_t delegate);
// The option at `index`, borrowed from the file.
etx_pte_compile_spec etx_pte_compile_spec_at(const etx_pte_plan* plan,
                                             size_t delegate, size_t index);

// Chains of the method.
static inline size_t etx_pte_chain_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_CHAINS].count;
}
// Instructions of a chain.
size_t etx_pte_instruction_count(const etx_pte_plan* plan, size_t chain);
// The instruction at `index` of a chain, borrowed from the file.
etx_pte_instruction etx_pte_instruction_at(const etx_pte_plan* plan,
                                           size_t chain, size_t index);
// The instructions of a chain, found once: for reading all of them.
etx_fb_vector etx_pte_chain_at(const etx_pte_plan* plan, size_t chain);
// The instruction at `index` of what etx_pte_chain_at found.
void etx_pte_instruction_read(const etx_pte_plan* plan, etx_fb_vector chain,
                              size_t index, etx_pte_instruction* out);

// An iterator over all instructions of a plan, chain by chain; it starts with
// zeros.
typedef struct etx_pte_cursor {
  size_t chain;        // the next chain
  size_t instruction;  // the next instruction of the current chain
  etx_fb_vector rows;  // instructions of the current chain
} etx_pte_cursor;

// Reads the next instruction; false at the end.
bool etx_pte_instruction_next(const etx_pte_plan* plan, etx_pte_cursor* cursor,
                              etx_pte_instruction* out_instruction);

// Entries of non_const_buffer_sizes, the dummy entry 0 included.
static inline size_t etx_pte_buffer_size_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_ARENAS].count;
}
// Bytes of the arena with memory_id `index`; 0 for the dummy.
int64_t etx_pte_buffer_size_at(const etx_pte_plan* plan, size_t index);
// Arenas that are not in the CPU's memory.
static inline size_t etx_pte_buffer_device_count(const etx_pte_plan* plan) {
  return plan->lists[ETX_PTE_DEVICES].count;
}
// The one at `index`, which is below the count.
etx_pte_buffer_device etx_pte_buffer_device_at(const etx_pte_plan* plan,
                                               size_t index);

// Constants. `data_buffer_index` must be a verified one of a tensor without
// allocation. Returns the bytes from its start to the end of its storage,
// which is at least as long as every tensor that names it.
etx_bytes etx_pte_constant(const etx_pte* pte, uint32_t data_buffer_index);
// Constants of the file, the reserved entry 0 counted.
size_t etx_pte_constant_count(const etx_pte* pte);

// Initial data of a planned tensor with data_buffer_index > 0.
etx_bytes etx_pte_initial_data(const etx_pte* pte, uint32_t data_buffer_index);

// Named data of the file.
size_t etx_pte_named_data_count(const etx_pte* pte);
// The key of the one at `index`, which is below the count.
etx_text etx_pte_named_data_key(const etx_pte* pte, size_t index);
// Its bytes.
etx_bytes etx_pte_named_data_at(const etx_pte* pte, size_t index);
// Finds named data by key; false if there is none.
bool etx_pte_named_data_find(const etx_pte* pte, const char* key,
                             etx_bytes* out_data);

// Segments of the file.
size_t etx_pte_segment_count(const etx_pte* pte);
// Where the segment at `index` begins, counted from the segment base, and its
// size: both in bytes.
void etx_pte_segment_at(const etx_pte* pte, size_t index, uint64_t* out_offset,
                        uint64_t* out_size);

// True if bytes are stored for the tensor, in this file or in a data file.
bool etx_pte_tensor_is_stored(const etx_pte_tensor* tensor);
// True if it is stored or planned.
bool etx_pte_tensor_has_bytes(const etx_pte_tensor* tensor);

// The plan's totals, which are known but for the last plans of a file with very
// many.
void etx_pte_plan_totals(const etx_pte_plan* plan, etx_pte_totals* out);
// Adds what one value has to the totals.
void etx_pte_totals_add(etx_pte_totals* totals, const etx_pte_value* value);
// The same for one instruction.
static inline void etx_pte_totals_add_instruction(
    etx_pte_totals* totals, const etx_pte_instruction* instruction) {
  totals->items += instruction->argument_count;
  if (ETX_CONTROL_FLOW && instruction->kind != ETX_PTE_KERNEL_CALL) {
    ++totals->not_calls;
  }
}

// Bytes of a tensor at its stated (upper bound) sizes. Verified not to
// overflow.
size_t etx_pte_tensor_bytes(const etx_pte_tensor* tensor);
// Its elements at these sizes; 1 for rank 0.
size_t etx_pte_tensor_numel(const etx_pte_tensor* tensor);

#endif
