// Shadow memory: which write every byte of every arena comes from, and which
// writes the content of every value has to come from.
//
//   stamps of an arena     0 7 7 7 7 8 8 8 8 0      0: nobody wrote it
//   a value at offset 1      7 7 7 7                means 7 7 7 7: it holds
//
// A value that the blob calls a view shows the content of another, its root,
// from some byte on; one made of parts means what its parts mean. The memory of
// all of it is its own, until it is closed.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_MEMORY_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pte/etx_blob.h"
#include "tests/cli/verify/shadow_verdict.h"

enum { BYTE_MAX_ARENAS = 4 };

typedef uint32_t byte_stamp;  // 0: nothing that anybody wrote

// Bytes that a tensor stands for.
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
  uint32_t root;       // value whose content it shows, itself if no other's
  size_t root_offset;  // from that byte on
  byte_stamp* own;     // memory of a tensor that has no other
  byte_stamp* means;   // content of a root, by byte
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
  byte_stamp** states;  // what each state of the blob means
  byte_verdict verdict;
} shadow_memory;

// Makes the memory of a file and checks what it says of views and of where
// values lie. False, and nothing to close: the door refuses the file.
bool shadow_memory_open(shadow_memory* s, etx_bytes file);
void shadow_memory_close(shadow_memory* s);

// The verdict, if it is the first.
void shadow_memory_wrong(shadow_memory* s, const shadow_method* m,
                         const char* what, size_t value);

// The state of that name.
bool shadow_memory_find_state(const shadow_memory* s, etx_text name,
                              size_t* out_index);
// Every state must hold at the blob's address, whoever ran.
void shadow_memory_check_states(shadow_memory* s, const shadow_method* m);

// What a value means, and how many bytes of it there are.
byte_stamp* shadow_memory_content(const shadow_method* m, size_t value,
                                  size_t* out_bytes);
// Every byte of a value is the one that it means.
bool shadow_memory_holds(const shadow_memory* s, const shadow_method* m,
                         size_t value);
// Writes values at once: bytes that two of them share are lost.
void shadow_memory_write(shadow_memory* s, const shadow_method* m,
                         const uint32_t* values, size_t count);

bool byte_slots_meet(const byte_slot* a, const byte_slot* b);

#endif
