// Writes selected_operators.yaml as PyYAML's safe_dump writes it: keys sorted,
// lists without indentation, strings plain where YAML reads them as such.

#include "cli/select/selection_yaml.h"

typedef struct yaml_writer {
  const etx_sink* sink;
  etx_status status;  // of the first write that failed
} yaml_writer;

static void put(yaml_writer* w, const char* text) {
  if (w->status == ETX_OK) {
    w->status = etx_sink_write(w->sink, text, strlen(text));
  }
}

static void put_bytes(yaml_writer* w, const char* data, size_t size) {
  if (w->status == ETX_OK) w->status = etx_sink_write(w->sink, data, size);
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// True if YAML reads the unquoted text as this string: it begins as a name or
// path does, has no character with a meaning, and is no word for a value.
static bool is_plain(etx_text text) {
  static const char* const words[] = {"true", "false", "yes", "no", "on",
                                      "off",  "null",  "y",   "n"};
  if (text.size == 0) return false;
  const char first = text.data[0];
  if (!is_letter(first) && first != '/' && first != '_') return false;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (!is_letter(c) && !(c >= '0' && c <= '9') &&
        (c == '\0' || strchr("_./:;|,-+~@=()", c) == NULL)) {
      return false;
    }
  }
  if (text.data[text.size - 1] == ':') return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    size_t k = 0;
    while (k < text.size && words[i][k] != '\0' &&
           (text.data[k] | 0x20) == words[i][k]) {
      ++k;
    }
    if (k == text.size && words[i][k] == '\0') return false;
  }
  return true;
}

static bool has_control(etx_text text) {
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f) return true;
  }
  return false;
}

// Between double quotes, with escapes: a text with control characters.
static void put_escaped(yaml_writer* w, etx_text text) {
  static const char digits[] = "0123456789ABCDEF";
  put(w, "\"");
  for (size_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c == 0x7f) {
      const char escape[] = {'\\', 'x', digits[c >> 4], digits[c & 15], '\0'};
      put(w, escape);
    } else {
      if (c == '"' || c == '\\') put(w, "\\");
      put_bytes(w, &text.data[i], 1);
    }
  }
  put(w, "\"");
}

static void put_text(yaml_writer* w, etx_text text) {
  if (is_plain(text)) {
    put_bytes(w, text.data, text.size);
    return;
  }
  if (has_control(text)) {
    put_escaped(w, text);
    return;
  }
  put(w, "'");
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '\'') put(w, "'");
    put_bytes(w, &text.data[i], 1);
  }
  put(w, "'");
}

static void put_flag(yaml_writer* w, const char* key, bool flag) {
  put(w, key);
  put(w, flag ? ": true\n" : ": false\n");
}

// Writes what follows the key of a list.
static void put_list(yaml_writer* w, const char* indent,
                     const etx_text_set* set) {
  put(w, set->count == 0 ? ": []\n" : ":\n");
  for (size_t i = 0; i < set->count; ++i) {
    put(w, indent);
    put(w, "- ");
    put_text(w, set->items[i]);
    put(w, "\n");
  }
}

static void put_kernels(yaml_writer* w, const etx_selection* selection) {
  bool is_empty = true;
  for (size_t i = 0; i < selection->count; ++i) {
    const etx_selected_operator* const row = &selection->operators[i];
    if (!row->has_kernels) continue;
    if (is_empty) put(w, "et_kernel_metadata:\n");
    is_empty = false;
    put(w, "  ");
    put_text(w, row->name);
    put_list(w, "  ", &row->kernels);
  }
  if (is_empty) put(w, "et_kernel_metadata: {}\n");
}

static void put_operator(yaml_writer* w, const etx_selected_operator* row) {
  put(w, "  ");
  put_text(w, row->name);
  put(w, ":\n");
  if (row->debug_info.count > 0) {
    put(w, "    debug_info");
    put_list(w, "    ", &row->debug_info);
  }
  put_flag(w, "    include_all_overloads", row->has_all_overloads);
  put_flag(w, "    is_root_operator", row->is_root);
  put_flag(w, "    is_used_for_training", row->is_training);
}

static void put_operators(yaml_writer* w, const etx_selection* selection) {
  bool is_empty = true;
  for (size_t i = 0; i < selection->count; ++i) {
    if (!selection->operators[i].is_listed) continue;
    if (is_empty) put(w, "operators:\n");
    is_empty = false;
    put_operator(w, &selection->operators[i]);
  }
  if (is_empty) put(w, "operators: {}\n");
}

etx_status etx_selection_yaml_write(const etx_selection* selection,
                                    const etx_sink* sink) {
  yaml_writer w = {sink, ETX_OK};
  put(&w, "build_features");
  put_list(&w, "", &selection->build_features);
  put(&w, "custom_classes");
  put_list(&w, "", &selection->custom_classes);
  if (selection->debug_info.count > 0) {
    put(&w, "debug_info");
    put_list(&w, "", &selection->debug_info);
  }
  put_kernels(&w, selection);
  put_flag(&w, "include_all_non_op_selectives",
           selection->has_all_non_op_selectives);
  put_flag(&w, "include_all_operators", selection->has_all_operators);
  put(&w, "kernel_metadata: {}\n");
  put_operators(&w, selection);
  return w.status;
}
