// Needed on 32-bit machines to read directories of large file systems.
#define _FILE_OFFSET_BITS 64

#include "tests/ops/vector_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 512, DEPTH_MOST = 8 };

typedef struct tree {
  vector_visit visit;
  void* context;
  size_t unread;
  size_t depth;
} tree;

static void visit_file(tree* t, const char* base) {
  vector_file file;
  if (!vector_file_open(&file, base)) {
    ++t->unread;
    return;
  }
  size_t i;
  json_t* test_case;
  json_array_foreach(file.cases, i, test_case)
      t->visit(t->context, &file, test_case);
  vector_file_close(&file);
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

// The paths of the directory's entries, sorted. The caller frees them.
static size_t list_directory(DIR* directory, const char* path, char** names) {
  size_t count = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.' || count == NAMES_MOST) continue;
    const size_t size = strlen(path) + strlen(entry->d_name) + 2;
    names[count] = malloc(size);
    snprintf(names[count++], size, "%s/%s", path, entry->d_name);
  }
  qsort(names, count, sizeof(names[0]), by_name);
  return count;
}

static void visit_directory(tree* t, DIR* directory, const char* path);

static void visit_entry(tree* t, char* name) {
  char* point = strrchr(name, '.');
  if (point != NULL && point > strrchr(name, '/')) {
    if (strcmp(point, ".jsonl") != 0) return;
    *point = '\0';
    visit_file(t, name);
    return;
  }
  DIR* inner = t->depth < DEPTH_MOST ? opendir(name) : NULL;
  if (inner == NULL) return;
  ++t->depth;
  visit_directory(t, inner, name);
  --t->depth;
}

static void visit_directory(tree* t, DIR* directory, const char* path) {
  char* names[NAMES_MOST];
  const size_t count = list_directory(directory, path, names);
  closedir(directory);
  for (size_t i = 0; i < count; ++i) {
    visit_entry(t, names[i]);
    free(names[i]);
  }
}

size_t vector_tree_walk(const char* directory, vector_visit visit,
                        void* context) {
  tree t = {visit, context, 0, 0};
  DIR* opened = opendir(directory);
  if (opened == NULL) {
    fprintf(stderr, "%s: cannot be read\n", directory);
    return 1;
  }
  visit_directory(&t, opened, directory);
  return t.unread;
}
