// A JSON object as one self-contained HTML page: objects become tables of name
// and value, lists of objects become tables, in the order of the JSON.

#ifndef ETX_CLI_JSON_JSON_HTML_H
#define ETX_CLI_JSON_JSON_HTML_H

#include <jansson.h>
#include <stdio.h>

// Writes the page. `root` is an object with a few levels, such as a report of
// etx.
void etx_json_html_print(const char* title, const json_t* root, FILE* out);

#endif
