// Observes methods and adds up the products of the inputs of their linear
// layers (exporter/quantize/rounding/input_products.h), for each weight.
//
// The sums of all layers may take more memory than there is: only layers that
// were begun are recorded, and the calls are made again for others.

#ifndef ETX_CLI_CALIBRATE_LAYER_RECORDER_H
#define ETX_CLI_CALIBRATE_LAYER_RECORDER_H

#include "exporter/host/host_memory.h"
#include "exporter/quantize/rounding/input_products.h"
#include "runtime/method.h"

typedef struct etx_recorded_layer {
  etx_bytes weight;             // in the program file
  size_t inner;                 // elements of a row
  etx_input_products products;  // if `is_recorded`
  bool is_recorded;
  bool was_used;  // nothing more is wanted of it
} etx_recorded_layer;

typedef struct etx_layer_recorder {
  etx_run_observer observer;  // for the methods
  etx_bytes program;          // its weights are constants
  const etx_workers* workers;
  etx_recorded_layer* layers;  // in the order in which they first ran
  size_t count, capacity;
  etx_pool* pool;     // of the layers
  etx_pool sums;      // of what is recorded
  size_t sums_left;   // bytes that may still be taken
  etx_status status;  // that stopped recording
} etx_layer_recorder;

// Records the layers of methods of this program, each when it first runs, while
// `most_bytes` are enough. It must not be moved.
void etx_layer_recorder_open(etx_layer_recorder* recorder, etx_bytes program,
                             size_t most_bytes, const etx_workers* workers,
                             etx_pool* pool);
void etx_layer_recorder_close(etx_layer_recorder* recorder);

// Lets go of all sums and records layer `first`, then others that were not
// used, while `most_bytes` are enough; the first one in any case.
// ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_layer_recorder_restart(etx_layer_recorder* recorder,
                                                   size_t first,
                                                   size_t most_bytes);

// The layer whose weight has these bytes; `count` if there is none.
size_t etx_layer_recorder_find(const etx_layer_recorder* recorder,
                               etx_bytes weight);

#endif
