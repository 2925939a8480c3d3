/*
 * The start image: the engine's heap as it is once the modules of all verbs have been loaded. It is part of the
 * executable, mapped where it was made, so that a call begins where otherwise half of its work would be done.
 *
 * The build links the program twice with the same objects. The first one, with an empty image, loads the modules with
 * all memory of the engine taken from the image, and writes it to a file; the second one holds that file. What the
 * image refers to has the same address in both, for the program is linked to fixed addresses.
 */
#ifndef IMAGE_H
#define IMAGE_H
#include "quickjs.h"

/* What a program finds in its image. */
struct image {
    JSRuntime *runtime;
    JSContext *context;
    JSValue start; /* the function that runs the program */
};

/* Of image.S. It has no bytes in a program that is to do without. */
extern char image_begin[], image_end[];

extern const JSMallocFunctions image_memory;

/* Is this the program that makes the image? */
int image_is_made_here(void);

/* The image's content, or NULL when this program has none. */
struct image *image_content(void);

/* From here on nothing in the image is freed, and no references to it are counted. */
void image_freeze(void);

/* Runs `make`, which fills in its argument, and writes the image to the file `path`. Answers with the exit status. */
int image_make(int (*make)(struct image *content), const char *path);

#endif
