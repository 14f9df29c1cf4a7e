// The extension module `etx._planner`: plans methods into a program within this
// process, and makes the memory page of a program.
//
// Results and errors are JSON text, from which the package makes exceptions.
// The GIL is released while planning.

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/calibrate/calibration.h"
#include "cli/plan/kernel_evaluator.h"
#include "cli/json/json_value.h"
#include "cli/base/mapped_file.h"
#include "cli/memory/memory_formats.h"
#include "cli/plan/plan_workers.h"
#include "cli/plan/plan_report.h"
#include "cli/plan/diagnostic_list.h"
#include "cli/verify/verify_program.h"
#include "exporter/export.h"
#include "exporter/host/durable_file.h"
#include "exporter/host/host_file.h"
#include "exporter/host/paged_memory.h"
#include "exporter/pass_list.h"

enum { MOST_RULES = 64 };

// A list of strings, borrowed from a tuple of bytes.
typedef struct planner_options {
  const char* items[MOST_RULES];
  size_t count;
} planner_options;

// The arguments of one call, borrowed until it ends.
typedef struct request {
  const char* input;   // directory or file
  const char* output;  // written and proved here; NULL: nowhere
  const char* passes;
  const char* layout;
  const char* algorithm;
  const char* kv;             // the type of caches, or NULL
  const char* calls;          // a directory to calibrate with, or NULL
  const char* weights;        // a GGUF file, or NULL
  const char* weights_names;  // a file of names for it, or NULL
  int target;
  int source_lines;
  int pack;
  unsigned long long pack_budget;
  int parallel_regions;
  planner_options quantize;
  planner_options concurrent;
  planner_options cap;
  planner_options specialize;
  planner_options operators;
  PyObject* progress;  // called with (stage, done, total), or None
} request;

typedef struct planner_call {
  const request* in;
  etx_pool pool;
  etx_diagnostic_list problems;
  etx_export_report report;
  etx_diag diag;
  PyThreadState* thread;  // that planning gave up the interpreter's lock from
  bool is_interrupted;    // `progress` raised: its exception is set there
} planner_call;

static etx_status swallow(void* context, etx_bytes bytes) {
  (void)context;
  (void)bytes;
  return ETX_OK;
}

static const etx_sink nowhere = {swallow, NULL};

static etx_status add_rules(planner_call* plan, etx_ir_module* module) {
  for (size_t i = 0; i < plan->in->concurrent.count; ++i) {
    ETX_TRY(etx_export_concurrent(module, plan->in->concurrent.items[i],
                                  &plan->diag));
  }
  for (size_t i = 0; i < plan->in->quantize.count; ++i) {
    ETX_TRY(
        etx_export_quantize(module, plan->in->quantize.items[i], &plan->diag));
  }
  if (plan->in->kv != NULL) {
    ETX_TRY(etx_export_kv(module, plan->in->kv, &plan->diag));
  }
  for (size_t i = 0; i < plan->in->specialize.count; ++i) {
    ETX_TRY(etx_export_specialize(module, plan->in->specialize.items[i],
                                  &plan->diag));
  }
  return ETX_OK;
}

static etx_status prove(planner_call* plan, const char* path) {
  etx_mapped_file file;
  ETX_TRY(etx_mapped_file_open(&file, path, &plan->diag));
  const etx_status status = etx_verify_program(file.bytes, NULL, &plan->diag);
  etx_mapped_file_close(&file);
  return status;
}

static void tell(void* context, const char* stage, size_t done, size_t total) {
  planner_call* const plan = context;
  if (plan->is_interrupted) return;
  PyEval_RestoreThread(plan->thread);
  PyObject* const answer = PyObject_CallFunction(
      plan->in->progress, "snn", stage, (Py_ssize_t)done, (Py_ssize_t)total);
  plan->is_interrupted = answer == NULL;
  Py_XDECREF(answer);
  plan->thread = PyEval_SaveThread();
}

// Reads the methods; also an etx_calibration_source.read.
static etx_status read_methods(void* context, etx_ir_module* module,
                               etx_diag* diag) {
  planner_call* const plan = context;
  for (size_t i = 0; i < plan->in->cap.count; ++i) {
    ETX_TRY(etx_export_cap(module, plan->in->cap.items[i], diag));
  }
  for (size_t i = 0; i < plan->in->operators.count; ++i) {
    ETX_TRY(etx_export_operators(module, plan->in->operators.items[i], diag));
  }
  if (plan->in->weights != NULL) {
    ETX_TRY(
        etx_export_weights(module, plan->in->weights, plan->in->weights_names));
  }
  return etx_export_read(module, plan->in->input, &plan->problems.problems,
                         diag);
}

static etx_status export_module(planner_call* plan, etx_ir_module* module,
                                const etx_export_options* options,
                                const etx_sink* sink) {
  return etx_export_plan(module, options, sink, &plan->report,
                         &plan->problems.problems, &plan->diag);
}

