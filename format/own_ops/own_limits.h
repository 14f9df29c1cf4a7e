// Limits of descriptions of operators. They bound the memory that reading one
// takes.

#ifndef ETX_FORMAT_OWN_OPS_OWN_LIMITS_H
#define ETX_FORMAT_OWN_OPS_OWN_LIMITS_H

enum {
  ETX_OWN_MAX_OPERATORS = 256,  // in one text
  ETX_OWN_MAX_CHANGED = 8,      // arguments that one operator changes
  ETX_OWN_MAX_TEXT = 1024,      // bytes of a schema or a rule
};

#endif
