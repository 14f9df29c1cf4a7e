// Shadow memory: for every byte of every arena the write that it comes from,
// and for every value the writes that its content should come from.
//
//   stamps of an arena     0 7 7 7 7 8 8 8 8 0      0: never written
//   a value at offset 1      7 7 7 7                expected 7 7 7 7: valid
//
// A view expects the stamps of its root, the outermost parent, from some byte
// on. A value that is made of parts expects the stamps of its parts.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_MEMORY_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pte/etx_blob.h"
#include "tests/cli/verify/shadow_verdict.h"

enum { BYTE_MAX_ARENAS = 4 };

typedef uint32_t byte_stamp;  // number of a write; 0: never written

// The bytes of a tensor.
typedef struct byte_place {
  byte_stamp* memory;  // of its region; NULL: a constant
  size_t limit;        // bytes of the region
  size_t offset;
} byte_place;

typedef struct byte_slot {
  bool is_tensor;
  byte_place at;
  size_t bytes;
  bool has_parts;      // its content is that of its parts
  uint32_t root;       // the outermost parent, or the value itself
  size_t root_offset;  // in bytes of the root
  byte_stamp* own;     // memory of a tensor outside all arenas
  byte_stamp* means;   // of a root: expected stamps, by byte
  size_t means_bytes;
} byte_slot;

typedef struct shadow_method {
  etx_pte_plan plan;
  etx_text name;
  size_t blob;  // position in the blob, or SIZE_MAX
  byte_slot* slots;
  size_t slot_count;
} shadow_method;

typedef struct shadow_memory {
  etx_pte pte;
  etx_blob blob;
  byte_stamp* arenas[BYTE_MAX_ARENAS];
  size_t arena_bytes[BYTE_MAX_ARENAS];
  byte_stamp next;
  shadow_method* methods;
  size_t method_count;
  byte_stamp** states;  // by state of the blob: expected stamps
  byte_verdict verdict;
} shadow_memory;

// Creates the memory of a file and checks its view rows and offsets. Returns
// false, with nothing to close, if the file cannot be opened.
bool shadow_memory_open(shadow_memory* s, etx_bytes file);
void shadow_memory_close(shadow_memory* s);

// Sets the verdict, unless there is one already.
void shadow_memory_wrong(shadow_memory* s, const shadow_method* m,
                         const char* what, size_t value);

// The state of that name.
bool shadow_memory_find_state(const shadow_memory* s, etx_text name,
                              size_t* out_index);
// Checks that every state is valid at its offset in the blob.
void shadow_memory_check_states(shadow_memory* s, const shadow_method* m);

// The expected stamps of a value, and their number.
byte_stamp* shadow_memory_content(const shadow_method* m, size_t value,
                                  size_t* out_bytes);
// True if every byte of a value has the expected stamp.
bool shadow_memory_holds(const shadow_memory* s, const shadow_method* m,
                         size_t value);
// Writes the outputs of one call. Bytes that two of them share become invalid.
void shadow_memory_write(shadow_memory* s, const shadow_method* m,
                         const uint32_t* values, size_t count);

bool byte_slots_meet(const byte_slot* a, const byte_slot* b);

#endif
