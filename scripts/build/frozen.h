/*
 * What the engine must know of the start image (image.h). It counts the references to each object, in the object: to
 * look at one is to write to it, and each page of the image that is written to is copied, which takes longer than all
 * that is done with it. So no references are counted there: what is in the image stays until the process ends.
 */
#ifndef FROZEN_H
#define FROZEN_H
#include <stddef.h>
#include <stdint.h>

extern char image_begin[];
extern size_t frozen_size; /* bytes of the image; 0 in a program without one, and while it is made */
extern int frozen_count;   /* the count of each object there: never 0, nor 1, which would say that it may be changed */

static inline int is_frozen(const void *memory)
{
    return (size_t)((const char *)memory - image_begin) < frozen_size;
}

static inline int *count_of(int *count)
{
    return is_frozen(count) ? &frozen_count : count;
}
#endif
