// Reading a table of a verified buffer into a struct, by a list of the struct's
// members in the order of the table's fields: for tables that are read as a
// whole and not often enough to deserve code of their own. What a member is
// told to be has to suit both its C type and the schema's.
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
  ETX_FB_AS_FLAG,         // a byte of the file, a bool here
  ETX_FB_AS_CODE,         // a signed byte, an enum
  ETX_FB_AS_UNSIGNED,     // an unsigned byte, an enum
  ETX_FB_AS_LIST,         // a string or a vector; a pointer, then a size_t
  ETX_FB_AS_NUMBER4 = 4,  // as many bytes here as there
  ETX_FB_AS_END,          // no member: the list ends
  ETX_FB_AS_NUMBER8 = 8,
} etx_fb_member_kind;

typedef struct etx_fb_member {
  uint8_t kind;    // an etx_fb_member_kind
  uint8_t offset;  // of the member in its struct
} etx_fb_member;

#define ETX_FB_MEMBER(type, member, kind) \
  {ETX_FB_AS_##kind, offsetof(type, member)}
#define ETX_FB_MEMBERS_END {ETX_FB_AS_END, 0}

// Sets members of `*out` to what the table at `table` has; what it does not
// have stays as it is.
void etx_fb_members_read(const uint8_t* table, const etx_fb_member* members,
                         void* out);

#endif
