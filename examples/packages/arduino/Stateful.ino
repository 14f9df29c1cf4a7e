#include <etx_example.h>

static void write_line(const char* line) { Serial.println(line); }

void setup() {
  Serial.begin(115200);
  etx_example_run(write_line);
}

void loop() {}
