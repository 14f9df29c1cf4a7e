// Facts as one HTML page that needs nothing else: objects become rows of name
// and value, lists of objects tables, in the order in which they stand.

#ifndef ETX_CLI_JSON_JSON_HTML_H
#define ETX_CLI_JSON_JSON_HTML_H

#include <jansson.h>
#include <stdio.h>

// Writes the page. `root` is an object of a few levels, as etx prints them.
void etx_json_html_print(const char* title, const json_t* root, FILE* out);

#endif