// Makes the recorded calls, and plans by them.
static etx_status export_calibrated(planner_call* plan, etx_ir_module* module,
                                    etx_export_options* options,
                                    const etx_sink* sink) {
  etx_durable_file temporary;
  const etx_calibration_source source = {
      .module = module,
      .calls = plan->in->calls,
      .temporary = &temporary,
      .passes = plan->in->passes,
      .read = read_methods,
      .progress = options->progress,
      .context = plan,
      .workers = options->workers,
  };
  etx_calibration* const calibration =
      etx_pool_take(&plan->pool, sizeof *calibration);
  if (calibration == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_durable_file_open(&temporary, plan->in->output, &plan->diag));
  etx_status status =
      etx_calibration_open(calibration, &source, &plan->pool, &plan->diag);
  etx_durable_file_discard(&temporary);
  options->layer_inputs = &calibration->inputs;
  if (status == ETX_OK) status = export_module(plan, module, options, sink);
  etx_calibration_close(calibration);
  return status;
}

static etx_status plan_module(planner_call* plan, etx_ir_module* module,
                              const etx_sink* sink) {
  etx_plan_workers workers;
  etx_plan_workers_open(&workers, module);
  etx_export_options options = {
      .target = plan->in->target == 0 ? ETX_TARGET_ETX : ETX_TARGET_EXECUTORCH,
      .evaluator = etx_kernel_evaluator(),
      .passes = plan->in->passes,
      .algorithm = plan->in->algorithm,
      .keep_layout = plan->in->layout,
      .source_lines = plan->in->source_lines != 0,
      .pack_weights = plan->in->pack != 0 || plan->in->pack_budget > 0,
      .pack_budget = plan->in->pack_budget,
      .parallel_regions = plan->in->parallel_regions != 0,
      .progress = plan->in->progress == Py_None ? NULL : tell,
      .progress_context = plan,
      .workers = etx_plan_workers_get(&workers),
  };
  const bool is_calibrated = plan->in->calls != NULL && sink != &nowhere;
  const etx_status status =
      is_calibrated ? export_calibrated(plan, module, &options, sink)
                    : export_module(plan, module, &options, sink);
  etx_plan_workers_close(&workers);
  return status;
}

static etx_status plan_to_file(planner_call* plan, etx_ir_module* module) {
  etx_durable_file file;
  ETX_TRY(etx_durable_file_open(&file, plan->in->output, &plan->diag));
  const etx_sink sink = etx_durable_file_sink(&file);
  etx_status status = plan_module(plan, module, &sink);
  if (status == ETX_OK) status = etx_durable_file_finish(&file);
  if (status == ETX_OK) status = prove(plan, file.temporary);
  // An exception of `progress` ends the call: the old program stays.
  if (status == ETX_OK && !plan->is_interrupted) {
    status = etx_durable_files_keep(&file, 1);
  }
  etx_durable_file_discard(&file);
  return status;
}

static etx_status plan_all(planner_call* plan) {
  etx_ir_module module;
  etx_ir_module_init(&module, &plan->pool);
  if (plan->in->output != NULL) {
    ETX_TRY(etx_pages_use(&plan->pool,
                          etx_path_directory(etx_text_of(plan->in->output))));
  }
  const etx_status read = read_methods(plan, &module, &plan->diag);
  if (read != ETX_OK) {
    // Methods beside a faulty one may have problems too: all are reported.
    if (module.method_count > 0) {
      const etx_status known = plan_module(plan, &module, &nowhere);
      (void)known;
    }
    return read;
  }
  ETX_TRY(add_rules(plan, &module));
  return plan->in->output == NULL ? plan_module(plan, &module, &nowhere)
                                  : plan_to_file(plan, &module);
}

// True if jansson got no memory in this thread since the call began: the answer
// lacks parts.
static _Thread_local bool lacks_memory;

static void remember_lack_of_memory(void) { lacks_memory = true; }

// {"status", "message", "line", "column", "offset", "problems", "report"}
static char* answer(planner_call* plan, etx_status status) {
  json_t* const root = json_object();
  json_object_set_new(root, "status", json_string(etx_status_name(status)));
  json_object_set_new(
      root, "message",
      json_string(plan->diag.text_size > 0 ? plan->diag.text
                                           : etx_status_text(status)));
  json_object_set_new(root, "line", json_integer(plan->diag.line));
  json_object_set_new(root, "column", json_integer(plan->diag.column));
  json_object_set_new(root, "offset", etx_json_unsigned(plan->diag.offset));
  json_object_set_new(root, "problems",
                      etx_diagnostic_list_take(&plan->problems));
  if (status == ETX_OK) {
    const char* const path = plan->in->output == NULL ? "" : plan->in->output;
    json_object_set_new(root, "report",
                        etx_plan_report_json(path, &plan->report));
  }
  char* text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  if (lacks_memory) {
    free(text);
    text = NULL;
  }
  return text;
}

static bool read_words(PyObject* tuple, planner_options* out) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0 || count > MOST_RULES) {
    PyErr_SetString(PyExc_ValueError, "too many rules");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    out->items[i] = PyBytes_AsString(PyTuple_GetItem(tuple, i));
    if (out->items[i] == NULL) return false;
  }
  out->count = (size_t)count;
  return true;
}

