// The members of an archive of torch.export (.pt2), which a byte of an archive
// would hardly ever change: the checksum of the member would be wrong. The
// input is a text:
//
//   == models/model.json
//   {"graph_module": ...}
//   == data/weights/weight_0
//   bytes
//
// Each line of this kind begins a member. They are put into an archive that is
// read and planned.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_memory/checksum.h"
#include "tests/hostile/fuzz/fuzz_method.h"
#include "tests/hostile/fuzz/fuzz_target.h"

enum {
  MOST_MEMBERS = 64,
  LOCAL_BYTES = 30,  // of a member's header without its name
  ENTRY_BYTES = 46,  // of its entry in the directory
  END_BYTES = 22,    // of the end of the directory
};

static const char root[] = "m/";

// A part of the input, which it borrows.
typedef struct archive_member {
  etx_text name;
  etx_bytes content;
  size_t place;  // of its header in the archive
} archive_member;

typedef struct archive {
  archive_member members[MOST_MEMBERS];
  size_t member_count;
  uint8_t* bytes;
  size_t size;
} archive;

// The place of "\n== " at or after `start`, or of the end.
static size_t next_mark(etx_bytes input, size_t start) {
  static const char mark[] = "\n== ";
  for (size_t i = start; i + 4 <= input.size; ++i) {
    if (memcmp(input.data + i, mark, 4) == 0) return i;
  }
  return input.size;
}

static void split(etx_bytes input, archive* out) {
  size_t at = input.size >= 3 && memcmp(input.data, "== ", 3) == 0
                  ? 3
                  : next_mark(input, 0) + 4;
  while (at < input.size && out->member_count < MOST_MEMBERS) {
    archive_member* const member = &out->members[out->member_count++];
    const uint8_t* const end = memchr(input.data + at, '\n', input.size - at);
    const size_t name_end =
        end == NULL ? input.size : (size_t)(end - input.data);
    const size_t stop = next_mark(input, name_end);
    const size_t start = name_end + (stop > name_end ? 1 : 0);
    member->name.data = (const char*)input.data + at;
    member->name.size = name_end - at < 1000 ? name_end - at : 1000;
    member->content.data = input.data + start;
    member->content.size = stop - start;
    at = stop + 4;
  }
}

static void put(archive* out, const void* bytes, size_t size) {
  if (size > 0) memcpy(out->bytes + out->size, bytes, size);
  out->size += size;
}

static void put_number(archive* out, size_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    out->bytes[out->size++] = (uint8_t)(number >> 8 * i);
  }
}

// What the header of a member and its entry in the directory have in common.
static void put_facts(archive* out, const archive_member* member) {
  put_number(out, 20, 2);                                   // version needed
  put_number(out, 0, 2);                                    // flags
  put_number(out, 0, 2);                                    // not compressed
  put_number(out, 0x00210000, 4);                           // time and date
  put_number(out, etx_crc32(0, member->content), 4);        // checksum
  put_number(out, member->content.size, 4);                 // in the archive
  put_number(out, member->content.size, 4);                 // of the content
  put_number(out, sizeof root - 1 + member->name.size, 2);  // of the name
  put_number(out, 0, 2);                                    // of more fields
}

static void put_name(archive* out, const archive_member* member) {
  put(out, root, sizeof root - 1);
  put(out, member->name.data, member->name.size);
}

static void put_member(archive* out, archive_member* member) {
  member->place = out->size;
  put(out, "PK\3\4", 4);
  put_facts(out, member);
  put_name(out, member);
  put(out, member->content.data, member->content.size);
}

static void put_entry(archive* out, const archive_member* member) {
  put(out, "PK\1\2", 4);
  put_number(out, 20, 2);  // version that made it
  put_facts(out, member);
  put_number(out, 0, 2);  // of a comment
  put_number(out, 0, 2);  // the first disk
  put_number(out, 0, 6);  // attributes
  put_number(out, member->place, 4);
  put_name(out, member);
}

static void write_archive(archive* out) {
  for (size_t i = 0; i < out->member_count; ++i) {
    put_member(out, &out->members[i]);
  }
  const size_t start = out->size;
  for (size_t i = 0; i < out->member_count; ++i) {
    put_entry(out, &out->members[i]);
  }
  const size_t end = out->size;
  put(out, "PK\5\6", 4);
  put_number(out, 0, 4);  // numbers of disks
  put_number(out, out->member_count, 2);
  put_number(out, out->member_count, 2);
  put_number(out, end - start, 4);
  put_number(out, start, 4);
  put_number(out, 0, 2);  // of a comment
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static archive out;
  const etx_bytes input = {data, size};
  memset(&out, 0, sizeof out);
  split(input, &out);
  size_t room = END_BYTES;
  for (size_t i = 0; i < out.member_count; ++i) {
    const archive_member* const member = &out.members[i];
    room += LOCAL_BYTES + ENTRY_BYTES +
            2 * (sizeof root - 1 + member->name.size) + member->content.size;
  }
  out.bytes = malloc(room);
  if (out.bytes == NULL) abort();
  write_archive(&out);
  const etx_bytes archive_bytes = {out.bytes, out.size};
  const bool is_planned = fuzz_method("method.pt2", archive_bytes);
  free(out.bytes);
  return is_planned ? 0 : FUZZ_REFUSED;
}
