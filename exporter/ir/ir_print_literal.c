// Scalars as YAML: strings in quotes where they are needed, floats with as many
// digits as it takes to read back the same bits.

#include "exporter/ir/ir_print.h"
#include "exporter/ir/uniform_value.h"

static bool is_plain_word(etx_text word) {
  static const char* const taken[] = {"null", "Null",  "NULL",  "true", "True",
                                      "TRUE", "false", "False", "FALSE"};
  if (word.size == 0) return false;
  for (size_t i = 0; i < word.size; ++i) {
    const char c = word.data[i];
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool is_inner = (c >= '0' && c <= '9') || c == '.';
    if (!is_letter && !(i > 0 && is_inner)) return false;
  }
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i) {
    if (etx_text_is(word, taken[i])) return false;
  }
  return true;
}

// Reads one code point of UTF-8 and returns its length in bytes; 0 if the bytes
// are not valid UTF-8.
static size_t read_code_point(etx_text text, size_t at, uint32_t* out) {
  const unsigned char first = (unsigned char)text.data[at];
  const size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + count > text.size) return 0;
  uint32_t point = first & (0xffu >> (count + 1));
  for (size_t i = 1; i < count; ++i) {
    const unsigned char c = (unsigned char)text.data[at + i];
    if ((c & 0xc0) != 0x80) return 0;
    point = point << 6 | (c & 0x3fu);
  }
  *out = point;
  return count;
}

// An escape such as "\x07", "\u00e9" or "\U0001f600".
static void put_escape(etx_text_buffer* out, uint32_t point) {
  static const char hex[] = "0123456789abcdef";
  const unsigned digits = point < 0x100 ? 2 : point < 0x10000 ? 4 : 8;
  char text[10] = {'\\', digits == 2 ? 'x' : digits == 4 ? 'u' : 'U'};
  for (unsigned i = 0; i < digits; ++i) {
    text[2 + i] = hex[point >> 4 * (digits - 1 - i) & 15];
  }
  etx_text_put(out, text, 2 + digits);
}

void etx_ir_print_literal(etx_text_buffer* out, etx_text word) {
  if (is_plain_word(word)) {
    etx_text_put_text(out, word);
    return;
  }
  etx_text_put_string(out, "\"");
  for (size_t i = 0; i < word.size; ++i) {
    const unsigned char c = (unsigned char)word.data[i];
    uint32_t point = c;
    if (c == '"' || c == '\\') {
      const char pair[2] = {'\\', (char)c};
      etx_text_put(out, pair, 2);
    } else if (c >= 0x20 && c < 0x7f) {
      etx_text_put(out, &word.data[i], 1);
    } else {
      const size_t count = read_code_point(word, i, &point);
      if (count > 1) i += count - 1;
      put_escape(out, point);
    }
  }
  etx_text_put_string(out, "\"");
}

void etx_ir_print_fixed(etx_text_buffer* out, const etx_ir_arg* arg) {
  char text[48];
  switch (arg->kind) {
    case ETX_IR_ARG_INT:
      etx_text_put_format(out, "%i", arg->as.integer);
      return;
    case ETX_IR_ARG_DOUBLE:
      etx_double_text(arg->as.real, text, sizeof text);
      etx_text_put_string(out, text);
      return;
    case ETX_IR_ARG_BOOL:
      etx_text_put_string(out, arg->as.boolean ? "true" : "false");
      return;
    case ETX_IR_ARG_STRING:
      etx_text_put_string(out, "{str: ");
      etx_ir_print_literal(out, arg->as.string);
      etx_text_put_string(out, "}");
      return;
    default:
      etx_text_put_string(out, "null");
      return;
  }
}

void etx_ir_print_constant(const etx_ir_module* module, uint32_t constant,
                           const etx_ir_print_options* options,
                           etx_text_buffer* out) {
  char text[48];
  if (etx_uniform_text(&module->constants[constant], text, sizeof text)) {
    etx_text_put_string(out, text);
    return;
  }
  const bool is_named = options != NULL && options->tensor_names != NULL;
  const etx_text file =
      is_named ? options->weights_file : etx_text_of("constants");
  etx_text reference =
      etx_pool_format(out->pool, "%t#%u", file, (uint64_t)constant);
  if (is_named) {
    const etx_text name = options->tensor_names[constant];
    char* const joined = etx_pool_take(out->pool, file.size + 1 + name.size);
    if (joined == NULL) {
      out->status = ETX_OUT_OF_MEMORY;
      return;
    }
    memcpy(joined, file.data, file.size);
    joined[file.size] = '#';
    if (name.size != 0) memcpy(joined + file.size + 1, name.data, name.size);
    reference.data = joined;
    reference.size = file.size + 1 + name.size;
  }
  etx_text_put_string(out, "{tensor: ");
  etx_ir_print_literal(out, reference);
  etx_text_put_string(out, "}");
}
