// The monotonic clock of the host, for durations.

#ifndef ETX_CLI_BASE_MONOTONIC_CLOCK_H
#define ETX_CLI_BASE_MONOTONIC_CLOCK_H

// Seconds since an unspecified start.
double etx_monotonic_clock_seconds(void);

#endif
