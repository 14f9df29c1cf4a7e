#include "exporter/passes/pass_context.h"

bool etx_pass_entry_next(const char** list, etx_text* out_entry) {
  if (*list == NULL || **list == '\0') return false;
  const char* end = *list;
  while (*end != '\0' && *end != ',') ++end;
  out_entry->data = *list;
  out_entry->size = (size_t)(end - *list);
  *list = *end == ',' ? end + 1 : end;
  return true;
}

etx_text etx_pass_entry_name(etx_text entry) {
  if (entry.size != 0 && (entry.data[0] == '-' || entry.data[0] == '!')) {
    ++entry.data;
    --entry.size;
  }
  return entry;
}

etx_text etx_pass_present_name(etx_text name) {
#define RENAMED(old, new) \
  if (etx_text_is(name, #old)) return etx_text_of(#new);
#include "exporter/passes/renamed_passes.def"
#undef RENAMED
  return name;
}

bool etx_pass_entry_switches_off(const char* list, const char* pass) {
  etx_text entry;
  while (etx_pass_entry_next(&list, &entry)) {
    const etx_text name = etx_pass_entry_name(entry);
    if (etx_text_is(etx_pass_present_name(name), pass)) return true;
  }
  return false;
}

bool etx_passes_include(const etx_pass_context* context, const char* pass) {
  return !etx_pass_entry_switches_off(context->options->passes, pass);
}
