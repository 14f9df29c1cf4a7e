#include "cli/plan/diagnostic_list.h"

#include <stdio.h>

#include "cli/json/json_value.h"

// True if the message begins with the node's name: readers of archives put it
// there.
static bool begins_with_node(etx_text message, etx_text node) {
  const etx_text prefix = {"node '", 6};
  if (!etx_text_starts_with(message, prefix)) return false;
  const etx_text rest = {message.data + prefix.size,
                         message.size - prefix.size};
  return etx_text_starts_with(rest, node);
}

static void print_place(const etx_source_location* place, etx_text message) {
  if (place->file.size != 0) {
    fprintf(stderr, "%.*s:", (int)place->file.size, place->file.data);
  }
  if (place->line != 0) fprintf(stderr, "%u:", (unsigned)place->line);
  if (place->line != 0 && place->column != 0) {
    fprintf(stderr, "%u:", (unsigned)place->column);
  }
  if (place->file.size != 0 || place->line != 0) fputc(' ', stderr);
  if (place->node.size != 0 && !begins_with_node(message, place->node)) {
    fprintf(stderr, "node '%.*s': ", (int)place->node.size, place->node.data);
  }
}

static void print_problem(const etx_source_location* place, etx_text message) {
  print_place(place, message);
  fprintf(stderr, "%.*s\n", (int)message.size, message.data);
  if (place->trace.size != 0) {
    fprintf(stderr, "  from the source line: %.*s\n", (int)place->trace.size,
            place->trace.data);
  }
}

static void set_text(json_t* object, const char* key, etx_text text) {
  if (text.size != 0) json_object_set_new(object, key, etx_json_text(text));
}

static json_t* json_of(const etx_source_location* place, etx_text message) {
  json_t* const object = json_object();
  set_text(object, "file", place->file);
  if (place->line != 0) {
    json_object_set_new(object, "line", json_integer(place->line));
    json_object_set_new(object, "column", json_integer(place->column));
  }
  set_text(object, "node", place->node);
  set_text(object, "source", place->trace);
  set_text(object, "message", message);
  return object;
}

static void report(void* context, const etx_source_location* place,
                   etx_text message) {
  static const etx_source_location nowhere = {.line = 0};
  const etx_diagnostic_list* const list = context;
  if (place == NULL) place = &nowhere;
  print_problem(place, message);
  if (list->list != NULL) {
    json_array_append_new(list->list, json_of(place, message));
  }
}

void etx_diagnostic_list_init(etx_diagnostic_list* list, bool as_json) {
  list->problems.report = report;
  list->problems.context = list;
  list->problems.count = 0;
  list->list = as_json ? json_array() : NULL;
}

void etx_diagnostic_list_add(etx_diagnostic_list* list, const char* path,
                             etx_status status, const etx_diag* diag) {
  const etx_source_location place = {
      .file = etx_text_of(path), .line = diag->line, .column = diag->column};
  const char* const text =
      diag->text_size != 0 ? diag->text : etx_status_text(status);
  if (list->list == NULL) return;
  json_array_append_new(list->list, json_of(&place, etx_text_of(text)));
}

json_t* etx_diagnostic_list_take(etx_diagnostic_list* list) {
  json_t* const taken = list->list;
  list->list = NULL;
  return taken;
}
