#include "cli/amalgamate/message_texts.h"

#include "exporter/host/text_buffer.h"

// What has been read of a call that takes a message.
typedef struct message_call {
  size_t depth;   // of brackets; 0: no call
  bool has_text;  // the last token was a text, which the next one may continue
} message_call;

static bool takes_message(const etx_c_token* function) {
  static const char* const names[] = {"etx_diag_fail", "etx_diag_fail_at",
                                      "etx_diag_fail_line", "etx_diag_append"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (etx_text_is(function->text, names[i])) return true;
  }
  return false;
}

static bool is_quoted(const etx_c_token* token) {
  return token->kind == ETX_C_TEXT && token->text.data[0] == '"';
}

// Puts the line without its texts, if it has some.
static void put_line(message_call* call, const etx_c_tokens* tokens,
                     etx_text line, etx_text_buffer* out) {
  const char* from = line.data;
  for (size_t i = 0; i < tokens->count; ++i) {
    const etx_c_token* const token = &tokens->items[i];
    const bool opens = etx_c_is(token, "(");
    if (call->depth == 0) {
      if (opens && i > 0 && takes_message(token - 1)) call->depth = 1;
      continue;
    }
    if (opens) ++call->depth;
    if (etx_c_is(token, ")")) --call->depth;
    const bool is_text = call->depth > 0 && is_quoted(token);
    const bool ends = call->has_text && !is_text;
    const bool is_behind = ends && from != line.data;  // on the same line
    if (is_behind) etx_text_put(out, "\"\"", 2);
    if (is_text || ends) {
      etx_text_put(out, from, (size_t)(token->text.data - from));
      from = token->text.data;
    }
    if (ends && !is_behind) etx_text_put(out, "\"\"", 2);
    if (is_text) from += token->text.size;
    call->has_text = is_text;
  }
  etx_text_put(out, from, (size_t)(line.data + line.size - from));
}

static bool is_code(const etx_source* source, const etx_source_line* line) {
  if (line->item == SIZE_MAX) return false;
  const etx_item* const item = &source->items[line->item];
  size_t i = 0;
  while (i < line->text.size && line->text.data[i] == ' ') ++i;
  return !item->is_header && item->kind == ETX_ITEM_CODE &&
         item->level != ETX_ITEM_DROPPED && i < line->text.size &&
         line->text.data[i] != '#';
}

etx_status etx_message_texts_empty(etx_source* source) {
  message_call call = {0, false};
  size_t item = SIZE_MAX;
  for (size_t i = 0; i < source->line_count; ++i) {
    etx_source_line* const line = &source->lines[i];
    if (!is_code(source, line)) continue;
    if (line->item != item) call = (message_call){0, false};
    item = line->item;
    etx_c_tokens tokens = {.pool = source->pool};
    etx_text_buffer text;
    etx_text_buffer_init(&text, source->pool);
    ETX_TRY(etx_c_tokens_read(&tokens, &source->names, line->text));
    put_line(&call, &tokens, line->text, &text);
    ETX_TRY(text.status);
    line->text =
        text.size > 0 ? (etx_text){text.data, text.size} : (etx_text){"", 0};
  }
  return ETX_OK;
}
