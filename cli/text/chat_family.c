#include "cli/text/chat_family.h"

#include <string.h>

static const etx_chat_family families[] = {
#define CHAT_FAMILY(name, mark_0, mark_1, mark_2, trims, ...) \
  {name, {mark_0, mark_1, mark_2}, trims, __VA_ARGS__},
#include "cli/text/chat_families.def"
#undef CHAT_FAMILY
};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

// In front of a system's message that stands in the first or last one of the
// user.
static const char in_user[] = "user ";
static const char in_last[] = "last ";

bool etx_chat_template_has(etx_text jinja, etx_text part) {
  if (part.size == 0) return false;
  for (size_t at = 0; at + part.size <= jinja.size; ++at) {
    if (memcmp(jinja.data + at, part.data, part.size) == 0) return true;
  }
  return false;
}

static bool starts(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

const etx_chat_family* etx_chat_family_recognise(etx_text jinja) {
  for (size_t i = 0; i < FAMILY_COUNT; ++i) {
    size_t found = 0;
    for (size_t m = 0; m < ETX_CHAT_MARKS; ++m) {
      const char* const mark = families[i].marks[m];
      found += *mark == '\0' || etx_chat_template_has(jinja, etx_text_of(mark));
    }
    if (found == ETX_CHAT_MARKS) return &families[i];
  }
  return NULL;
}

const etx_chat_family* etx_chat_family_find(const char* name) {
  for (size_t i = 0; i < FAMILY_COUNT; ++i) {
    if (strcmp(families[i].name, name) == 0) return &families[i];
  }
  return NULL;
}

etx_text etx_chat_family_names(etx_pool* pool) {
  etx_text names = etx_text_of(families[0].name);
  for (size_t i = 1; i < FAMILY_COUNT; ++i) {
    names = etx_pool_format(pool, "%t, %s", names, families[i].name);
  }
  return names;
}

// Bytes of a template that stand for `part` as a string of Jinja writes it,
// with a line end as "\n" or as itself. 0: the template goes on in another way.
static size_t match_string(etx_text jinja, const char* part) {
  size_t at = 0;
  for (; *part != '\0'; ++part) {
    const etx_text rest = {jinja.data + at, jinja.size - at};
    if (*part == '\n' && etx_text_starts_with(rest, etx_text_of("\\n"))) {
      at += 2;
    } else if (rest.size != 0 && rest.data[0] == *part) {
      ++at;
    } else {
      return 0;
    }
  }
  return at;
}

etx_text etx_chat_family_default_system(const etx_chat_family* family,
                                        etx_text jinja) {
  const char* const before = family->system_before;
  const etx_text none = {NULL, 0};
  if (*before == '\0' || *family->system_behind == '\0' ||
      starts(before, in_user) || starts(before, in_last)) {
    return none;
  }
  for (size_t at = 0; at < jinja.size; ++at) {
    const size_t skip =
        match_string((etx_text){jinja.data + at, jinja.size - at}, before);
    etx_text found = {jinja.data + at + skip, 0};
    if (skip == 0) continue;
    const char* const end = jinja.data + jinja.size;
    while (found.data + found.size < end &&
           memchr("'\"{}\\", found.data[found.size], 5) == NULL) {
      const etx_text rest = {found.data + found.size,
                             (size_t)(end - found.data) - found.size};
      if (match_string(rest, family->system_behind) != 0) {
        return found.size == 0 ? none : found;
      }
      ++found.size;
    }
  }
  return none;
}

// ---- writing ----

typedef struct chat_writer {
  const etx_chat* chat;
  etx_pool* pool;
  char* bytes;
  size_t size, capacity;
  etx_status status;
} chat_writer;

static void put(chat_writer* w, etx_text text) {
  while (w->status == ETX_OK && w->capacity - w->size < text.size) {
    w->status = etx_pool_grow(w->pool, &w->bytes, w->capacity, &w->capacity, 1);
  }
  if (w->status != ETX_OK || text.size == 0) return;
  memcpy(w->bytes + w->size, text.data, text.size);
  w->size += text.size;
}

// Writes a text of a template.
static void put_pattern(chat_writer* w, const char* pattern) {
  static const char bos[] = "{bos}";
  static const char eos[] = "{eos}";
  for (const char* at = pattern; *at != '\0';) {
    if (strncmp(at, bos, sizeof bos - 1) == 0) {
      if (w->chat->has_bos) put(w, w->chat->bos);
      at += sizeof bos - 1;
    } else if (strncmp(at, eos, sizeof eos - 1) == 0) {
      put(w, w->chat->eos);
      at += sizeof eos - 1;
    } else {
      put(w, (etx_text){at++, 1});
    }
  }
}

// Bytes of the character that a text begins with if it is white space for
// strip() of Python and trim of Jinja; else 0.
static size_t space_at(etx_text text) {
  static const char* const spaces[] = {"\t",           "\n",
                                       "\v",           "\f",
                                       "\r",           "\x1C",
                                       "\x1D",         "\x1E",
                                       "\x1F",         " ",
                                       "\xC2\x85",     "\xC2\xA0",
                                       "\xE1\x9A\x80", "\xE2\x80\x80",
                                       "\xE2\x80\x81", "\xE2\x80\x82",
                                       "\xE2\x80\x83", "\xE2\x80\x84",
                                       "\xE2\x80\x85", "\xE2\x80\x86",
                                       "\xE2\x80\x87", "\xE2\x80\x88",
                                       "\xE2\x80\x89", "\xE2\x80\x8A",
                                       "\xE2\x80\xA8", "\xE2\x80\xA9",
                                       "\xE2\x80\xAF", "\xE2\x81\x9F",
                                       "\xE3\x80\x80"};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; ++i) {
    const etx_text space = etx_text_of(spaces[i]);
    if (etx_text_starts_with(text, space)) return space.size;
  }
  return 0;
}

