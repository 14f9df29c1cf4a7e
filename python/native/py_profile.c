// Measures the time of each instruction of a method, as an observer of its
// runs.

#include <stdlib.h>
#include <time.h>

#include "python/native/native_internal.h"

static uint64_t now_ns(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Runs do not hold the GIL, so memory comes from malloc and not from Python.
static etx_py_profile_row* row_of(etx_py_profile* profile, size_t instruction) {
  if (instruction >= profile->row_count) {
    const size_t count = instruction + 64;
    etx_py_profile_row* const rows =
        realloc(profile->rows, count * sizeof *rows);
    if (rows == NULL) return NULL;
    memset(rows + profile->row_count, 0,
           (count - profile->row_count) * sizeof *rows);
    profile->rows = rows;
    profile->row_count = count;
  }
  return &profile->rows[instruction];
}

static void before(void* context, size_t instruction, const etx_call* call) {
  etx_py_profile* const profile = context;
  (void)instruction;
  (void)call;
  profile->started_ns = now_ns();
}

static void after(void* context, size_t instruction, const etx_call* call) {
  etx_py_profile* const profile = context;
  const uint64_t ended_ns = now_ns();
  etx_py_profile_row* const row = row_of(profile, instruction);
  if (row == NULL) return;
  row->op = call->op;
  ++row->calls;
  if (ended_ns > profile->started_ns) {
    row->ns += ended_ns - profile->started_ns;
  }
}

void etx_py_profile_start(etx_py_profile* profile, etx_method* method) {
  etx_py_profile_stop(profile, method);
  profile->observer = (etx_run_observer){before, after, profile};
  etx_method_observe(method, &profile->observer);
}

void etx_py_profile_stop(etx_py_profile* profile, etx_method* method) {
  if (method != NULL && profile->observer.context != NULL) {
    etx_method_observe(method, NULL);
  }
  profile->observer = (etx_run_observer){NULL, NULL, NULL};
  free(profile->rows);
  profile->rows = NULL;
  profile->row_count = 0;
}

static PyObject* row_object(const etx_py_profile_row* row, size_t i) {
  return Py_BuildValue("nssKK", (Py_ssize_t)i, row->op->name, row->op->overload,
                       (unsigned long long)row->calls,
                       (unsigned long long)row->ns);
}

PyObject* etx_py_profile_rows(const etx_py_profile* profile) {
  PyObject* const list = PyList_New(0);
  for (size_t i = 0; list != NULL && i < profile->row_count; ++i) {
    if (profile->rows[i].calls == 0) continue;
    PyObject* const row = row_object(&profile->rows[i], i);
    const int failed = row == NULL ? -1 : PyList_Append(list, row);
    Py_XDECREF(row);
    if (failed == 0) continue;
    Py_DECREF(list);
    return NULL;
  }
  return list;
}
