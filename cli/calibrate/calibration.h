// The recorded calls of `etx plan --calibrate`: the model is planned with its
// weights as they are into a temporary file, the calls are made, and the inputs
// of its linear layers decide how their weights are rounded.

#ifndef ETX_CLI_CALIBRATE_CALIBRATION_H
#define ETX_CLI_CALIBRATE_CALIBRATION_H

#include "cli/calibrate/layer_recorder.h"
#include "cli/run/case_file.h"
#include "cli/run/run_session.h"
#include "exporter/export.h"
#include "exporter/host/durable_file.h"

typedef struct etx_calibration_source {
  const etx_ir_module* module;  // that is planned, with its rules
  const char* calls;  // a directory with cases.json, as etx run --case reads it
  // For the program with float weights. Opened by the caller, who discards it
  // after etx_calibration_open.
  etx_durable_file* temporary;
  const char* passes;  // switched off, as etx plan takes them, or NULL
  // Reads the methods, as for the plan itself, without rules.
  etx_status (*read)(void* context, etx_ir_module* module, etx_diag* diag);
  // Called before calls are made, `done` of `total` layers were used; or NULL.
  void (*progress)(void* context, const char* stage, size_t done, size_t total);
  void* context;  // handed to both
  const etx_workers* workers;
} etx_calibration_source;

typedef struct etx_calibration {
  etx_layer_inputs inputs;  // for etx_export_options
  const etx_calibration_source* source;
  etx_case_file cases;
  etx_run_session session;
  etx_layer_recorder recorder;
  size_t used;  // layers whose products were handed out
  bool is_open;
} etx_calibration;

// Plans, and makes the calls once. Memory is in `pool`. It must not be moved,
// and is closed whatever the status. ETX_BAD_ARGUMENT: the module has no rule,
// or the calls run no linear layer. A call that fails ends it with the method's
// message.
ETX_MUST_USE etx_status etx_calibration_open(
    etx_calibration* calibration, const etx_calibration_source* source,
    etx_pool* pool, etx_diag* diag);
void etx_calibration_close(etx_calibration* calibration);

#endif
