// A JSON object as HTML: objects become tables of name and value, lists of
// objects become tables, in the order of the JSON. Integers are written in
// groups of three digits. Styles are up to the page.

#ifndef ETX_CLI_JSON_JSON_HTML_H
#define ETX_CLI_JSON_JSON_HTML_H

#include <jansson.h>
#include <stdio.h>

// Writes the tables. `root` is an object with a few levels, such as a report of
// etx.
void etx_json_html_print(const json_t* root, FILE* out);

#endif
