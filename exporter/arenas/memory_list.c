#include "exporter/arenas/memory_list.h"

#include "exporter/host/read_digits.h"

// The part of `text` up to `separator`, which is removed from it.
static etx_text take_part(etx_text* text, char separator) {
  size_t size = 0;
  while (size < text->size && text->data[size] != separator) ++size;
  const etx_text part = {text->data, size};
  const size_t skipped = size < text->size ? size + 1 : size;
  text->data += skipped;
  text->size -= skipped;
  return part;
}

// Reads 65536, 64K, 8M or 1G.
static bool read_bytes(etx_text text, uint64_t* out) {
  static const char letters[] = "KMG";
  unsigned shift = 0;
  int64_t number = 0;
  for (unsigned i = 0; text.size > 0 && letters[i] != '\0'; ++i) {
    if (text.data[text.size - 1] != letters[i]) continue;
    shift = 10 * (i + 1);
    text.size -= 1;
    break;
  }
  if (!etx_read_digits(text, &number) || number == 0 ||
      number > INT64_MAX >> shift) {
    return false;
  }
  *out = (uint64_t)number << shift;
  return true;
}

static bool read_word(etx_text word, etx_memory_row* memory) {
  int64_t cost = 0;
  if (etx_text_is(word, "state")) {
    memory->holds_state = true;
    return true;
  }
  const etx_text key = take_part(&word, '=');
  if (!etx_text_is(key, "cost") || !etx_read_digits(word, &cost) || cost < 1 ||
      cost > ETX_MEMORY_MOST_COST) {
    return false;
  }
  memory->cost = (uint32_t)cost;
  return true;
}

static bool read_memory(etx_text text, etx_memory_row* memory) {
  if (text.size == 0 || text.data[text.size - 1] == ',') return false;
  etx_text head = take_part(&text, ',');
  const bool has_bytes = memchr(head.data, '=', head.size) != NULL;
  memory->name = take_part(&head, '=');
  if (!etx_memory_name_is_valid(memory->name)) return false;
  if (has_bytes && !read_bytes(head, &memory->capacity)) return false;
  while (text.size > 0) {
    if (!read_word(take_part(&text, ','), memory)) return false;
  }
  return true;
}

etx_status etx_memory_list_add(etx_ir_module* module, etx_text text,
                               etx_diag* diag) {
  etx_memory_row memory = {0};
  if (!read_memory(text, &memory)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "memory '%t' should have the form NAME, NAME=BYTES or "
                         "NAME=BYTES,cost=N,state, such as sram=64K or "
                         "psram=8M,cost=4",
                         text);
  }
  for (size_t i = 0; i < module->memory_count; ++i) {
    if (!etx_text_equal(module->memories[i].name, memory.name)) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "memory '%t' was given before, as '%t'", text,
                         memory.name);
  }
  if (module->memory_count == ETX_MEMORY_TABLE_MOST) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "memory '%t' is one too many: a program can have %u",
                         text, (uint64_t)ETX_MEMORY_TABLE_MOST);
  }
  memory.name = etx_pool_copy_text(module->pool, memory.name);
  if (memory.name.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pool_grow(module->pool, &module->memories, module->memory_count,
                        &module->memory_capacity, sizeof memory));
  module->memories[module->memory_count++] = memory;
  return ETX_OK;
}

etx_status etx_memory_list_complete(etx_ir_module* module, etx_diag* diag) {
  enum { STEP = 4 };
  const size_t count = module->memory_count;
  const etx_memory_row* holder = NULL;
  uint32_t cost = 1;
  for (size_t i = 0; i < count; ++i) {
    etx_memory_row* const memory = &module->memories[i];
    if (memory->cost == 0) memory->cost = cost;
    cost = memory->cost > ETX_MEMORY_MOST_COST / STEP ? ETX_MEMORY_MOST_COST
                                                      : memory->cost * STEP;
    if (!memory->holds_state) continue;
    if (holder != NULL) {
      return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                           "the state cannot lie in both memories '%t' and "
                           "'%t'",
                           holder->name, memory->name);
    }
    holder = memory;
  }
  if (count > 0 && holder == NULL) {
    module->memories[count - 1].holds_state = true;
  }
  return ETX_OK;
}

void etx_memory_list_put(etx_text_buffer* out, const etx_memory_row* memory) {
  etx_text_put_text(out, memory->name);
  if (memory->capacity != 0) {
    etx_text_put_format(out, "=%u", memory->capacity);
  }
  if (memory->cost != 0) {
    etx_text_put_format(out, ",cost=%u", (uint64_t)memory->cost);
  }
  if (memory->holds_state) etx_text_put_string(out, ",state");
}
