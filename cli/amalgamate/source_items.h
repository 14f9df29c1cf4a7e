// The amalgamation cut into items: a function, a variable, a type, a macro, a
// directive. Conditions (#if) that the build decides are resolved; of the
// others all branches are read.
//
// The texts are etx.h and etx.c as package/amalgamate.awk writes them:
// formatted code in which every declaration of file scope begins a line. A unit
// is a header (from its guard on) or a source file (from the comment with its
// path on). What a source file declares as static is only visible in its unit.

#ifndef ETX_CLI_AMALGAMATE_SOURCE_ITEMS_H
#define ETX_CLI_AMALGAMATE_SOURCE_ITEMS_H

#include "cli/amalgamate/c/c_macros.h"

typedef enum etx_item_kind {
  ETX_ITEM_CODE,       // declarations
  ETX_ITEM_MACRO,      // #define
  ETX_ITEM_UNDEF,      // #undef
  ETX_ITEM_CONDITION,  // #if, #elif, #else, #endif that stays
  ETX_ITEM_FRAME,      // what a unit needs: includes, pragmas, its comments
} etx_item_kind;

typedef struct etx_item_reference {
  uint32_t name;
  bool is_live;
  bool is_declared;  // stands outside of the bodies of functions
} etx_item_reference;

// The undecided condition around items.
typedef struct etx_item_group {
  size_t parent;  // SIZE_MAX: none
  bool is_kept;
  size_t* uses;  // the items of the macros in the condition
  size_t use_count, use_capacity;
} etx_item_group;

typedef struct etx_item {
  etx_item_kind kind;
  size_t unit;
  size_t group;       // SIZE_MAX: none
  uint32_t name;      // of a macro that is defined or undefined
  size_t first_line;  // of a declaration, behind its comment
  etx_item_reference* references;
  size_t reference_count, reference_capacity;
  size_t* uses;  // the items of the macros that were expanded
  size_t use_count, use_capacity;
  uint8_t level;  // etx_item_level
  bool is_header;
  bool has_function;  // declares or defines one
  bool is_static;     // so is the last one
  bool has_body;      // so has the last one, if the item has functions alone
  // Of an item of functions alone: their declarations for other files, without
  // bodies. Else empty.
  etx_text declarations;
  // Of a table whose entries the build decides: what is written instead of its
  // lines. Else empty.
  etx_text text;
} etx_item;

typedef enum etx_item_level {
  ETX_ITEM_DROPPED,
  ETX_ITEM_DECLARED,  // only for the compiler
  ETX_ITEM_LIVE,      // for the linker, too
} etx_item_level;

typedef struct etx_source_line {
  etx_text text;  // without the newline
  size_t item;    // SIZE_MAX: blank or dropped
  // Written in the place of `#elif` whose branches before were dropped.
  const char* instead;
  bool is_header;
} etx_source_line;

// Where a name is defined.
typedef struct etx_definition {
  size_t item;
  size_t unit;  // SIZE_MAX: visible everywhere
  bool has_body;
} etx_definition;

typedef struct etx_definitions {
  etx_definition* items;
  size_t count, capacity;
} etx_definitions;

typedef struct etx_source {
  etx_pool* pool;
  etx_c_names names;
  etx_c_macros macros;
  etx_item* items;
  size_t item_count, item_capacity;
  etx_item_group* groups;
  size_t group_count, group_capacity;
  etx_source_line* lines;
  size_t line_count, line_capacity;
  etx_definitions* definitions;  // by the number of the name
  size_t definition_names;
  size_t unit_count;
  size_t branch_count;  // of undecided conditions
} etx_source;

ETX_MUST_USE etx_status etx_source_init(etx_source* source, etx_pool* pool);

// States that a macro has a value in this build ("" is none), or that it is not
// defined (`value` is NULL), before the texts are read.
ETX_MUST_USE etx_status etx_source_state(etx_source* source, const char* name,
                                         const char* value);

// True if the line is the comment with the path that starts a source file.
bool etx_source_is_path(etx_text line);

#endif
