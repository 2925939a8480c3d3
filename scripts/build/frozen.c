/* See frozen.h. */
#include "frozen.h"

size_t frozen_size;
int frozen_count = 1 << 30;
