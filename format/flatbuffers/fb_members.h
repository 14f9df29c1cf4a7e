// Copies a table of a verified buffer into a struct, driven by a list of the
// struct's members in the order of the table's fields. It saves code for tables
// that are read as a whole and not often. The kind of a member must match both
// its C type and the type in the schema.
//
//   static const etx_fb_member members[] = {
//       ETX_FB_MEMBER(etx_blob_symbol, name, LIST),
//       ETX_FB_MEMBER(etx_blob_symbol, minimum, NUMBER8), ...,
//       ETX_FB_MEMBERS_END};
//
// Ownership  lists borrow the buffer's bytes.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_MEMBERS_H
#define ETX_FORMAT_FLATBUFFERS_FB_MEMBERS_H

#include "format/flatbuffers/fb_row.h"

typedef enum etx_fb_member_kind {
  ETX_FB_AS_FLAG,         // from a byte to a bool
  ETX_FB_AS_CODE,         // from a signed byte to an enum
  ETX_FB_AS_UNSIGNED,     // from an unsigned byte to an enum
  ETX_FB_AS_LIST,         // from a string or vector to a pointer and a size_t
  ETX_FB_AS_NUMBER4 = 4,  // 4 bytes
  ETX_FB_AS_END,          // end of the list
  ETX_FB_AS_NUMBER8 = 8,  // 8 bytes
} etx_fb_member_kind;

typedef struct etx_fb_member {
  uint8_t kind;    // an etx_fb_member_kind
  uint8_t offset;  // of the member in its struct
} etx_fb_member;

#define ETX_FB_MEMBER(type, member, kind) \
  {ETX_FB_AS_##kind, offsetof(type, member)}
#define ETX_FB_MEMBERS_END {ETX_FB_AS_END, 0}

// Sets the members of `*out` whose fields the table at `table` has. The others
// keep their values, the defaults.
void etx_fb_members_read(const uint8_t* table, const etx_fb_member* members,
                         void* out);

#endif
