#include "cli/run/smoke_run.h"

#include "cli/tensors/host_tensor.h"
#include "cli/program/port.h"
#include "format/tensor/layout.h"

// ---- inputs ----

// The smallest or largest size of dimension `dim` of an input (-1: of an
// integer input); `otherwise` if it is fixed.
static int64_t bound(const etx_zero_inputs* z, const etx_port* port,
                     int32_t dim, int64_t otherwise) {
  etx_blob_input_dim row;
  etx_blob_symbol symbol;
  if (!etx_port_dim(z->program, z->name, port, dim, &row, &symbol)) {
    return otherwise;
  }
  const int64_t value = z->largest ? symbol.maximum : symbol.minimum;
  return row.factor * value + row.offset;
}

static etx_status set_zeros(const etx_zero_inputs* z, const etx_port* port,
                            etx_diag* diag) {
  const etx_pte_tensor* const stated = &port->info.value.as.tensor;
  etx_host_tensor zeros = {.dtype = stated->dtype, .rank = stated->rank};
  for (size_t i = 0; i < stated->rank; ++i) {
    zeros.sizes[i] = (int32_t)bound(z, port, (int32_t)i, stated->sizes[i]);
  }
  ETX_TRY(etx_host_tensor_allocate(&zeros, z->pool, diag));
  // All elements are equal, so any dimension order will do.
  int32_t strides[ETX_MAX_RANK];
  if (!etx_layout_strides(zeros.sizes, stated->dim_order, zeros.rank,
                          strides)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the strides of an input do not fit in 32 bits");
  }
  etx_tensor view = etx_host_tensor_view(&zeros);
  view.strides = strides;
  return etx_method_set_input(z->method, port->index, &view, diag);
}

static etx_status set_scalar(const etx_zero_inputs* z, const etx_port* port,
                             etx_diag* diag) {
  etx_value value = etx_port_fixed_value(port);
  if (value.kind == ETX_VALUE_INT) {
    value.as.integer = bound(z, port, -1, value.as.integer);
  }
  return etx_method_set_value(z->method, port->index, &value, diag);
}

etx_status etx_zero_inputs_set(const etx_zero_inputs* inputs, etx_diag* diag) {
  for (size_t i = 0; i < inputs->method->input_count; ++i) {
    etx_port port;
    ETX_TRY(etx_port_input(inputs->program, inputs->name, i, &port, diag));
    ETX_TRY(port.info.kind == ETX_PTE_TENSOR ? set_zeros(inputs, &port, diag)
                                             : set_scalar(inputs, &port, diag));
  }
  return ETX_OK;
}

// ---- calls ----

typedef struct smoke_runner {
  etx_run_session* session;
  const etx_smoke_sink* sink;
  etx_text name;
  etx_method* method;
  etx_pool pool;
  etx_diag diag;
} smoke_runner;

static bool depends_on_data(etx_status status) {
  return status == ETX_BAD_ARGUMENT || status == ETX_OUT_OF_RANGE;
}

static etx_status call_once(smoke_runner* run, bool largest) {
  const etx_text all = {NULL, 0};
  etx_smoke_outcome outcome = ETX_SMOKE_PASSED;
  const etx_zero_inputs zeros = {&run->session->module.program, run->method,
                                 run->name, largest, &run->pool};
  etx_diag_init(&run->diag);
  etx_status status =
      etx_shared_memory_reset(&run->session->shared.memory, all, &run->diag);
  if (status == ETX_OK) status = etx_zero_inputs_set(&zeros, &run->diag);
  if (status == ETX_OK) {
    status = etx_run_session_run(run->session, run->method, &run->diag);
    if (depends_on_data(status)) {
      outcome = ETX_SMOKE_REFUSED_DATA;
      status = ETX_OK;
    }
  }
  if (status != ETX_OK) outcome = ETX_SMOKE_FAILED;
  run->sink->called(run->sink->context, run->name,
                    largest ? "largest sizes" : "smallest sizes", outcome,
                    run->diag.text);
  return status;
}

static etx_status smoke_method(smoke_runner* run) {
  const etx_text name = etx_pool_copy_text(&run->pool, run->name);
  const etx_status loaded =
      name.data == NULL ? etx_diag_fail(&run->diag, ETX_OUT_OF_MEMORY,
                                        "not enough memory for a name")
                        : etx_run_session_method(run->session, name.data,
                                                 &run->method, &run->diag);
  if (loaded != ETX_OK) {
    run->sink->called(run->sink->context, run->name, "load", ETX_SMOKE_FAILED,
                      run->diag.text);
    return loaded;
  }
  const etx_status smallest = call_once(run, false);
  const etx_status largest = call_once(run, true);
  return smallest != ETX_OK ? smallest : largest;
}

etx_status etx_smoke_run(etx_run_session* session, const etx_smoke_sink* sink) {
  const etx_program* const program = &session->module.program;
  const size_t count = etx_program_method_count(program);
  etx_status first = ETX_OK;
  for (size_t i = 0; i < count; ++i) {
    etx_method_info info;
    ETX_TRY(etx_program_method_at(program, i, &info));
    if (info.is_constant) continue;
    smoke_runner run = {.session = session, .sink = sink, .name = info.name};
    etx_pool_init(&run.pool);
    etx_diag_init(&run.diag);
    const etx_status status = smoke_method(&run);
    etx_pool_close(&run.pool);
    if (first == ETX_OK) first = status;
  }
  return first;
}
