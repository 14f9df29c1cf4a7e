// The order of reading: lines one after the other, as directives or as items.

#include "cli/amalgamate/source_reader.h"

#include <string.h>

#include "cli/amalgamate/item_reader.h"

// Cuts the text into lines.
static etx_status add_lines(etx_source* source, etx_text text, bool is_header) {
  while (text.size > 0) {
    const char* const end = memchr(text.data, '\n', text.size);
    const size_t size = end == NULL ? text.size : (size_t)(end - text.data);
    ETX_TRY(etx_pool_grow(source->pool, &source->lines, source->line_count,
                          &source->line_capacity, sizeof *source->lines));
    source->lines[source->line_count++] = (etx_source_line){
        .text = {text.data, size}, .item = SIZE_MAX, .is_header = is_header};
    const size_t taken = end == NULL ? size : size + 1;
    text = (etx_text){text.data + taken, text.size - taken};
  }
  return ETX_OK;
}

etx_status etx_source_read(etx_source* source, etx_text text, bool is_header) {
  etx_item_reader r = {.source = source,
                       .comment = SIZE_MAX,
                       .framing = SIZE_MAX,
                       .unit = source->unit_count++,
                       .is_header_text = is_header,
                       .is_preamble = true};
  size_t line = source->line_count;
  etx_status status = add_lines(source, text, is_header);
  while (status == ETX_OK && line < source->line_count) {
    if (etx_reader_is_directive(source->lines[line].text)) {
      status = etx_reader_directive(&r, line, &line);
    } else {
      status = etx_reader_line(&r, line++);
    }
  }
  if (status == ETX_OK) status = etx_reader_end_comment(&r, source->line_count);
  if (r.item.is_open) etx_pool_close(&r.item.pool);
  return status;
}
