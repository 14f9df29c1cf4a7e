#include "tests/hostile/text_mutation.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/diag.h"

// A text that is being changed, in the caller's memory.
typedef struct draft {
  char* text;
  size_t size;
  size_t room;
} draft;

static etx_text text_of(const draft* d) {
  const etx_text text = {d->text, d->size};
  return text;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

etx_text text_word_from(etx_text text, size_t start) {
  while (start < text.size && !is_word(text.data[start])) ++start;
  size_t end = start;
  while (end < text.size && is_word(text.data[end])) ++end;
  const etx_text word = {text.data + start, end - start};
  return word;
}

// Replaces `taken` bytes at `place` by `put`, which does not lie in the text.
// Returns false, and changes nothing, if there is no room for it.
static bool splice(draft* d, size_t place, size_t taken, etx_text put) {
  if (d->size - taken + put.size > d->room) return false;
  char* const at = d->text + place;
  memmove(at + put.size, at + taken, d->size - place - taken);
  if (put.size > 0) memcpy(at, put.data, put.size);
  d->size = d->size - taken + put.size;
  return true;
}

// The same with bytes of the text itself.
static bool splice_own(draft* d, size_t place, size_t taken, etx_text put) {
  char* const copy = malloc(put.size + 1);
  if (copy == NULL) abort();
  if (put.size > 0) memcpy(copy, put.data, put.size);
  const etx_text kept = {copy, put.size};
  const bool has_room = splice(d, place, taken, kept);
  free(copy);
  return has_room;
}

static etx_text draw_number(hostile_random* random, char out[24]) {
  static const int64_t numbers[] = {
      -1, 0,  1,   2,    3,          4,         5,        7,
      8,  16, 100, 1000, 2147483647, INT64_MAX, INT64_MIN};
  const size_t count = sizeof numbers / sizeof *numbers;
  (void)etx_format_text(out, 24, "%i", numbers[hostile_below(random, count)]);
  return etx_text_of(out);
}

static void change_word(draft* d, const text_words* words,
                        hostile_random* random) {
  char number[24];
  const etx_text old =
      text_word_from(text_of(d), hostile_below(random, d->size));
  if (old.size == 0) return;
  const size_t place = (size_t)(old.data - d->text);
  const bool is_number = old.data[0] >= '0' && old.data[0] <= '9';
  if (is_number && hostile_chance(random, 70)) {
    splice(d, place, old.size, draw_number(random, number));
  } else if (words->count > 0) {
    splice(d, place, old.size,
           words->words[hostile_below(random, words->count)]);
  } else {
    splice_own(d, place, old.size,
               text_word_from(text_of(d), hostile_below(random, d->size)));
  }
}

static size_t line_start(const draft* d, size_t place) {
  while (place > 0 && d->text[place - 1] != '\n') --place;
  return place;
}

// Removes a line, repeats it, or moves it to another place.
static void change_line(draft* d, hostile_random* random) {
  const etx_text nothing = {NULL, 0};
  const size_t start = line_start(d, hostile_below(random, d->size));
  size_t end = start;
  while (end < d->size && d->text[end] != '\n') ++end;
  if (end < d->size) ++end;
  const etx_text line = {d->text + start, end - start};
  const bool is_removed = hostile_chance(random, 60);
  if (is_removed && (line.size == d->size || hostile_chance(random, 50))) {
    splice(d, start, line.size, nothing);
    return;
  }
  const size_t place = line_start(d, hostile_below(random, d->size));
  if (!splice_own(d, place, 0, line)) return;
  if (is_removed && place <= start) {
    splice(d, start + line.size, line.size, nothing);
  } else if (is_removed) {
    splice(d, start, line.size, nothing);
  }
}

// The first item in brackets at or after byte `start`, with the brackets. Its
// size is 0 if there is none, or if it has no end.
static etx_text item_from(etx_text text, size_t start) {
  const etx_text none = {NULL, 0};
  while (start < text.size && text.data[start] != '{' &&
         text.data[start] != '[') {
    ++start;
  }
  size_t depth = 0;
  for (size_t i = start; i < text.size; ++i) {
    const char c = text.data[i];
    if (c == '{' || c == '[') ++depth;
    if (c != '}' && c != ']') continue;
    if (--depth > 0) continue;
    const etx_text item = {text.data + start, i + 1 - start};
    return item;
  }
  return none;
}

// Removes an item with the comma behind it, repeats it, or puts another one in
// its place.
static void change_item(draft* d, hostile_random* random) {
  const etx_text comma = {",", 1};
  const etx_text item = item_from(text_of(d), hostile_below(random, d->size));
  if (item.size == 0) return;
  const size_t place = (size_t)(item.data - d->text);
  const size_t end = place + item.size;
  if (hostile_chance(random, 50)) {
    splice_own(d, place, item.size,
               item_from(text_of(d), hostile_below(random, d->size)));
  } else if (hostile_chance(random, 50)) {
    const bool has_comma = end < d->size && d->text[end] == ',';
    splice(d, place, item.size + (has_comma ? 1 : 0), (etx_text){NULL, 0});
  } else if (splice_own(d, place, 0, item)) {
    splice(d, end, 0, comma);
  }
}

static void change(draft* d, const text_words* words, hostile_random* random) {
  if (d->size == 0) return;
  if (hostile_chance(random, 60)) {
    change_word(d, words, random);
  } else if (hostile_chance(random, 50)) {
    change_item(d, random);
  } else if (hostile_chance(random, 80)) {
    change_line(d, random);
  } else {
    d->text[hostile_below(random, d->size)] = (char)hostile_next(random);
  }
}

size_t text_mutate(char* text, size_t size, size_t room,
                   const text_words* words, hostile_random* random) {
  draft d = {text, size, room};
  const size_t change_count = 1 + hostile_below(random, 3);
  for (size_t i = 0; i < change_count; ++i) change(&d, words, random);
  return d.size;
}
