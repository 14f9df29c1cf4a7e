#include "tests/ops/vector_forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vector_form {
  const char* op;
  const char* condition;
  const char* row;
  const char* arguments;
} vector_form;

static const vector_form forms[] = {
#define FORM(op, condition, row, arguments) {op, condition, row, arguments},
#include "tests/ops/vector_forms.def"
#undef FORM
};

enum { WORD = 96 };

// Reads the next word, separated by spaces; false at the end.
static bool next_word(const char** rest, char word[WORD]) {
  while (**rest == ' ') ++*rest;
  size_t size = strcspn(*rest, " ");
  if (size == 0) return false;
  if (size >= WORD) size = WORD - 1;
  memcpy(word, *rest, size);
  word[size] = '\0';
  *rest += size;
  return true;
}

static json_t* argument_named(json_t* one, const char* name) {
  size_t i;
  json_t* entry;
  json_array_foreach(json_object_get(one, "args"), i, entry) {
    const char* own = json_string_value(json_object_get(entry, "name"));
    if (own != NULL && strcmp(own, name) == 0) return entry;
  }
  return NULL;
}

// "mode=reflect", "value=none", "training=false" or "pad/2"
static bool holds(json_t* one, char* word) {
  char* at = strpbrk(word, "=/");
  if (at == NULL) return false;
  const bool counts = *at == '/';
  *at++ = '\0';
  json_t* entry = argument_named(one, word);
  if (counts) {
    return json_array_size(json_object_get(entry, "il")) ==
           strtoul(at, NULL, 10);
  }
  if (strcmp(at, "none") == 0) return json_object_get(entry, "n") != NULL;
  if (strcmp(at, "false") == 0) {
    return json_is_false(json_object_get(entry, "b"));
  }
  const char* text = json_string_value(json_object_get(entry, "s"));
  return text != NULL && strcmp(text, at) == 0;
}

static bool applies(const vector_form* f, json_t* one) {
  const char* op = json_string_value(json_object_get(one, "op"));
  const char* rest = f->condition;
  char word[WORD];
  if (op == NULL || strcmp(op, f->op) != 0) return false;
  while (next_word(&rest, word)) {
    if (!holds(one, word)) return false;
  }
  return true;
}

// Size `dimension` of the first argument, or the product from there on.
static json_int_t size_of(const vector_file* file, json_t* one,
                          const char* dimension) {
  json_t* first = json_array_get(json_object_get(one, "args"), 0);
  const char* name = json_string_value(json_object_get(first, "t"));
  vector_tensor tensor;
  char* end;
  size_t at = strtoul(dimension, &end, 10);
  if (name == NULL || !vector_file_find(file, name, &tensor)) return 0;
  if (*end == '\0') return at < tensor.rank ? tensor.sizes[at] : 0;
  json_int_t product = 1;
  for (; at < tensor.rank; ++at) product *= tensor.sizes[at];
  return product;
}

// A copy of the list with `first` in front.
static json_t* longer_list(json_t* entry, json_int_t first) {
  json_t* list = json_array();
  json_t* item;
  size_t i;
  json_array_append_new(list, json_integer(first));
  json_array_foreach(json_object_get(entry, "il"), i, item) {
    json_array_append(list, item);
  }
  json_t* out = json_object();
  json_object_set_new(out, "il", list);
  return out;
}

// Makes one argument of the row from its word; NULL if the case has no such
// argument.
static json_t* make_argument(const vector_file* file, json_t* one, char* word) {
  char* at = strpbrk(word, ":=#");
  json_t* entry = NULL;
  if (at == NULL) {
    entry = json_copy(argument_named(one, word));
  } else if (*at == '=') {
    *at++ = '\0';
    entry = json_loads(at, 0, NULL);
  } else if (*at == '#') {
    *at++ = '\0';
    entry = json_object();
    json_object_set_new(entry, "i", json_integer(size_of(file, one, at)));
  } else {
    *at++ = '\0';
    char* plus = strchr(at, '+');
    json_t* own = argument_named(one, plus == NULL ? at : plus + 1);
    if (plus == NULL) {
      entry = json_copy(own);
    } else {
      const bool is_size = *at == '#';
      *plus = '\0';
      entry = longer_list(
          own, is_size ? size_of(file, one, at + 1) : strtol(at, NULL, 10));
    }
  }
  if (entry != NULL) json_object_set_new(entry, "name", json_string(word));
  return entry;
}

void vector_forms_apply(const vector_file* file, json_t* one) {
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
    if (!applies(&forms[i], one)) continue;
    json_t* arguments = json_array();
    const char* rest = forms[i].arguments;
    char word[WORD];
    while (next_word(&rest, word)) {
      json_t* entry = make_argument(file, one, word);
      if (entry != NULL) json_array_append_new(arguments, entry);
    }
    json_object_set_new(one, "op", json_string(forms[i].row));
    json_object_set_new(one, "args", arguments);
    json_object_set_new(one, "form", json_true());
    return;
  }
}
