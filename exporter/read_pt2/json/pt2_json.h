// JSON that is not in the archive: the reader replaces some nodes by others
// before it reads them.

#ifndef ETX_EXPORTER_READ_PT2_JSON_PT2_JSON_H
#define ETX_EXPORTER_READ_PT2_JSON_PT2_JSON_H

#include "exporter/host/read_json.h"

// A list that grows: items of an array, or of an object with their keys.
typedef struct etx_pt2_json_items {
  etx_json* items;
  etx_text* keys;
  size_t count, item_capacity, key_capacity;
} etx_pt2_json_items;

ETX_MUST_USE etx_status etx_pt2_add_json(etx_pool* pool,
                                         etx_pt2_json_items* list, etx_text key,
                                         const etx_json* item);
// The list as an array, and as an object.
etx_json etx_pt2_json_array(const etx_pt2_json_items* list);
ETX_MUST_USE etx_status etx_pt2_json_table(etx_pool* pool,
                                           const etx_pt2_json_items* list,
                                           const etx_json** out);
etx_json etx_pt2_json_string(etx_text text);
// An object with these keys and values.
ETX_MUST_USE etx_status etx_pt2_json_object(etx_pool* pool,
                                            const char* const* keys,
                                            const etx_json* values,
                                            size_t count, etx_json* out);
// An object with one key.
ETX_MUST_USE etx_status etx_pt2_json_member_of(etx_pool* pool, const char* key,
                                               etx_json value, etx_json* out);
// {"name": name}.
ETX_MUST_USE etx_status etx_pt2_json_named(etx_pool* pool, etx_text name,
                                           etx_json* out);
// {"as_tensor": {"name": name}}.
ETX_MUST_USE etx_status etx_pt2_json_tensor(etx_pool* pool, etx_text name,
                                            etx_json* out);
// An array with one item.
ETX_MUST_USE etx_status etx_pt2_json_list(etx_pool* pool, const etx_json* item,
                                          etx_json* out);
// Copies the items of `json`, so that they can be changed.
ETX_MUST_USE etx_status etx_pt2_copy_items(etx_pool* pool, etx_json* json);
// Replaces the member `key`, if there is one, of an object whose items were
// copied by etx_pt2_copy_items.
void etx_pt2_put_member(etx_json* object, const char* key, etx_json value);

#endif
