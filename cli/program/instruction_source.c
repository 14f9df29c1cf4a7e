#include "cli/program/instruction_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/json_value.h"

void etx_instruction_source_open(etx_instruction_source* notes,
                                 const etx_pte* pte, const char* command,
                                 const char* path) {
  etx_diag diag;
  etx_diag_init(&diag);
  *notes = (etx_instruction_source){.has_any = false};
  const etx_status status = etx_source_map_open(&notes->source, pte, &diag);
  notes->has_any = status == ETX_OK;
  if (status == ETX_OK || status == ETX_NOT_FOUND) return;
  fprintf(stderr, "etx %s: %s: source lines are not shown: %s\n", command, path,
          diag.text);
}

// The number of source lines of an instruction, and the position of its method
// in the source map.
static size_t count_of(const etx_instruction_source* notes, etx_text method,
                       size_t instruction, size_t* out_method) {
  if (!notes->has_any ||
      !etx_source_map_method_find(&notes->source, method, out_method)) {
    return 0;
  }
  return etx_source_map_line_count(&notes->source, *out_method, instruction);
}

static size_t put_line(const etx_source_map_line* line, char* out,
                       size_t capacity) {
  size_t size = 0;
  if (line->file.size != 0) {
    size += etx_format_text(out, capacity, "%t", line->file);
  }
  if (line->line != 0) {
    size += etx_format_text(out + size, capacity - size, ":%u",
                            (uint64_t)line->line);
  }
  if (line->module.size != 0) {
    size += etx_format_text(out + size, capacity - size,
                            size == 0 ? "module %t" : " (%t)", line->module);
  }
  return size;
}

bool etx_instruction_source_text(const etx_instruction_source* notes,
                                 etx_text method, size_t instruction,
                                 char out[ETX_INSTRUCTION_SOURCE_TEXT_BYTES]) {
  size_t index = 0;
  const size_t count = count_of(notes, method, instruction, &index);
  size_t size = 0;
  out[0] = '\0';
  for (size_t i = 0; i < count; ++i) {
    const etx_source_map_line line =
        etx_source_map_line_at(&notes->source, index, instruction, i);
    if (i != 0) {
      size += etx_format_text(out + size,
                              ETX_INSTRUCTION_SOURCE_TEXT_BYTES - size, ", ");
    }
    size +=
        put_line(&line, out + size, ETX_INSTRUCTION_SOURCE_TEXT_BYTES - size);
  }
  return count != 0;
}

json_t* etx_instruction_source_json(const etx_instruction_source* notes,
                                    etx_text method, size_t instruction) {
  size_t index = 0;
  const size_t count = count_of(notes, method, instruction, &index);
  json_t* const list = json_array();
  for (size_t i = 0; i < count; ++i) {
    const etx_source_map_line line =
        etx_source_map_line_at(&notes->source, index, instruction, i);
    json_t* const row = json_object();
    json_object_set_new(row, "file", etx_json_text(line.file));
    json_object_set_new(row, "line", etx_json_unsigned(line.line));
    json_object_set_new(row, "module", etx_json_text(line.module));
    json_array_append_new(list, row);
  }
  return list;
}

// Reads the last "(method 'm', instruction 3" of a message.
static bool find_instruction(const char* text, etx_text* out_method,
                             size_t* out_instruction) {
  static const char start[] = "(method '";
  static const char middle[] = "', instruction ";
  const char* found = NULL;
  for (const char* at = strstr(text, start); at != NULL;
       at = strstr(at + 1, start)) {
    found = at + sizeof start - 1;
  }
  const char* const end = found == NULL ? NULL : strstr(found, middle);
  if (end == NULL) return false;
  *out_method = (etx_text){found, (size_t)(end - found)};
  *out_instruction = strtoul(end + sizeof middle - 1, NULL, 10);
  return true;
}

void etx_instruction_source_explain(const etx_pte* pte, const etx_diag* diag,
                                    const char* command, const char* path) {
  etx_text method;
  size_t instruction = 0;
  char text[ETX_INSTRUCTION_SOURCE_TEXT_BYTES];
  if (!find_instruction(diag->text, &method, &instruction)) return;
  etx_instruction_source notes;
  etx_instruction_source_open(&notes, pte, command, path);
  if (etx_instruction_source_text(&notes, method, instruction, text)) {
    fprintf(stderr, "etx %s: instruction %zu comes from %s\n", command,
            instruction, text);
  }
}
