#include "cli/text/chat_family.h"

#include <string.h>

static const etx_chat_family families[] = {
#define CHAT_FAMILY(name, mark_0, mark_1, mark_2, trims, ...) \
  {name, {mark_0, mark_1, mark_2}, trims, __VA_ARGS__},
#include "cli/text/chat_families.def"
#undef CHAT_FAMILY
};
enum { FAMILY_COUNT = sizeof families / sizeof *families };

// In front of a system's message that stands in the first one of the user.
static const char in_user[] = "user ";

static bool contains(etx_text text, const char* part) {
  const size_t size = strlen(part);
  for (size_t at = 0; size <= text.size && at <= text.size - size; ++at) {
    if (memcmp(text.data + at, part, size) == 0) return true;
  }
  return false;
}

const etx_chat_family* etx_chat_family_recognise(etx_text jinja) {
  for (size_t i = 0; i < FAMILY_COUNT; ++i) {
    size_t found = 0;
    for (size_t m = 0; m < ETX_CHAT_MARKS; ++m) {
      const char* const mark = families[i].marks[m];
      found += *mark == '\0' || contains(jinja, mark);
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

static etx_text trimmed(etx_text text) {
  while (text.size > 0 && strchr(" \t\r\n", text.data[0]) != NULL) {
    ++text.data;
    --text.size;
  }
  while (text.size > 0 && strchr(" \t\r\n", text.data[text.size - 1]) != NULL) {
    --text.size;
  }
  return text;
}

static void put_message(chat_writer* w, etx_text message) {
  put(w, w->chat->family->trims ? trimmed(message) : message);
}

// The system's message is written by itself, or in the user's first one.
static void put_system(chat_writer* w, bool is_in_user) {
  const etx_chat_family* const family = w->chat->family;
  const size_t skip = sizeof in_user - 1;
  const bool goes_in_user = strncmp(family->system_before, in_user, skip) == 0;
  if (w->chat->system.data == NULL || goes_in_user != is_in_user) return;
  put_pattern(w, family->system_before + (goes_in_user ? skip : 0));
  put_message(w, w->chat->system);
  put_pattern(w, family->system_behind);
}

etx_status etx_chat_write(const etx_chat* chat, etx_pool* pool, etx_text* out,
                          etx_diag* diag) {
  const etx_chat_family* const family = chat->family;
  chat_writer w = {.chat = chat, .pool = pool};
  put_pattern(&w, family->start);
  put_system(&w, false);
  for (size_t i = 0; i < chat->count; ++i) {
    if (i % 2 == 0) {
      put_pattern(&w, family->user_before);
      if (i == 0) put_system(&w, true);
      put_message(&w, chat->messages[i]);
      put_pattern(&w, family->user_behind);
      put_pattern(&w, family->prompt);
    } else {
      put_pattern(&w, family->lead);
      put_message(&w, chat->messages[i]);
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