static PyObject* str_of(char* text) {
  if (text == NULL) return PyErr_NoMemory();
  PyObject* const made =
      PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  free(text);
  return made;
}

// Plans without the GIL and returns the JSON as str. NULL with an exception, of
// `progress` or for lack of memory.
static PyObject* run(const request* in) {
  planner_call plan = {.in = in};
  etx_diag_init(&plan.diag);
  etx_pool_init(&plan.pool);
  etx_diagnostic_list_init(&plan.problems, true);
  plan.thread = PyEval_SaveThread();
  lacks_memory = false;
  char* const text = answer(&plan, plan_all(&plan));
  etx_pool_close(&plan.pool);
  PyEval_RestoreThread(plan.thread);
  if (!plan.is_interrupted) return str_of(text);
  free(text);
  return NULL;
}

// An argument's bytes, or NULL for None: PyArg_ParseTuple's converter.
static int text_or_none(PyObject* object, void* out) {
  const char** const text = out;
  *text = object == Py_None ? NULL : PyBytes_AsString(object);
  return object == Py_None || *text != NULL;
}

// A FutureWarning for each pass that is called by a former name; false if the
// application turns warnings into exceptions.
static bool warn_of_former_names(const char* passes) {
  etx_text former, present;
  char text[256];
  while (etx_pass_next_former_name(&passes, &former, &present)) {
    snprintf(text, sizeof text, "pass %.*s is now called %.*s",
             (int)former.size, former.data, (int)present.size, present.data);
    if (PyErr_WarnEx(PyExc_FutureWarning, text, 2) < 0) return false;
  }
  return true;
}

// plan(input, output, target, quantize, concurrent, cap, specialize, operators,
//      passes, layout, algorithm, source_lines, pack, pack_budget,
//      parallel_regions, weights, weights_names, kv, calls, progress)
static PyObject* plan(PyObject* module, PyObject* args) {
  (void)module;
  request in = {.input = NULL};
  PyObject* quantize = NULL;
  PyObject* concurrent = NULL;
  PyObject* cap = NULL;
  PyObject* specialize = NULL;
  PyObject* operators = NULL;
  if (!PyArg_ParseTuple(
          args, "yO&iO!O!O!O!O!O&O&O&ppKpO&O&O&O&O", &in.input, text_or_none,
          &in.output, &in.target, &PyTuple_Type, &quantize, &PyTuple_Type,
          &concurrent, &PyTuple_Type, &cap, &PyTuple_Type, &specialize,
          &PyTuple_Type, &operators, text_or_none, &in.passes, text_or_none,
          &in.layout, text_or_none, &in.algorithm, &in.source_lines, &in.pack,
          &in.pack_budget, &in.parallel_regions, text_or_none, &in.weights,
          text_or_none, &in.weights_names, text_or_none, &in.kv, text_or_none,
          &in.calls, &in.progress) ||
      !read_words(quantize, &in.quantize) ||
      !read_words(concurrent, &in.concurrent) || !read_words(cap, &in.cap) ||
      !read_words(specialize, &in.specialize) ||
      !read_words(operators, &in.operators) ||
      !warn_of_former_names(in.passes)) {
    return NULL;
  }
  return run(&in);
}

static char* page_of(const char* path, const char* title, etx_diag* diag) {
  etx_mapped_file file;
  etx_memory_map map;
  char* text = NULL;
  size_t size = 0;
  if (etx_mapped_file_open(&file, path, diag) != ETX_OK) return NULL;
  FILE* const out = open_memstream(&text, &size);
  if (etx_memory_map_read(&map, file.bytes, diag) == ETX_OK && out != NULL) {
    etx_memory_html_print(&map, title, out);
  }
  if (out != NULL) fclose(out);
  etx_memory_map_close(&map);
  etx_mapped_file_close(&file);
  return text;
}

// memory_page(path, title): a self-contained HTML page; "" on failure.
static PyObject* memory_page(PyObject* module, PyObject* args) {
  (void)module;
  const char* path = NULL;
  const char* title = NULL;
  etx_diag diag;
  char* text = NULL;
  if (!PyArg_ParseTuple(args, "ys", &path, &title)) return NULL;
  etx_diag_init(&diag);
  Py_BEGIN_ALLOW_THREADS text = page_of(path, title, &diag);
  Py_END_ALLOW_THREADS if (diag.status == ETX_OK) return str_of(text);
  free(text);
  PyErr_SetString(PyExc_ValueError, diag.text);
  return NULL;
}

static PyMethodDef functions[] = {
    {"plan", plan, METH_VARARGS, "Compiles methods into a program."},
    {"memory_page", memory_page, METH_VARARGS, "A program's memory, as HTML."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "etx._planner",
    "The compiler of etx; the package etx is what users import.",
    -1,
    functions,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__planner(void);

PyMODINIT_FUNC PyInit__planner(void) {
  etx_json_watch_allocations(remember_lack_of_memory);
  return PyModule_Create(&definition);
}
