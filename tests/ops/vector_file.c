#include "tests/ops/vector_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ops/vector_forms.h"

static unsigned char* read_all(const char* path, size_t* out_size) {
  FILE* stream = fopen(path, "rb");
  if (stream == NULL) return NULL;
  fseek(stream, 0, SEEK_END);
  const long size = ftell(stream);
  rewind(stream);
  unsigned char* bytes = malloc((size_t)size + 1);
  const size_t got = fread(bytes, 1, (size_t)size, stream);
  fclose(stream);
  bytes[got] = 0;
  *out_size = got;
  return bytes;
}

static json_t* read_lines(const char* path) {
  size_t size;
  unsigned char* text = read_all(path, &size);
  if (text == NULL) return NULL;
  json_t* cases = json_array();
  const char* line = (const char*)text;
  while (*line != '\0') {
    const char* end = strchr(line, '\n');
    const size_t length = end == NULL ? strlen(line) : (size_t)(end - line);
    json_error_t error;
    json_t* test_case = json_loadb(line, length, JSON_DECODE_ANY, &error);
    if (test_case == NULL) {
      fprintf(stderr, "%s: %s\n", path, error.text);
    } else {
      json_array_append_new(cases, test_case);
    }
    line += length + (end == NULL ? 0 : 1);
  }
  free(text);
  return cases;
}

bool vector_file_open(vector_file* file, const char* base) {
  char path[4096];
  memset(file, 0, sizeof(*file));
  snprintf(path, sizeof(path), "%s.jsonl", base);
  file->cases = read_lines(path);
  snprintf(path, sizeof(path), "%s.safetensors", base);
  file->bytes = read_all(path, &file->size);
  if (file->cases == NULL || file->bytes == NULL || file->size < 8) {
    fprintf(stderr, "%s: cannot be read\n", base);
    vector_file_close(file);
    return false;
  }
  uint64_t header = 0;
  for (size_t i = 8; i-- > 0;) header = header << 8 | file->bytes[i];
  file->data_start = 8 + (size_t)header;
  if (file->data_start <= file->size) {
    file->header =
        json_loadb((const char*)file->bytes + 8, (size_t)header, 0, NULL);
  }
  if (file->header != NULL) {
    size_t i;
    json_t* test_case;
    json_array_foreach(file->cases, i, test_case)
        vector_forms_apply(file, test_case);
    return true;
  }
  fprintf(stderr, "%s: the header is damaged\n", path);
  vector_file_close(file);
  return false;
}

void vector_file_close(vector_file* file) {
  json_decref(file->cases);
  json_decref(file->header);
  free(file->bytes);
  memset(file, 0, sizeof(*file));
}
