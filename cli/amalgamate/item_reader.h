// A reader that cuts text into items, line by line: what item_lines.c and
// source_directives.c share.

#ifndef ETX_CLI_AMALGAMATE_ITEM_READER_H
#define ETX_CLI_AMALGAMATE_ITEM_READER_H

#include "cli/amalgamate/source_items.h"

// A condition around the line that is read.
typedef struct etx_reader_frame {
  bool is_undecided;  // its directives stay
  bool is_read;       // so are the lines of the present branch
  bool was_taken;     // a branch is known to be compiled
  bool is_in_branch;  // etx_c_branch_enter was called
  bool is_aside;      // an other branch, inside an item
  bool opens_in_item;
  size_t group;
  size_t depth;  // of brackets where it began
} etx_reader_frame;

// The item that is being read.
typedef struct etx_open_item {
  bool is_open;
  bool has_directive;   // outside of the body of a function
  bool is_in_body;      // of a function, while its declarations are read
  bool has_choices;     // what it expands to depends on the compiler
  bool changes_macros;  // ends one that was defined before the item
  size_t index;
  size_t depth;  // of brackets
  etx_pool pool;
  etx_c_tokens all;     // as written, without the other branches
  etx_c_tokens tokens;  // of these, what is not expanded yet
  etx_c_tokens aside;   // of other branches
  etx_c_tokens expanded;
  size_t checked;  // tokens of `expanded` that `balance` counts
  size_t balance;  // brackets of these that are open
} etx_open_item;

typedef struct etx_item_reader {
  etx_source* source;
  etx_open_item item;
  etx_reader_frame* frames;
  size_t frame_count, frame_capacity;
  size_t comment;  // the first line of a comment before an item, or SIZE_MAX
  size_t framing;  // the last comment that stands alone, or SIZE_MAX
  size_t unit;
  bool is_header_text;
  bool is_preamble;  // before the first unit of the text
  bool is_source;    // the unit is a source file
} etx_item_reader;

// item_lines.c

// The innermost group of items that an undecided condition makes, or SIZE_MAX.
size_t etx_reader_group(const etx_item_reader* r);
// Adds an item without lines.
ETX_MUST_USE etx_status etx_reader_add_item(etx_item_reader* r,
                                            etx_item_kind kind, size_t* out);
// Notes the macros of an expansion at an item, or at a group of items.
ETX_MUST_USE etx_status etx_reader_note_uses(etx_item_reader* r,
                                             const etx_c_expansion* e,
                                             size_t item, size_t group);
// Expands what the open item has so far.
ETX_MUST_USE etx_status etx_reader_flush(etx_item_reader* r);
// True if the branches of all conditions around the line are read.
bool etx_reader_is_read(const etx_item_reader* r);
// Gives the comment that was read last, up to the line `end`, to an item.
void etx_reader_give_comment(etx_item_reader* r, size_t end, size_t item);
// Ends a comment that stands alone before the line `end`.
ETX_MUST_USE etx_status etx_reader_end_comment(etx_item_reader* r, size_t end);
void etx_reader_start_unit(etx_item_reader* r, bool is_source);
// Reads a line that is no directive.
ETX_MUST_USE etx_status etx_reader_line(etx_item_reader* r, size_t line);

// source_directives.c

bool etx_reader_is_directive(etx_text text);
// Reads the directive at a line; `*out_end` becomes the line behind it.
ETX_MUST_USE etx_status etx_reader_directive(etx_item_reader* r, size_t line,
                                             size_t* out_end);

#endif
