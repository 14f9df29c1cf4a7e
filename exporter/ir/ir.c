// Tables of the module and its methods. Values are found by name and constants
// by content, with open-addressing hash tables. Both hold index + 1, so zeroed
// memory is an empty table.

#include "exporter/ir/ir.h"

#include <stdarg.h>

#include "exporter/host/content_hash.h"
#include "exporter/host/paged_memory.h"
#include "format/base/checked_math.h"

enum { FIRST_TABLE_SIZE = 64 };

void etx_ir_module_init(etx_ir_module* module, etx_pool* pool) {
  memset(module, 0, sizeof *module);
  module->pool = pool;
  module->alignment = 16;
  module->unroll_limit = 4096;
  module->cache_type = ETX_DTYPE_FLOAT32;
}

// Allocates a table of twice the size if one more item would fill more than
// half of it; else `*out_table` is NULL.
static etx_status make_room(etx_pool* pool, size_t count, size_t size,
                            uint32_t** out_table, size_t* out_size) {
  *out_table = NULL;
  *out_size = size;
  if (2 * (count + 1) <= size) return ETX_OK;
  *out_size = size == 0 ? FIRST_TABLE_SIZE : 2 * size;
  *out_table = etx_pool_take(pool, *out_size * sizeof **out_table);
  return *out_table == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

static void table_put(uint32_t* table, size_t size, uint64_t hash,
                      uint32_t index) {
  size_t at = (size_t)hash & (size - 1);
  while (table[at] != 0) at = (at + 1) & (size - 1);
  table[at] = index + 1;
}

static void clear_table(uint32_t* table, size_t size) {
  if (size != 0) memset(table, 0, size * sizeof *table);
}

// ---------------------------------------------------------------- methods

etx_status etx_ir_add_method(etx_ir_module* module, etx_text name,
                             uint32_t* out_index) {
  ETX_TRY(etx_pool_grow(module->pool, &module->methods, module->method_count,
                        &module->method_capacity, sizeof *module->methods));
  etx_ir_method* const method = &module->methods[module->method_count];
  memset(method, 0, sizeof *method);
  method->name = etx_pool_copy_text(module->pool, name);
  if (method->name.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_symbols_init(&method->symbols, module->pool);
  *out_index = (uint32_t)module->method_count++;
  return ETX_OK;
}

bool etx_ir_find_method(const etx_ir_module* module, etx_text name,
                        uint32_t* out_index) {
  for (size_t i = 0; i < module->method_count; ++i) {
    if (!etx_text_equal(module->methods[i].name, name)) continue;
    *out_index = (uint32_t)i;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------- constants

// The hash of a constant of this type, from the hash of its bytes: many
// constants may have the same bytes, such as none.
static uint64_t hash_typed(const etx_ir_constant* constant, uint64_t content) {
  uint64_t hash = content ^ ((uint64_t)constant->dtype * 31 + constant->rank);
  for (size_t i = 0; i < constant->rank; ++i) {
    hash = (hash ^ (uint64_t)constant->sizes[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return hash;
}

static bool constants_equal(const etx_ir_constant* a,
                            const etx_ir_constant* b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0 &&
         a->data.size == b->data.size &&
         (a->data.size == 0 ||
          memcmp(a->data.data, b->data.data, a->data.size) == 0);
}

// A constant of the module by the hash of its bytes.
static bool find_hashed_constant(const etx_ir_module* module, uint64_t hash,
                                 const etx_ir_constant* constant,
                                 uint32_t* out_index) {
  const size_t size = module->constant_table_size;
  if (size == 0) return false;
  size_t at = (size_t)hash_typed(constant, hash) & (size - 1);
  for (; module->constant_table[at] != 0; at = (at + 1) & (size - 1)) {
    const uint32_t index = module->constant_table[at] - 1;
    if (module->constant_hashes[index] != hash ||
        !constants_equal(&module->constants[index], constant)) {
      continue;
    }
    *out_index = index;
    return true;
  }
  return false;
}

bool etx_ir_find_constant(const etx_ir_module* module,
                          const etx_ir_constant* constant,
                          uint32_t* out_index) {
  return find_hashed_constant(module, etx_content_hash(constant->data),
                              constant, out_index);
}

static void put_constant(uint32_t* table, size_t size,
                         const etx_ir_constant* constant, uint64_t hash,
                         uint32_t index) {
  table_put(table, size, hash_typed(constant, hash), index);
}

// Makes room in the arrays of constants and of their hashes, which grow alike.
static etx_status grow_constants(etx_ir_module* module) {
  size_t capacity = module->constant_capacity;
  ETX_TRY(etx_pool_extend(module->pool, &module->constant_hashes,
                          module->constant_count, &capacity,
                          sizeof *module->constant_hashes));
  return etx_pool_extend(module->pool, &module->constants,
                         module->constant_count, &module->constant_capacity,
                         sizeof *module->constants);
}

etx_status etx_ir_add_constant(etx_ir_module* module,
                               const etx_ir_constant* constant,
                               uint32_t* out_index) {
  const uint64_t hash = etx_content_hash(constant->data);
  etx_pages_rest(module->pool, constant->data.data, constant->data.size);
  if (find_hashed_constant(module, hash, constant, out_index)) return ETX_OK;
  uint32_t* bigger = NULL;
  size_t size = 0;
  ETX_TRY(make_room(module->pool, module->constant_count,
                    module->constant_table_size, &bigger, &size));
  if (bigger != NULL) {
    for (size_t i = 0; i < module->constant_count; ++i) {
      put_constant(bigger, size, &module->constants[i],
                   module->constant_hashes[i], (uint32_t)i);
    }
    module->constant_table = bigger;
    module->constant_table_size = size;
  }
  const etx_ir_constant copy = *constant;
  ETX_TRY(grow_constants(module));
  const uint32_t index = (uint32_t)module->constant_count++;
  module->constants[index] = copy;
  module->constant_hashes[index] = hash;
  put_constant(module->constant_table, size, &copy, hash, index);
  *out_index = index;
  return ETX_OK;
}

etx_status etx_ir_renumber_constants(etx_ir_module* module, const uint32_t* to,
                                     size_t count) {
  etx_pool* const pool = module->pool;
  etx_ir_constant* constants = NULL;
  uint64_t* hashes = NULL;
  size_t capacity = 0;
  size_t hash_capacity = 0;
  size_t size = FIRST_TABLE_SIZE;
  while (size < 2 * count) size *= 2;
  uint32_t* const table = etx_pool_take(pool, size * sizeof *table);
  if (table == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pool_extend_to(pool, &constants, &capacity, count,
                             sizeof *constants));
  ETX_TRY(etx_pool_extend_to(pool, &hashes, &hash_capacity, count,
                             sizeof *hashes));
  for (size_t i = 0; i < module->constant_count; ++i) {
    if (to[i] == ETX_IR_NONE) continue;
    constants[to[i]] = module->constants[i];
    hashes[to[i]] = module->constant_hashes[i];
    put_constant(table, size, &constants[to[i]], hashes[to[i]], to[i]);
  }
  module->constants = constants;
  module->constant_hashes = hashes;
  module->constant_count = module->constant_capacity = count;
  module->constant_table = table;
  module->constant_table_size = size;
  return ETX_OK;
}

const etx_ir_part* etx_ir_find_part(const etx_ir_module* module,
                                    uint32_t constant) {
  for (size_t i = 0; i < module->part_count; ++i) {
    if (module->parts[i].constant == constant) return &module->parts[i];
  }
  return NULL;
}

etx_status etx_ir_add_part(etx_ir_module* module, const etx_ir_part* part) {
  ETX_TRY(etx_pool_grow(module->pool, &module->parts, module->part_count,
                        &module->part_capacity, sizeof *module->parts));
  module->parts[module->part_count++] = *part;
  return ETX_OK;
}

// ---------------------------------------------------------------- buffers

static etx_named_items buffers_of(const etx_ir_module* module) {
  return (etx_named_items){module->buffers, module->buffer_count,
                           sizeof *module->buffers};
}

bool etx_ir_find_buffer(const etx_ir_module* module, etx_text name,
                        uint32_t* out_index) {
  const etx_named_items named = buffers_of(module);
  return etx_name_index_find(&module->buffer_names, &named, name, out_index);
}

etx_status etx_ir_add_buffer(etx_ir_module* module, const etx_ir_buffer* buffer,
                             uint32_t* out_index) {
  ETX_TRY(etx_pool_grow(module->pool, &module->buffers, module->buffer_count,
                        &module->buffer_capacity, sizeof *module->buffers));
  etx_ir_buffer copy = *buffer;
  copy.name = etx_pool_copy_text(module->pool, buffer->name);
  if (copy.name.data == NULL) return ETX_OUT_OF_MEMORY;
  *out_index = (uint32_t)module->buffer_count;
  module->buffers[module->buffer_count++] = copy;
  const etx_named_items named = buffers_of(module);
  return etx_name_index_add(&module->buffer_names, module->pool, &named,
                            *out_index);
}

etx_status etx_ir_set_buffers(etx_ir_module* module, etx_ir_buffer* buffers,
                              size_t count) {
  module->buffers = buffers;
  module->buffer_count = module->buffer_capacity = count;
  const etx_named_items named = buffers_of(module);
  return etx_name_index_rebuild(&module->buffer_names, module->pool, &named);
}

// ---------------------------------------------------------------- values

static etx_named_items values_of(const etx_ir_method* method) {
  return (etx_named_items){method->values, method->value_count,
                           sizeof *method->values};
}

bool etx_ir_find_value(const etx_ir_method* method, etx_text name,
                       uint32_t* out_index) {
  const etx_named_items named = values_of(method);
  return etx_name_index_find(&method->value_names, &named, name, out_index);
}

// `wanted` if it is free, else `wanted` with the first free suffix "_1",
// "_2", ...
static etx_text unique_name(etx_ir_module* module, const etx_ir_method* method,
                            etx_text wanted) {
  uint32_t unused = 0;
  if (!etx_ir_find_value(method, wanted, &unused)) {
    return etx_pool_copy_text(module->pool, wanted);
  }
  for (size_t suffix = 1;; ++suffix) {
    char digits[24];
    const size_t digit_count =
        etx_format_text(digits, sizeof digits, "_%z", suffix);
    char* const text =
        etx_pool_take(module->pool, wanted.size + digit_count + 1);
    const etx_text name = {text, text == NULL ? 0 : wanted.size + digit_count};
    if (text == NULL) return name;
    if (wanted.size != 0) memcpy(text, wanted.data, wanted.size);
    memcpy(text + wanted.size, digits, digit_count);
    if (!etx_ir_find_value(method, name, &unused)) return name;
  }
}

// The table of values of that origin; NULL if it has none.
static etx_ir_first_values* first_values(etx_ir_method* method,
                                         etx_ir_origin origin) {
  if (origin == ETX_IR_FROM_CONSTANT) return &method->constant_values;
  return origin == ETX_IR_FROM_BUFFER ? &method->buffer_values : NULL;
}

static etx_status note_first_value(etx_pool* pool, etx_ir_method* method,
                                   const etx_ir_value* value, uint32_t index) {
  etx_ir_first_values* const table = first_values(method, value->origin);
  if (table == NULL) return ETX_OK;
  if (value->index >= table->count) {
    const size_t count = 2 * ((size_t)value->index + 8);
    uint32_t* const items = etx_pool_take(pool, count * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    if (table->count != 0) {
      memcpy(items, table->items, table->count * sizeof *items);
    }
    *table = (etx_ir_first_values){items, count};
  }
  if (table->items[value->index] == 0) table->items[value->index] = index + 1;
  return ETX_OK;
}

static bool has_origin(const etx_ir_method* method, size_t value,
                       etx_ir_origin origin, uint32_t index) {
  return method->values[value].origin == origin &&
         method->values[value].index == index;
}

static bool find_origin(etx_ir_method* method, etx_ir_origin origin,
                        uint32_t index, uint32_t* out_value) {
  const etx_ir_first_values* const table = first_values(method, origin);
  if (index >= table->count || table->items[index] == 0) return false;
  *out_value = table->items[index] - 1;
  if (has_origin(method, *out_value, origin, index)) return true;
  // A pass made a node compute that value: there may be another.
  for (size_t i = 0; i < method->value_count; ++i) {
    if (!has_origin(method, i, origin, index)) continue;
    *out_value = (uint32_t)i;
    return true;
  }
  return false;
}

etx_status etx_ir_add_value(etx_ir_module* module, etx_ir_method* method,
                            const etx_ir_value* value, uint32_t* out_index) {
  if (method->value_count >= ETX_IR_NONE - 1) return ETX_OUT_OF_RANGE;
  etx_ir_value copy = *value;
  ETX_TRY(etx_pool_extend(module->pool, &method->values, method->value_count,
                          &method->value_capacity, sizeof *method->values));
  char number[24];
  if (copy.name.size == 0) {
    etx_format_text(number, sizeof number, "v%z", method->value_count);
    copy.name = etx_text_of(number);
  }
  copy.name = unique_name(module, method, copy.name);
  if (copy.name.data == NULL) return ETX_OUT_OF_MEMORY;
  const uint32_t index = (uint32_t)method->value_count;
  ETX_TRY(note_first_value(module->pool, method, &copy, index));
  method->values[method->value_count++] = copy;
  *out_index = index;
  const etx_named_items named = values_of(method);
  return etx_name_index_add(&method->value_names, module->pool, &named, index);
}

etx_status etx_ir_keep_values(etx_ir_module* module, etx_ir_method* method,
                              const bool* keep, uint32_t* out_map) {
  size_t count = 0;
  for (size_t i = 0; i < method->value_count; ++i) {
    out_map[i] = keep[i] ? (uint32_t)count : ETX_IR_NONE;
    if (keep[i]) method->values[count++] = method->values[i];
  }
  method->value_count = count;
  clear_table(method->constant_values.items, method->constant_values.count);
  clear_table(method->buffer_values.items, method->buffer_values.count);
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(note_first_value(module->pool, method, &method->values[i],
                             (uint32_t)i));
  }
  const etx_named_items named = values_of(method);
  return etx_name_index_rebuild(&method->value_names, module->pool, &named);
}

static etx_ir_value value_of_type(etx_text name, etx_dtype dtype, uint8_t rank,
                                  const int64_t* sizes) {
  etx_ir_value value = {0};
  value.name = name;
  value.has_shape = true;
  value.shape.dtype = dtype;
  value.shape.rank = rank;
  for (size_t i = 0; i < rank; ++i) value.shape.dims[i] = sizes[i];
  return value;
}

etx_status etx_ir_buffer_value(etx_ir_module* module, etx_ir_method* method,
                               uint32_t buffer, uint32_t* out_value) {
  if (find_origin(method, ETX_IR_FROM_BUFFER, buffer, out_value)) return ETX_OK;
  const etx_ir_buffer* const from = &module->buffers[buffer];
  etx_ir_value value =
      value_of_type(from->name, from->dtype, from->rank, from->sizes);
  value.origin = ETX_IR_FROM_BUFFER;
  value.index = buffer;
  return etx_ir_add_value(module, method, &value, out_value);
}

etx_status etx_ir_constant_value(etx_ir_module* module, etx_ir_method* method,
                                 uint32_t constant, uint32_t* out_value) {
  if (find_origin(method, ETX_IR_FROM_CONSTANT, constant, out_value)) {
    return ETX_OK;
  }
  const etx_ir_constant* const from = &module->constants[constant];
  const etx_text name = {NULL, 0};
  etx_ir_value value =
      value_of_type(name, from->dtype, from->rank, from->sizes);
  value.origin = ETX_IR_FROM_CONSTANT;
  value.index = constant;
  return etx_ir_add_value(module, method, &value, out_value);
}

// ---------------------------------------------------------------- nodes

static etx_status copy_array(etx_pool* pool, const void* items, size_t count,
                             size_t item_bytes, void** out_copy) {
  *out_copy = NULL;
  if (count == 0 || items == NULL) return ETX_OK;
  size_t bytes = 0;
  if (!etx_multiply_size(count, item_bytes, &bytes)) return ETX_OUT_OF_MEMORY;
  *out_copy = etx_pool_take(pool, bytes);
  if (*out_copy == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(*out_copy, items, bytes);
  return ETX_OK;
}

static etx_status copy_lists(etx_pool* pool, etx_ir_arg* args, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (args[i].kind != ETX_IR_ARG_LIST) continue;
    void* items = NULL;
    ETX_TRY(copy_array(pool, args[i].as.list.items, args[i].as.list.count,
                       sizeof(etx_ir_arg), &items));
    args[i].as.list.items = items;
  }
  return ETX_OK;
}

etx_status etx_ir_reserve(etx_ir_module* module, etx_ir_method* method,
                          size_t value_count, size_t node_count) {
  ETX_TRY(etx_pool_extend_to(module->pool, &method->values,
                             &method->value_capacity, value_count,
                             sizeof *method->values));
  return etx_pool_reserve(module->pool, &method->nodes, method->node_count,
                          &method->node_capacity, node_count,
                          sizeof *method->nodes);
}

void etx_ir_restart_nodes(etx_ir_method* method) {
  if (method->node_reserve < method->node_capacity) {
    method->node_reserve = method->node_capacity;
  }
  method->node_count = method->node_capacity = 0;
}

void etx_ir_set_nodes(etx_ir_method* method, etx_ir_node* nodes, size_t count) {
  method->nodes = nodes;
  method->node_count = method->node_capacity = count;
  method->node_reserve = 0;
}

// The list that is written anew moves to an array of its own, with the nodes
// that it has so far. That is the one that no list has used since the last
// time, if it is large enough.
static etx_status move_list(etx_pool* pool, etx_ir_method* method) {
  const size_t wanted = method->node_reserve;
  etx_ir_node* to = method->spare_nodes;
  size_t capacity = method->spare_capacity;
  if (capacity < wanted) {
    size_t bytes = 0;
    if (!etx_multiply_size(wanted, sizeof *to, &bytes)) {
      return ETX_OUT_OF_MEMORY;
    }
    to = etx_pool_take(pool, bytes);
    capacity = wanted;
    if (to == NULL) return ETX_OUT_OF_MEMORY;
  }
  if (method->node_count != 0) {
    memcpy(to, method->nodes, method->node_count * sizeof *to);
  }
  method->spare_nodes = method->nodes;
  method->spare_capacity = wanted;
  method->nodes = to;
  method->node_capacity = capacity;
  method->node_reserve = 0;
  return ETX_OK;
}

static etx_status make_node_room(etx_pool* pool, etx_ir_method* method) {
  if (method->node_count < method->node_capacity) return ETX_OK;
  if (method->node_reserve > method->node_count) {
    return move_list(pool, method);
  }
  method->node_reserve = 0;
  return etx_pool_grow(pool, &method->nodes, method->node_count,
                       &method->node_capacity, sizeof *method->nodes);
}

etx_status etx_ir_keep_node(etx_ir_module* module, etx_ir_method* method,
                            const etx_ir_node* node, uint32_t* out_index) {
  const size_t at = method->node_count;
  *out_index = (uint32_t)at;
  if (method->node_reserve > at && node == &method->nodes[at]) {
    method->node_count = method->node_capacity = at + 1;
    return ETX_OK;
  }
  ETX_TRY(make_node_room(module->pool, method));
  method->nodes[at] = *node;
  ++method->node_count;
  return ETX_OK;
}

etx_status etx_ir_add_node(etx_ir_module* module, etx_ir_method* method,
                           const etx_ir_node* node, uint32_t* out_index) {
  etx_pool* const pool = module->pool;
  ETX_TRY(make_node_room(pool, method));
  etx_ir_node copy = *node;
  void* array = NULL;
  ETX_TRY(copy_array(pool, node->args, node->arg_count, sizeof *node->args,
                     &array));
  copy.args = array;
  ETX_TRY(copy_lists(pool, copy.args, copy.arg_count));
  ETX_TRY(copy_array(pool, node->arg_names, node->arg_count,
                     sizeof *node->arg_names, &array));
  copy.arg_names = array;
  ETX_TRY(copy_array(pool, node->outputs, node->output_count,
                     sizeof *node->outputs, &array));
  copy.outputs = array;
  *out_index = (uint32_t)method->node_count;
  method->nodes[method->node_count++] = copy;
  return ETX_OK;
}

uint32_t etx_ir_mutation_of_buffer(const etx_ir_method* method,
                                   uint32_t buffer) {
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &method->mutations[i];
    if (!mutation->is_input && mutation->target == buffer) return (uint32_t)i;
  }
  return ETX_IR_NONE;
}

// ---------------------------------------------------------------- sizes

bool etx_ir_upper_sizes(const etx_ir_method* method, const etx_shape* shape,
                        int64_t out_sizes[ETX_MAX_RANK]) {
  for (size_t i = 0; i < shape->rank; ++i) {
    int64_t low = 0, high = 0;
    etx_symbols_bounds(&method->symbols, shape->dims[i], &low, &high);
    if (high < 0 || high == INT64_MAX) return false;
    out_sizes[i] = high;
  }
  return true;
}

bool etx_ir_upper_bytes(const etx_ir_method* method, const etx_shape* shape,
                        uint64_t* out_bytes) {
  int64_t sizes[ETX_MAX_RANK];
  if (!etx_ir_upper_sizes(method, shape, sizes)) return false;
  uint64_t bytes = etx_dtype_bytes(shape->dtype);
  for (size_t i = 0; i < shape->rank; ++i) {
    if (!etx_multiply_u64(bytes, (uint64_t)sizes[i], &bytes)) return false;
  }
  *out_bytes = bytes;
  return true;
}

bool etx_ir_is_static(const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (!etx_dim_is_number(shape->dims[i])) return false;
  }
  return true;
}

static bool items_equal(const etx_ir_arg* a, const etx_ir_arg* b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ETX_IR_ARG_NONE:
      return true;
    case ETX_IR_ARG_VALUE:
      return a->as.value == b->as.value;
    case ETX_IR_ARG_INT:
      return a->as.integer == b->as.integer;
    case ETX_IR_ARG_DOUBLE:
      return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case ETX_IR_ARG_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_IR_ARG_STRING:
      return etx_text_equal(a->as.string, b->as.string);
    case ETX_IR_ARG_DTYPE:
      return a->as.dtype == b->as.dtype;
    case ETX_IR_ARG_LIST:
      break;
  }
  return false;
}

bool etx_ir_args_equal(const etx_ir_arg* a, const etx_ir_arg* b) {
  if (a->kind != ETX_IR_ARG_LIST || b->kind != ETX_IR_ARG_LIST) {
    return items_equal(a, b);
  }
  if (a->as.list.count != b->as.list.count) return false;
  for (size_t i = 0; i < a->as.list.count; ++i) {
    if (!items_equal(&a->as.list.items[i], &b->as.list.items[i])) return false;
  }
  return true;
}

static void remap_arg(const etx_dim* map, etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_INT) {
    arg->as.integer = etx_symbols_remap(map, arg->as.integer);
  } else if (arg->kind == ETX_IR_ARG_LIST) {
    for (size_t i = 0; i < arg->as.list.count; ++i) {
      etx_ir_arg* const item = &arg->as.list.items[i];
      if (item->kind != ETX_IR_ARG_INT) continue;
      item->as.integer = etx_symbols_remap(map, item->as.integer);
    }
  }
}

static void remap_sizes(etx_ir_method* method, const etx_dim* map) {
  for (size_t i = 0; i < method->value_count; ++i) {
    etx_shape* const shape = &method->values[i].shape;
    for (size_t j = 0; j < shape->rank; ++j) {
      shape->dims[j] = etx_symbols_remap(map, shape->dims[j]);
    }
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    for (size_t j = 0; j < method->nodes[i].arg_count; ++j) {
      remap_arg(map, &method->nodes[i].args[j]);
    }
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    remap_arg(map, &method->inputs[i].arg);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    remap_arg(map, &method->outputs[i].arg);
  }
}

etx_status etx_ir_refresh_sizes(etx_ir_method* method) {
  etx_dim* map = NULL;
  ETX_TRY(etx_symbols_rebuild(&method->symbols, &map));
  remap_sizes(method, map);
  return ETX_OK;
}

etx_status etx_ir_replace_symbol(etx_ir_method* method,
                                 const etx_symbol_replacement* by) {
  etx_dim* map = NULL;
  ETX_TRY(etx_symbols_replace(&method->symbols, by, &map));
  remap_sizes(method, map);
  for (size_t i = 0; i < method->node_count; ++i) {
    if (method->nodes[i].late > by->index + 1) --method->nodes[i].late;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- problems

void etx_problem(etx_problems* problems, const etx_source_location* place,
                 const char* format, ...) {
  if (problems == NULL) return;
  ++problems->count;
  if (problems->report == NULL) return;
  char buffer[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  const size_t size = etx_format_text_list(buffer, sizeof buffer, format, list);
  va_end(list);
  const etx_text message = {buffer, size};
  problems->report(problems->context, place, message);
}
