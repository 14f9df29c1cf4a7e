// What etx adds to a .pte file: one named_data blob with the key "etx.plan.v1".
//
// It holds what the stock schema has no place for: names of inputs and
// outputs, symbols and how input sizes depend on them, which constant
// initialises a state, which values are views of others, and where the program
// came from. A program is complete and valid without it; a reader which
// ignores it loses names and bounds, nothing else.
//
// The blob is a FlatBuffer of its own (identifier "ETXP"), written and read
// with the same reader, verifier and builder as the program. Fields are only
// ever added at the end of a table.

#ifndef ETX_FORMAT_PTE_ETX_BLOB_H
#define ETX_FORMAT_PTE_ETX_BLOB_H

#include "format/base/diag.h"
#include "format/base/sink.h"
#include "format/pte/pte_program.h"

// The key of the blob among a file's named data.
#define ETX_BLOB_KEY "etx.plan.v1"
enum {
  ETX_FINGERPRINT_BYTES = 32  // of a SHA-256
};

// A dynamic dimension of a method: every value that it may take.
typedef struct etx_blob_symbol {
  etx_text name;    // as PyTorch or the YAML graph calls it
  int64_t minimum;  // smallest value
  int64_t maximum;  // largest value, which memory is planned for
} etx_blob_symbol;

// A size (or integer) input as a function of one symbol:
// size == factor * symbol + offset, factor > 0.
typedef struct etx_blob_input_dim {
  uint32_t input;   // position among the method's inputs
  int32_t dim;      // dimension, or -1: the Int input itself varies
  uint32_t symbol;  // index in the method's symbols
  int64_t factor;   // at least 1
  int64_t offset;   // added to the product
} etx_blob_input_dim;

// A value without a writer of its own that shares bytes with `base`: the
// smaller of the two lies in the larger one, from its byte `offset` on. A view
// is the smaller one; a concat whose parts were written in place is the larger
// one, with a row for each part.
typedef struct etx_blob_view {
  uint32_t value;   // index of a tensor value of the method
  uint32_t base;    // index of the tensor value that it shares bytes with
  uint64_t offset;  // of the smaller in the larger one, in bytes
} etx_blob_view;

// The most layouts of a method besides the one in its plan.
enum { ETX_BLOB_MOST_LAYOUTS = 4 };

// Where a value of arena 1 lies in another layout than the plan's: a plan for
// some smaller sizes, whose order of blocks is used at other sizes, too
// (block_layout.h). Every planned tensor of arena 1 has a row in every layout,
// sorted by layout, then by value.
typedef struct etx_blob_place {
  uint32_t value;   // index of a tensor value of the method
  uint32_t layout;  // position of the layout
  uint64_t offset;  // bytes from the start of arena 1
  uint64_t bytes;   // to the end of its block in that layout
} etx_blob_place;

// How long the data of an output stays as a run left it.
typedef enum etx_blob_lifetime {
  ETX_LIFETIME_SCRATCH = 0,  // until the next call that shares the scratch
  ETX_LIFETIME_STABLE = 1,   // until the next call of the same method
  ETX_LIFETIME_STATE = 2,    // it lies in state or constants
} etx_blob_lifetime;

// An output of a method.
typedef struct etx_blob_output {
  etx_text name;               // as the graph calls it
  etx_blob_lifetime lifetime;  // of its data
  // Position of the input that this output shows the new content of (leading
  // outputs of mutated inputs), or -1.
  int32_t mutated_input;
  // "b, 2*t + 1, 8": expressions over the symbols, for people. Empty if all
  // sizes are fixed. For writing; etx_blob_output_sizes reads it.
  etx_text sizes;
} etx_blob_output;

// An input of a method.
typedef struct etx_blob_input {
  etx_text name;    // as the graph calls it
  bool is_mutable;  // the method writes it
} etx_blob_input;

// What the blob states about a method, for writing.
typedef struct etx_blob_method {
  etx_text name;                   // of the plan it describes
  const etx_blob_input* inputs;    // one for each input of the plan, in order
  size_t input_count;              // of inputs
  const etx_blob_output* outputs;  // one for each output of the plan, in order
  size_t output_count;             // of outputs
  const etx_blob_symbol* symbols;  // sizes that vary
  size_t symbol_count;             // of symbols
  const etx_blob_input_dim* input_dims;  // where symbols stand in inputs
  size_t input_dim_count;                // of input_dims
  const etx_blob_view* views;            // values that share bytes with another
  size_t view_count;                     // of views
  const etx_blob_place* places;          // in other layouts of arena 1
  size_t place_count;                    // of places
} etx_blob_method;

// A state of the program.
typedef struct etx_blob_state {
  etx_text name;         // fully qualified name
  etx_dtype dtype;       // of the elements
  const int32_t* sizes;  // rank entries
  size_t rank;           // at most ETX_MAX_RANK
  uint64_t offset;       // bytes from the start of arena 2
  // Constant that initialises it: of the state's own bytes, or of one element
  // that is repeated (is_uniform). 0: zeros.
  uint32_t data_buffer_index;
  bool is_uniform;  // the constant is one element, repeated
} etx_blob_state;

// Two methods that may run at the same time: their values in arena 1 share no
// byte.
typedef struct etx_blob_pair {
  uint32_t first;   // position of the method's description,
  uint32_t second;  // which comes after that of the first
} etx_blob_pair;

