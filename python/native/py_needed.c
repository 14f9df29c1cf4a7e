// What a method needs at given sizes. It is loaded for the question alone.

#include "python/native/native_internal.h"

#include <stdlib.h>

#include "runtime/size_values.h"

enum {
  STRUCTURES,
  SCRATCH,
  TEMPORARY,
  STATE,
  GIVEN_COUNT,
  SIZE_VALUES = GIVEN_COUNT,
  BLOCK_COUNT,
  ALIGNMENT = ETX_MEMORY_ALIGNMENT
};

// A method that is loaded for a question, and its memory.
typedef struct asked_method {
  etx_method method;
  uint32_t torn;
  etx_planned_memory state;
  const etx_named_size* sizes;  // at which it is asked
  size_t size_count;            // of sizes
  void* taken[BLOCK_COUNT];
  etx_bytes_mut blocks[BLOCK_COUNT];
} asked_method;

static void end(asked_method* asked) {
  for (size_t i = 0; i < BLOCK_COUNT; ++i) free(asked->taken[i]);
}

// Zeroed pages, which take no memory until they are written.
static etx_status take(asked_method* asked, size_t index, size_t bytes,
                       etx_diag* diag) {
  const bool fits = bytes <= SIZE_MAX - ALIGNMENT;
  void* const taken = fits ? calloc(bytes + ALIGNMENT, 1) : NULL;
  if (taken == NULL) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "not enough memory to load the method");
  }
  const uintptr_t rest = (uintptr_t)taken % ALIGNMENT;
  asked->taken[index] = taken;
  asked->blocks[index] =
      (etx_bytes_mut){(uint8_t*)taken + (ALIGNMENT - rest) % ALIGNMENT, bytes};
  return ETX_OK;
}

static etx_status take_all(asked_method* asked, const etx_memory_needed* needed,
                           etx_diag* diag) {
  const size_t sizes[GIVEN_COUNT] = {
      needed->structure_bytes, needed->scratch_bytes, needed->temporary_bytes,
      needed->state_bytes};
  for (size_t i = 0; i < GIVEN_COUNT; ++i) {
    ETX_TRY(take(asked, i, sizes[i], diag));
  }
  return ETX_OK;
}

// As the module that runs the method does.
static etx_status keep_size_values(asked_method* asked, etx_diag* diag) {
  const size_t bytes = etx_method_size_values_needed(&asked->method);
  if (bytes == 0) return ETX_OK;
  ETX_TRY(take(asked, SIZE_VALUES, bytes, diag));
  return etx_method_keep_size_values(&asked->method, asked->blocks[SIZE_VALUES],
                                     diag);
}

static etx_status ask(asked_method* asked, const etx_program* program,
                      const char* name, etx_memory_needed* out,
                      etx_diag* diag) {
  const etx_text method = etx_text_of(name);
  ETX_TRY(etx_method_needed(program, method, out, diag));
  ETX_TRY(take_all(asked, out, diag));
  asked->state = (etx_planned_memory){asked->blocks[STATE].data,
                                      asked->blocks[STATE].size, &asked->torn};
  const etx_method_memory memory = {asked->blocks[STRUCTURES],
                                    asked->blocks[SCRATCH],
                                    asked->blocks[TEMPORARY], &asked->state};
  ETX_TRY(
      etx_method_init(&asked->method, program, method, &memory, NULL, diag));
  ETX_TRY(keep_size_values(asked, diag));
  return etx_method_needed_at(&asked->method, asked->sizes, asked->size_count,
                              out, diag);
}

// Reads a tuple of (symbol, size). False with an exception.
static bool read_sizes(PyObject* rows, etx_named_size* sizes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const char* name = NULL;
    Py_ssize_t bytes = 0;
    long long size = 0;
    PyObject* const row = PyTuple_GetItem(rows, (Py_ssize_t)i);
    if (row == NULL || !PyArg_ParseTuple(row, "s#L", &name, &bytes, &size)) {
      return false;
    }
    sizes[i] = (etx_named_size){{name, (size_t)bytes}, size};
  }
  return true;
}

PyObject* etx_py_needed(const etx_program* program, const char* name,
                        PyObject* rows) {
  PyObject* result = NULL;
  const size_t count = (size_t)PyTuple_Size(rows);
  asked_method* const asked = (asked_method*)PyMem_Calloc(1, sizeof *asked);
  etx_named_size* const sizes =
      (etx_named_size*)PyMem_Calloc(count + 1, sizeof *sizes);
  if (asked == NULL || sizes == NULL) {
    PyErr_NoMemory();
  } else if (read_sizes(rows, sizes, count)) {
    etx_diag diag;
    etx_memory_needed needed;
    etx_diag_init(&diag);
    asked->sizes = sizes;
    asked->size_count = count;
    const etx_status status = ask(asked, program, name, &needed, &diag);
    end(asked);
    result = status != ETX_OK
                 ? etx_py_fail(status, &diag, NULL)
                 : Py_BuildValue("(KKKK)",
                                 (unsigned long long)needed.structure_bytes,
                                 (unsigned long long)needed.scratch_bytes,
                                 (unsigned long long)needed.state_bytes,
                                 (unsigned long long)needed.temporary_bytes);
  }
  PyMem_Free(asked);
  PyMem_Free(sizes);
  return result;
}
