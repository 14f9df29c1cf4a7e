// The hashed text is the YAML of the module, which reads back as the same
// module. In it, constants are named by the hash of their type and bytes.

#include "exporter/fingerprint.h"

#include "exporter/ir/ir_print.h"

typedef struct module_hasher {
  const etx_ir_module* module;
  etx_pool* pool;  // scratch
  etx_sha256 hash;
  etx_ir_print_options options;
  const etx_workers* workers;
  uint8_t* digests;  // of the constants
} module_hasher;

static void add_number(etx_sha256* hash, uint64_t number) {
  uint8_t bytes[8];
  for (size_t i = 0; i < 8; ++i) bytes[i] = (uint8_t)(number >> 8 * i);
  etx_sha256_add(hash, bytes, sizeof bytes);
}

static void add_text(etx_sha256* hash, etx_text text) {
  add_number(hash, text.size);
  etx_sha256_add(hash, text.data, text.size);
}

static etx_text hex_of(etx_pool* pool, const uint8_t* digest) {
  static const char hex[] = "0123456789abcdef";
  char* const text = etx_pool_take(pool, 2 * ETX_SHA256_BYTES);
  const etx_text out = {text, text == NULL ? 0 : 2 * ETX_SHA256_BYTES};
  for (size_t i = 0; text != NULL && i < ETX_SHA256_BYTES; ++i) {
    text[2 * i] = hex[digest[i] >> 4];
    text[2 * i + 1] = hex[digest[i] & 15];
  }
  return out;
}

// Writes the digest of constant `i`, its type and bytes.
static void hash_constant(void* argument, size_t i) {
  const module_hasher* const t = argument;
  const etx_ir_constant* const constant = &t->module->constants[i];
  etx_sha256 hash;
  etx_sha256_init(&hash);
  add_number(&hash, (uint64_t)constant->dtype);
  add_number(&hash, constant->rank);
  for (size_t j = 0; j < constant->rank; ++j) {
    add_number(&hash, (uint64_t)constant->sizes[j]);
  }
  etx_sha256_add(&hash, constant->data.data, constant->data.size);
  etx_sha256_finish(&hash, t->digests + i * ETX_SHA256_BYTES);
}

static etx_status name_constants(module_hasher* t) {
  const size_t count = t->module->constant_count;
  etx_text* const names = etx_pool_take(t->pool, count * sizeof *names);
  t->digests = etx_pool_take(t->pool, count * ETX_SHA256_BYTES);
  if (names == NULL || t->digests == NULL) return ETX_OUT_OF_MEMORY;
  etx_workers_run(t->workers, hash_constant, t, count);
  for (size_t i = 0; i < count; ++i) {
    names[i] = hex_of(t->pool, t->digests + i * ETX_SHA256_BYTES);
    if (names[i].data == NULL) return ETX_OUT_OF_MEMORY;
  }
  t->options.tensor_names = names;
  return ETX_OK;
}

static etx_status add_buffer(module_hasher* t, const etx_ir_buffer* buffer) {
  etx_text_buffer out;
  etx_text_buffer_init(&out, t->pool);
  add_text(&t->hash, buffer->name);
  add_number(&t->hash, buffer->is_state);
  add_number(&t->hash, (uint64_t)buffer->dtype);
  add_number(&t->hash, buffer->rank);
  for (size_t i = 0; i < buffer->rank; ++i) {
    add_number(&t->hash, (uint64_t)buffer->sizes[i]);
  }
  if (buffer->initial != ETX_IR_NONE) {
    etx_ir_print_constant(t->module, buffer->initial, &t->options, &out);
  }
  const etx_text text = {out.data, out.size};
  add_text(&t->hash, text);
  return out.status;
}

static etx_status add_method(module_hasher* t, const etx_ir_method* method) {
  etx_text_buffer out;
  etx_text_buffer_init(&out, t->pool);
  ETX_TRY(etx_ir_print_method(t->module, method, &t->options, &out));
  const etx_text text = {out.data, out.size};
  add_text(&t->hash, text);
  for (size_t i = 0; i < method->output_count; ++i) {
    add_number(&t->hash, (uint64_t)method->outputs[i].lifetime);
  }
  return ETX_OK;
}

static etx_status add_constant_method(module_hasher* t,
                                      const etx_ir_constant_method* method) {
  etx_text_buffer out;
  etx_text_buffer_init(&out, t->pool);
  add_text(&t->hash, method->name);
  if (method->constant == ETX_IR_NONE) {
    const bool is_list = method->arg.kind == ETX_IR_ARG_LIST;
    const size_t count = is_list ? method->arg.as.list.count : 1;
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) etx_text_put_string(&out, ", ");
      etx_ir_print_fixed(
          &out, is_list ? &method->arg.as.list.items[i] : &method->arg);
    }
    const etx_text text = {out.data, out.size};
    add_text(&t->hash, text);
  } else {
    add_text(&t->hash, t->options.tensor_names[method->constant]);
  }
  return out.status;
}

// Adds nothing for a state that is not a cache.
static void add_cache(module_hasher* t, const etx_ir_buffer* buffer) {
  const etx_ir_cache* const cache = &buffer->cache;
  if (!cache->is_cache) return;
  add_text(&t->hash, buffer->name);
  add_number(&t->hash, cache->dim);
  add_number(&t->hash, (uint64_t)cache->overflow);
  if (cache->counter == ETX_IR_NONE) return;
  add_text(&t->hash, t->module->buffers[cache->counter].name);
}

static etx_status add_module(module_hasher* t) {
  const etx_ir_module* const module = t->module;
  ETX_TRY(name_constants(t));
  add_number(&t->hash, module->alignment);
  add_number(&t->hash, module->buffer_count);
  for (size_t i = 0; i < module->buffer_count; ++i) {
    ETX_TRY(add_buffer(t, &module->buffers[i]));
  }
  add_number(&t->hash, module->method_count);
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(add_method(t, &module->methods[i]));
  }
  add_number(&t->hash, module->constant_method_count);
  for (size_t i = 0; i < module->constant_method_count; ++i) {
    ETX_TRY(add_constant_method(t, &module->constant_methods[i]));
  }
  for (size_t i = 0; i < module->concurrent_count; ++i) {
    add_text(&t->hash, module->concurrent[i].first);
    add_text(&t->hash, module->concurrent[i].second);
  }
  for (size_t i = 0; i < module->memory_count; ++i) {
    add_text(&t->hash, module->memories[i].name);
    add_number(&t->hash, module->memories[i].capacity);
    add_number(&t->hash, module->memories[i].cost);
    add_number(&t->hash, module->memories[i].holds_state);
  }
  for (size_t i = 0; i < module->quantize_count; ++i) {
    add_text(&t->hash, module->quantize[i].text);
  }
  if (module->cache_type != ETX_DTYPE_FLOAT32) {
    add_number(&t->hash, (uint64_t)module->cache_type);
  }
  for (size_t i = 0; i < module->buffer_count; ++i) {
    add_cache(t, &module->buffers[i]);
  }
  return ETX_OK;
}

etx_status etx_ir_fingerprint(const etx_ir_module* module,
                              const etx_workers* workers,
                              uint8_t out_fingerprint[ETX_SHA256_BYTES]) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  module_hasher t = {.module = module,
                     .pool = &scratch,
                     .options = {etx_text_of("c"), NULL, NULL},
                     .workers = workers};
  etx_sha256_init(&t.hash);
  const etx_status status = add_module(&t);
  if (status == ETX_OK) etx_sha256_finish(&t.hash, out_fingerprint);
  etx_pool_close(&scratch);
  return status;
}
