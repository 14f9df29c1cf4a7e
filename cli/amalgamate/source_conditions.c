#include "cli/amalgamate/source_conditions.h"

#include <string.h>

static bool begins_with(etx_text text, const char* start) {
  const size_t size = strlen(start);
  return text.size >= size && memcmp(text.data, start, size) == 0;
}

static bool ends_with(etx_text text, const char* end) {
  const size_t size = strlen(end);
  return text.size >= size &&
         memcmp(text.data + text.size - size, end, size) == 0;
}

static etx_c_value find_defined(etx_c_macros* macros, const etx_c_token* name) {
  const etx_c_value no = {true, 0}, yes = {true, 1}, unknown = {false, 0};
  const etx_c_entry* const entry = etx_c_entry_of(macros, name->name);
  if (entry != NULL && entry->is_undefined) return no;
  bool is_certain = false;
  const size_t choices = etx_c_macro_choices(macros, name->name, &is_certain);
  if (choices > 0) return choices == 1 && is_certain ? yes : unknown;
  // A guard: each header is there once.
  if (begins_with(name->text, "ETX_") && ends_with(name->text, "_H")) return no;
  // A user or the compiler may define these.
  const bool is_open = begins_with(name->text, "_") ||
                       begins_with(name->text, "ETX_") ||
                       etx_text_is(name->text, "NDEBUG");
  return is_open ? unknown : no;
}

etx_status etx_condition_defined(etx_c_expansion* e, const etx_c_token* name,
                                 etx_c_value* out) {
  bool is_certain = false;
  const size_t choices =
      etx_c_macro_choices(e->macros, name->name, &is_certain);
  *out = find_defined(e->macros, name);
  for (size_t i = 0; i < choices; ++i) {
    const etx_c_entry* const entry = etx_c_entry_of(e->macros, name->name);
    ETX_TRY(etx_c_note_used(e, entry->macros[entry->macro_count - 1 - i]));
  }
  return ETX_OK;
}

// Puts 1, 0 or an uncertain number in the place of "defined X".
static etx_status replace_defined(etx_c_expansion* e,
                                  const etx_c_tokens* condition,
                                  etx_c_tokens* out) {
  for (size_t i = 0; i < condition->count; ++i) {
    const etx_c_token* const token = &condition->items[i];
    if (!etx_text_is(token->text, "defined")) {
      ETX_TRY(etx_c_token_add(out, token));
      continue;
    }
    const bool has_bracket =
        i + 1 < condition->count && etx_c_is(&condition->items[i + 1], "(");
    i += has_bracket ? 2 : 1;
    if (i >= condition->count) break;
    etx_c_value v;
    ETX_TRY(etx_condition_defined(e, &condition->items[i], &v));
    const etx_c_token number = {
        .text = {v.number != 0 ? "1" : "0", 1},
        .kind = ETX_C_NUMBER,
        .is_uncertain = !v.is_known,
    };
    ETX_TRY(etx_c_token_add(out, &number));
    if (has_bracket) ++i;
  }
  return ETX_OK;
}

static etx_status refer_to_nothing(void* context, uint32_t name, bool is_live) {
  (void)context, (void)name, (void)is_live;
  return ETX_OK;
}

etx_status etx_condition_value(etx_c_expansion* e,
                               const etx_c_tokens* condition,
                               etx_c_value* out) {
  const etx_c_listener listener = {.refer = refer_to_nothing,
                                   .define = refer_to_nothing};
  etx_c_tokens asked = {.pool = e->pool}, expanded = {.pool = e->pool};
  ETX_TRY(replace_defined(e, condition, &asked));
  ETX_TRY(etx_c_expand(e, &asked, &expanded));
  etx_c_scan scan = {.items = expanded.items,
                     .count = expanded.count,
                     .macros = e->macros,
                     .listener = &listener};
  *out = etx_c_scan_expression(&scan, true);
  return scan.status;
}
