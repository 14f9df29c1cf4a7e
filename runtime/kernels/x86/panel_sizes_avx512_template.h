// What the 32 vector registers of AVX-512 have room for (panel_set_template.h).
// Read once for each file of loops.

#define VECTOR_BYTES 64
#define PANEL_ROWS 6
#define PANEL_GROUPS 4
#define PANEL_FEW_SUMS 8
