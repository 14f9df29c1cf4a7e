// Macros of C: which definitions are in force, and the expansion of tokens.
//
// A name may have several definitions at one place, if they stand in branches
// of conditions that this tool cannot decide (#ifdef __clang__). Then a token
// that comes from one of them is marked as uncertain.

#ifndef ETX_CLI_AMALGAMATE_C_C_MACROS_H
#define ETX_CLI_AMALGAMATE_C_C_MACROS_H

#include "cli/amalgamate/c/c_tokens.h"

typedef struct etx_c_macro {
  uint32_t name;
  size_t owner;  // the item that has its text; SIZE_MAX: none
  bool is_function;
  bool is_variadic;  // the last parameter is __VA_ARGS__
  bool is_active;    // is being expanded
  size_t branch;     // where it was defined: etx_c_macros.branches
  uint32_t* parameters;
  size_t parameter_count;
  etx_c_tokens body;
} etx_c_macro;

// What is known about a name.
typedef struct etx_c_entry {
  size_t* macros;  // the definitions in force, oldest first
  size_t macro_count;
  size_t macro_capacity;
  bool is_undefined;  // stated by the caller: the name is not defined
  size_t seen;        // a number of the caller's
  bool has_value;     // an enumeration constant
  int64_t value;
} etx_c_entry;

typedef struct etx_c_macros {
  etx_pool* pool;
  etx_c_names* names;
  etx_c_macro* macros;
  size_t count;
  size_t capacity;
  etx_c_entry* entries;  // by the number of the name
  size_t entry_count;
  uint32_t arguments_name;  // __VA_ARGS__
  // The branches of undecided conditions that are being read, outermost first;
  // branch 0 is what stands in none.
  size_t* branches;
  size_t depth;
  size_t branch_capacity;
} etx_c_macros;

// One expansion: which definition it takes of those in force, and what it
// found.
typedef struct etx_c_expansion {
  etx_c_macros* macros;
  etx_pool* pool;  // of the result and everything in between
  size_t choice;   // 0: the newest definition; 1: the one before it; ...
  size_t choices;  // in: 1; out: the largest number of definitions met
  size_t* used;    // out: the macros that were expanded
  size_t used_count;
  size_t used_capacity;
} etx_c_expansion;

ETX_MUST_USE etx_status etx_c_macros_init(etx_c_macros* macros, etx_pool* pool,
                                          etx_c_names* names);

// The entry of a name; NULL if the host has no memory. Valid until the next
// call.
etx_c_entry* etx_c_entry_of(etx_c_macros* macros, uint32_t name);

// Begins to read a branch that may not be compiled, with a number of its own,
// which is larger than those before it.
ETX_MUST_USE etx_status etx_c_branch_enter(etx_c_macros* macros, size_t branch);

// Ends it: from here on, its definitions are in force or not.
void etx_c_branch_leave(etx_c_macros* macros);

// Reads the tokens of a definition behind "#define".
ETX_MUST_USE etx_status etx_c_macro_define(etx_c_macros* macros,
                                           const etx_c_tokens* definition,
                                           size_t owner);

// Ends the definitions of the name in this branch.
void etx_c_macro_undefine(etx_c_macros* macros, uint32_t name);

// How many definitions of the name may be in force. `is_certain`: one is.
size_t etx_c_macro_choices(etx_c_macros* macros, uint32_t name,
                           bool* is_certain);

// Appends a macro to those that an expansion used.
ETX_MUST_USE etx_status etx_c_note_used(etx_c_expansion* expansion,
                                        size_t macro);

// Appends the expansion of `in` to `out`.
ETX_MUST_USE etx_status etx_c_expand(etx_c_expansion* expansion,
                                     const etx_c_tokens* in, etx_c_tokens* out);

// Appends the texts of all other definitions that may be in force of the names
// that `expansion` has expanded, and notes them as used. One choice for all
// names does not reach them: #ifdef __clang__ may decide one name, and #ifndef
// another that expands to it.
ETX_MUST_USE etx_status etx_c_expand_others(etx_c_expansion* expansion,
                                            etx_c_tokens* out);

#endif
