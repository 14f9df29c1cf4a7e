#include "cli/amalgamate/source_items.h"

#include <string.h>

etx_status etx_source_init(etx_source* source, etx_pool* pool) {
  *source = (etx_source){.pool = pool};
  ETX_TRY(etx_c_names_init(&source->names, pool));
  return etx_c_macros_init(&source->macros, pool, &source->names);
}

etx_status etx_source_state(etx_source* source, const char* name,
                            const char* value) {
  etx_c_tokens tokens = {.pool = source->pool};
  ETX_TRY(etx_c_tokens_read(&tokens, &source->names, etx_text_of(name)));
  if (value == NULL) {
    etx_c_entry* const entry =
        etx_c_entry_of(&source->macros, tokens.items[0].name);
    if (entry == NULL) return ETX_OUT_OF_MEMORY;
    entry->is_undefined = true;
    return ETX_OK;
  }
  ETX_TRY(etx_c_tokens_read(&tokens, &source->names, etx_text_of(value)));
  return etx_c_macro_define(&source->macros, &tokens, SIZE_MAX);
}

bool etx_source_is_path(etx_text text) {
  if (text.size < 6 || memcmp(text.data, "// ", 3) != 0 ||
      memcmp(text.data + text.size - 2, ".c", 2) != 0) {
    return false;
  }
  return memchr(text.data + 3, ' ', text.size - 3) == NULL &&
         memchr(text.data + 3, '/', text.size - 3) != NULL;
}
