// Every limit of the project, with its reason. A build may override those with
// an #ifndef by -DETX_MAX_...=n, within the stated range.

#ifndef ETX_FORMAT_BASE_SIZE_LIMITS_H
#define ETX_FORMAT_BASE_SIZE_LIMITS_H

// Dimensions of a tensor. ExecuTorch's runtime refuses more than 16.
#define ETX_MAX_RANK 16

// Arguments of one operator, outputs included. The longest stock schema
// (custom attention) has 17; the longest ATen one in use has 12.
#ifndef ETX_MAX_ARGUMENTS
#define ETX_MAX_ARGUMENTS 24
#endif
#if ETX_MAX_ARGUMENTS < 18 || ETX_MAX_ARGUMENTS > 64
#error "ETX_MAX_ARGUMENTS must be 18 to 64"
#endif

// Bytes of an operator's name with overload: the limit of ExecuTorch's runtime.
#define ETX_MAX_OPERATOR_NAME 99

// Nesting depth of the tables of a FlatBuffer: the limit of the stock verifier.
#define ETX_MAX_FB_DEPTH 64

// Number of tables in a FlatBuffer: the limit of the stock verifier. Large files
// may have more, with a reference to each.
#define ETX_MAX_FB_TABLES 1000000

// Methods of one program. Opening a file compares every name with every other,
// so this bounds the time that takes.
#define ETX_MAX_PTE_PLANS 4096

// Bytes of a method's name, for the same reason.
#define ETX_MAX_METHOD_NAME 255

// Items of all lists and argument lists of one program together. Many values
// may share one list, so the size of the file does not bound the work.
#define ETX_MAX_PTE_ITEMS 10000000

// Instructions executed in one run: the limit of ExecuTorch's runtime. A caller
// sets a lower one in etx_limits.
#define ETX_MAX_STEPS 10000000

#endif
