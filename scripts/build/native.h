/* See native.c. */
#ifndef NATIVE_H
#define NATIVE_H
#include "quickjs.h"

/* Adds the global object `native`. */
void native_add(JSContext *ctx);
#endif
