// For hosts that cannot map files, such as WebAssembly: reads the whole file
// into memory of the heap.

#include "runtime/module/module_file.h"

void etx_module_file_ask_large_pages(etx_bytes file) { (void)file; }

void etx_module_file_release(etx_bytes part) { (void)part; }

// All files are in memory already.
etx_status etx_module_file_prefault(etx_bytes file, etx_diag* diag) {
  (void)file;
  (void)diag;
  return ETX_OK;
}

etx_status etx_module_file_lock(etx_bytes bytes, etx_diag* diag) {
  (void)bytes;
  return etx_diag_fail(diag, ETX_UNSUPPORTED, "this host locks no memory");
}

void etx_module_file_unlock(etx_bytes bytes) { (void)bytes; }

etx_status etx_module_file_map(const char* path, etx_bytes* out_file,
                               etx_diag* diag) {
  return etx_module_file_read(path, &etx_module_heap, out_file, diag);
}

void etx_module_file_unmap(etx_bytes file) {
  if (file.size == 0) return;
  etx_module_heap.give_back(NULL, (void*)(uintptr_t)file.data);
}
