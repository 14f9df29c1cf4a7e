// ETX_TILE_BYTES: the stack that elementwise loops and chains of them use for a
// block of elements (chains of bytes use a little more). Results do not depend
// on it. With 7168, the loops take the time of whole arrays; a board with
// little stack builds with less, such as 1024.

#ifndef ETX_RUNTIME_KERNELS_CORE_TILE_BYTES_H
#define ETX_RUNTIME_KERNELS_CORE_TILE_BYTES_H

#ifndef ETX_TILE_BYTES
#define ETX_TILE_BYTES 7168
#endif

enum {
  // Elements of a block: a tile holds two operands of 8 bytes each, or the four
  // values of 4 bytes that a chain has at once.
  ETX_TILE_ELEMENTS = ETX_TILE_BYTES / 16
};

_Static_assert(ETX_TILE_BYTES >= 1024 && ETX_TILE_BYTES % 256 == 0,
               "ETX_TILE_BYTES is a multiple of 256, and at least 1024");

#endif
