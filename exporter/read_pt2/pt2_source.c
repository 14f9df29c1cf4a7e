// The source line and the module of a node, from its metadata. They are only
// informative: metadata in an unexpected form is ignored.

#include "exporter/read_pt2/pt2_internal.h"

static bool starts_with(etx_text text, const char* prefix) {
  return etx_text_starts_with(text, etx_text_of(prefix));
}

// True for frames of generated code and of PyTorch itself.
static bool is_foreign(etx_text file) {
  const etx_text torch = etx_text_of("/torch/");
  if (starts_with(file, "<") || starts_with(file, "torch/")) return true;
  for (size_t i = 0; i < file.size && file.data[i] != '"'; ++i) {
    const etx_text rest = {file.data + i, file.size - i};
    if (etx_text_starts_with(rest, torch)) return true;
  }
  return false;
}

// The start of the file name in the last frame of the model's own code; if
// there is no such frame, in the last frame.
static size_t last_frame(etx_text text) {
  const etx_text mark = etx_text_of("File \"");
  size_t any = text.size, own = text.size;
  for (size_t i = 0; i + mark.size < text.size; ++i) {
    const etx_text rest = {text.data + i, text.size - i};
    if (!etx_text_starts_with(rest, mark)) continue;
    any = i + mark.size;
    const etx_text file = {text.data + any, text.size - any};
    if (!is_foreign(file)) own = any;
  }
  return own < text.size ? own : any;
}

static void skip_until(etx_text text, size_t* at, const char* stop) {
  while (*at < text.size && strchr(stop, text.data[*at]) == NULL) ++*at;
}

static etx_text metadata_of(const etx_json* node, const char* key) {
  const etx_json* const text =
      etx_json_member(etx_json_member(node, "metadata"), key);
  const etx_text none = {NULL, 0};
  return text == NULL || text->kind != ETX_JSON_STRING ? none : text->string;
}

static uint32_t number_of(etx_text digits) {
  uint32_t number = 0;
  for (size_t i = 0; i < digits.size; ++i) {
    if (number > (INT32_MAX - 9) / 10) return 0;
    number = 10 * number + (uint32_t)(digits.data[i] - '0');
  }
  return number;
}

// "model.py:12 return x @ w", from a stack trace such as
//   File "model.py", line 12, in forward
//     return x @ w
static void read_trace(etx_pt2_graph* graph, etx_text text) {
  etx_source_location* const where = &graph->place;
  size_t at = last_frame(text), start = at;
  if (at == text.size) return;
  skip_until(text, &at, "\"\n");
  where->source_file = (etx_text){text.data + start, at - start};
  skip_until(text, &at, "0123456789\n");
  start = at;
  while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') ++at;
  const etx_text line = {text.data + start, at - start};
  where->source_line = number_of(line);
  skip_until(text, &at, "\n");
  while (at < text.size && (text.data[at] == '\n' || text.data[at] == ' ')) {
    ++at;
  }
  start = at;
  skip_until(text, &at, "\n");
  const etx_text code = {text.data + start, at - start};
  where->trace = etx_pool_format(
      graph->pool,
      code.size == 0 || starts_with(code, "File \"") ? "%t:%t" : "%t:%t %t",
      where->source_file, line, code);
}

// "encoder.fc", from "L__self__,,Model;L__self___encoder_fc,encoder.fc,Linear":
// the second field of the last entry.
static etx_text innermost_module(etx_text stack) {
  const etx_text none = {NULL, 0};
  size_t start = 0;
  for (size_t i = 0; i < stack.size; ++i) {
    if (stack.data[i] == ';') start = i + 1;
  }
  skip_until(stack, &start, ",");
  if (start == stack.size) return none;
  size_t end = ++start;
  skip_until(stack, &end, ",");
  return (etx_text){stack.data + start, end - start};
}

void etx_pt2_read_source(etx_pt2_graph* graph, const etx_json* node) {
  etx_pt2_forget_source(graph);
  read_trace(graph, metadata_of(node, "stack_trace"));
  graph->place.module = innermost_module(metadata_of(node, "nn_module_stack"));
}

void etx_pt2_forget_source(etx_pt2_graph* graph) {
  const etx_text none = {NULL, 0};
  graph->place.trace = graph->place.source_file = graph->place.module = none;
  graph->place.source_line = 0;
}