// Content of the blob, for writing.
typedef struct etx_blob_content {
  uint8_t fingerprint[ETX_FINGERPRINT_BYTES];  // SHA-256 of the IR
  etx_text target;                             // "etx" or "executorch"
  etx_text options;  // canonical text of the options that shaped the plan
  const etx_blob_method* methods;   // those that have something to tell
  size_t method_count;              // of methods
  const etx_blob_state* states;     // sorted by name
  size_t state_count;               // of states
  uint64_t state_bytes;             // size of arena 2 in every method
  const etx_blob_pair* concurrent;  // ascending by first, then by second
  size_t concurrent_count;          // of concurrent
} etx_blob_content;

// Bytes of memory that etx_blob_write needs for `content`. ETX_OUT_OF_RANGE: it
// does not fit into a FlatBuffer.
ETX_MUST_USE etx_status etx_blob_write_needed(const etx_blob_content* content,
                                              size_t* out_bytes);
// Builds the blob at the end of `work`; `out_blob` borrows from it.
// ETX_OUT_OF_MEMORY: `work` has fewer bytes than needed.
ETX_MUST_USE etx_status etx_blob_write(const etx_blob_content* content,
                                       etx_bytes_mut work, etx_bytes* out_blob,
                                       etx_diag* diag);

// An opened blob. Fields are private.
typedef struct etx_blob {
  etx_fb_buffer fb;  // its bytes, in the file
  uint32_t root;     // position of the root table
} etx_blob;

// Opens and verifies the blob of `pte` against the program: methods and value
// indices exist, states lie where the tensors of that name lie, constants are
// long enough, views lie in their bases. ETX_NOT_FOUND if the file has none (a
// stock file), which is expected and leaves no message.
//
// Without ETX_DYNAMIC nothing is known of symbols, of the sizes that depend on
// them and of concurrent pairs is verified except their number, so indices in
// them must be checked before use.
ETX_MUST_USE etx_status etx_blob_open(etx_blob* blob, const etx_pte* pte,
                                      etx_diag* diag);

// The SHA-256 of the graphs that the program was made of.
void etx_blob_fingerprint(const etx_blob* blob,
                          uint8_t out_fingerprint[ETX_FINGERPRINT_BYTES]);
// "etx" or "executorch": which runtime the program was planned for.
etx_text etx_blob_target(const etx_blob* blob);
// The canonical text of the options that shaped the plan.
etx_text etx_blob_options(const etx_blob* blob);
// Bytes of arena 2 in every method that has one.
uint64_t etx_blob_state_bytes(const etx_blob* blob);

// Pairs of methods that may run at the same time.
size_t etx_blob_concurrent_count(const etx_blob* blob);
// The pair at `index`, which is below the count.
etx_blob_pair etx_blob_concurrent_at(const etx_blob* blob, size_t index);

// States of the program.
size_t etx_blob_state_count(const etx_blob* blob);
// The state at `index`, which is below the count; it borrows from the file.
etx_blob_state etx_blob_state_at(const etx_blob* blob, size_t index);

// Methods that the blob describes.
size_t etx_blob_method_count(const etx_blob* blob);
// The name of the method at position `method`, which is below that count, as in
// all functions that follow.
etx_text etx_blob_method_name(const etx_blob* blob, size_t method);
// Position of the description of a plan; false if there is none (a constant
// or synthetic method).
bool etx_blob_method_find(const etx_blob* blob, etx_text name,
                          size_t* out_index);
// Inputs of the method.
size_t etx_blob_input_count(const etx_blob* blob, size_t method);
// The input at `index`, which is below the count.
etx_blob_input etx_blob_input_at(const etx_blob* blob, size_t method,
                                 size_t index);
// Outputs of the method.
size_t etx_blob_output_count(const etx_blob* blob, size_t method);
// The output at `index`, which is below the count.
etx_blob_output etx_blob_output_at(const etx_blob* blob, size_t method,
                                   size_t index);
// The sizes of the output at `index`, as text, or an empty text.
etx_text etx_blob_output_sizes(const etx_blob* blob, size_t method,
                               size_t index);
// Symbols of the method.
size_t etx_blob_symbol_count(const etx_blob* blob, size_t method);
// The symbol at `index`, which is below the count.
etx_blob_symbol etx_blob_symbol_at(const etx_blob* blob, size_t method,
                                   size_t index);
// Sizes and integers of the method's inputs that depend on a symbol.
size_t etx_blob_input_dim_count(const etx_blob* blob, size_t method);
// The one at `index`, which is below the count.
etx_blob_input_dim etx_blob_input_dim_at(const etx_blob* blob, size_t method,
                                         size_t index);
// Values of the method that share bytes with another.
size_t etx_blob_view_count(const etx_blob* blob, size_t method);
// The one at `index`, which is below the count.
etx_blob_view etx_blob_view_at(const etx_blob* blob, size_t method,
                               size_t index);
// Places of a method's values in other layouts.
size_t etx_blob_place_count(const etx_blob* blob, size_t method);
// The one at `index`, which is below the count.
etx_blob_place etx_blob_place_at(const etx_blob* blob, size_t method,
                                 size_t index);

#endif
