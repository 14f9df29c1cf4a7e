#include "format/flatbuffers/fb_members.h"

// An enum is as wide as an int. Where the compiler makes it narrower
// (-fshort-enums), padding follows it, since no struct has two enums in a row.
static void put_code(uint8_t* to, int code) { memcpy(to, &code, sizeof code); }

static void put_list(uint8_t* to, const uint8_t* list) {
  const void* const items = etx_fb_list_elements(list);
  const size_t count = etx_fb_list_count(list);
  memcpy(to, &items, sizeof items);
  memcpy(to + sizeof items, &count, sizeof count);
}

void etx_fb_members_read(const uint8_t* table, const etx_fb_member* members,
                         void* out) {
  const etx_fb_row row = etx_fb_row_of(table);
  for (uint32_t i = 0; members[i].kind != ETX_FB_AS_END; ++i) {
    const uint8_t* const at = etx_fb_row_field(row, i);
    uint8_t* const to = (uint8_t*)out + members[i].offset;
    if (at == NULL) continue;
    switch (members[i].kind) {
      case ETX_FB_AS_FLAG:
        *to = *at != 0;
        break;
      case ETX_FB_AS_CODE:
        put_code(to, (int8_t)*at);
        break;
      case ETX_FB_AS_UNSIGNED:
        put_code(to, *at);
        break;
      case ETX_FB_AS_LIST:
        put_list(to, etx_fb_follow(at));
        break;
      default:
        memcpy(to, at, members[i].kind);
        break;
    }
  }
}
