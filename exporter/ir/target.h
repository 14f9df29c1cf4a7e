// The runtime that a program is compiled for.

#ifndef ETX_EXPORTER_IR_TARGET_H
#define ETX_EXPORTER_IR_TARGET_H

typedef enum etx_target {
  ETX_TARGET_ETX,         // operators of etx's runtime (default)
  ETX_TARGET_EXECUTORCH,  // only operators of the stock portable library
} etx_target;

#endif
