/* The table of one CPU target. */
#include "simd.h"

#define SVMX_ENTRY(result, name, parameters) SVMX_LOOP(name),
extern const svmx_loop_table SVMX_LOOP(table);
const svmx_loop_table SVMX_LOOP(table) = {SVMX_LOOPS(SVMX_ENTRY)};