static etx_text trimmed(etx_text text) {
  for (size_t size = space_at(text); size != 0; size = space_at(text)) {
    text = (etx_text){text.data + size, text.size - size};
  }
  for (size_t size = 1; size <= 3 && size <= text.size;) {
    const etx_text end = {text.data + text.size - size, size};
    const bool is_space = space_at(end) == size;
    if (is_space) text.size -= size;
    size = is_space ? 1 : size + 1;
  }
  return text;
}

// `role`: s, u or a, as in `trims` of a family.
static void put_message(chat_writer* w, etx_text message, char role) {
  const bool trims = strchr(w->chat->family->trims, role) != NULL;
  put(w, trims ? trimmed(message) : message);
}

// The system's message is written in front of message `index` of the user, in
// which it stands, or by itself: index SIZE_MAX.
static void put_system(chat_writer* w, size_t index) {
  const etx_chat_family* const family = w->chat->family;
  const char* before = family->system_before;
  size_t place = SIZE_MAX;
  if (starts(before, in_user)) place = 0;
  if (starts(before, in_last)) place = (w->chat->count - 1) / 2 * 2;
  if (w->chat->system.data == NULL || place != index) return;
  if (place != SIZE_MAX) before += sizeof in_user - 1;
  put_pattern(w, before);
  put_message(w, w->chat->system, 's');
  put_pattern(w, family->system_behind);
}

etx_status etx_chat_write(const etx_chat* chat, etx_pool* pool, etx_text* out,
                          etx_diag* diag) {
  const etx_chat_family* const family = chat->family;
  chat_writer w = {.chat = chat, .pool = pool};
  put_pattern(&w, family->start);
  put_system(&w, SIZE_MAX);
  for (size_t i = 0; i < chat->count; ++i) {
    if (i % 2 == 0) {
      put_pattern(&w, family->user_before);
      put_system(&w, i);
      put_message(&w, chat->messages[i], 'u');
      put_pattern(&w, family->user_behind);
      put_pattern(&w, family->prompt);
    } else {
      put_pattern(&w, family->lead);
      put_message(&w, chat->messages[i], 'a');
      put_pattern(&w, family->answer_behind);
    }
  }
  *out = (etx_text){w.bytes, w.size};
  if (w.status == ETX_OK) return ETX_OK;
  return etx_diag_fail(diag, w.status, "no memory for the chat");
}

etx_text etx_chat_end_token(const etx_chat* chat, etx_pool* pool) {
  chat_writer w = {.chat = chat, .pool = pool};
  put_pattern(&w, chat->family->answer_behind);
  return trimmed((etx_text){w.bytes, w.size});
}
