#include "exporter/read_pt2/json/pt2_json.h"

etx_json etx_pt2_json_string(etx_text text) {
  return (etx_json){.kind = ETX_JSON_STRING, .string = text};
}

etx_status etx_pt2_json_object(etx_pool* pool, const char* const* keys,
                               const etx_json* values, size_t count,
                               etx_json* out) {
  etx_json* const items = etx_pool_take(pool, count * sizeof *items);
  etx_text* const texts = etx_pool_take(pool, count * sizeof *texts);
  if (items == NULL || texts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    items[i] = values[i];
    texts[i] = etx_text_of(keys[i]);
  }
  *out = (etx_json){
      .kind = ETX_JSON_OBJECT, .items = items, .keys = texts, .count = count};
  return etx_json_sort_keys(pool, out);
}

etx_status etx_pt2_json_member_of(etx_pool* pool, const char* key,
                                  etx_json value, etx_json* out) {
  const char* const keys[] = {key};
  return etx_pt2_json_object(pool, keys, &value, 1, out);
}

etx_status etx_pt2_json_named(etx_pool* pool, etx_text name, etx_json* out) {
  return etx_pt2_json_member_of(pool, "name", etx_pt2_json_string(name), out);
}

etx_status etx_pt2_json_tensor(etx_pool* pool, etx_text name, etx_json* out) {
  etx_json inner;
  ETX_TRY(etx_pt2_json_named(pool, name, &inner));
  return etx_pt2_json_member_of(pool, "as_tensor", inner, out);
}

etx_status etx_pt2_json_list(etx_pool* pool, const etx_json* item,
                             etx_json* out) {
  *out = (etx_json){.kind = ETX_JSON_ARRAY, .items = item, .count = 1};
  return etx_pt2_copy_items(pool, out);
}

etx_status etx_pt2_copy_items(etx_pool* pool, etx_json* json) {
  etx_json* const items = etx_pool_take(pool, json->count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  if (json->count > 0) memcpy(items, json->items, json->count * sizeof *items);
  json->items = items;
  return ETX_OK;
}

void etx_pt2_put_member(etx_json* object, const char* key, etx_json value) {
  etx_json* const items = (etx_json*)object->items;
  const etx_json* const member = etx_json_member(object, key);
  if (member != NULL) items[member - object->items] = value;
}

etx_status etx_pt2_add_json(etx_pool* pool, etx_pt2_json_items* list,
                            etx_text key, const etx_json* item) {
  ETX_TRY(etx_pool_grow(pool, &list->items, list->count, &list->item_capacity,
                        sizeof *list->items));
  ETX_TRY(etx_pool_grow(pool, &list->keys, list->count, &list->key_capacity,
                        sizeof *list->keys));
  list->items[list->count] = *item;
  list->keys[list->count++] = key;
  return ETX_OK;
}

etx_json etx_pt2_json_array(const etx_pt2_json_items* list) {
  return (etx_json){
      .kind = ETX_JSON_ARRAY, .items = list->items, .count = list->count};
}

etx_status etx_pt2_json_table(etx_pool* pool, const etx_pt2_json_items* list,
                              const etx_json** out) {
  etx_json* const table = etx_pool_take(pool, sizeof *table);
  if (table == NULL) return ETX_OUT_OF_MEMORY;
  *table = (etx_json){.kind = ETX_JSON_OBJECT,
                      .items = list->items,
                      .keys = list->keys,
                      .count = list->count};
  *out = table;
  return etx_json_sort_keys(pool, table);
}
