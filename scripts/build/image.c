/* See image.h. */
#include "image.h"
#include "frozen.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

/* At the image's beginning. */
struct header {
    struct image content;
    char *top; /* what is above has not been used; NULL before the image is made */
};

/* Before each piece of memory that the image gives. */
struct piece {
    size_t size;
    struct piece *next; /* of those that were given back */
};

static struct piece *given_back;
static int is_making;

static struct header *header(void)
{
    return (struct header *)image_begin;
}

static int is_inside(const void *memory)
{
    return (const char *)memory >= image_begin && (const char *)memory < image_end;
}

static struct piece *piece_of(const void *memory)
{
    return (struct piece *)memory - 1;
}

static void *take(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    for (struct piece **at = &given_back; *at; at = &(*at)->next) {
        struct piece *found = *at;
        if (found->size < size || found->size > size + size / 4)
            continue;
        *at = found->next;
        return found + 1;
    }
    struct piece *made = (struct piece *)header()->top;
    if (size + sizeof(*made) > (size_t)(image_end - (char *)made))
        return NULL;
    header()->top = (char *)(made + 1) + size;
    made->size = size;
    return made + 1;
}

static void *image_malloc(void *opaque, size_t size)
{
    (void)opaque;
    return is_making ? take(size) : malloc(size);
}

static void *image_calloc(void *opaque, size_t count, size_t size)
{
    (void)opaque;
    if (!is_making)
        return calloc(count, size);
    void *memory = take(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

/* What is freed while the image is made leaves no trace in it. Later it stays. */
static void image_free(void *opaque, void *memory)
{
    (void)opaque;
    if (!is_inside(memory)) {
        free(memory);
    } else if (is_making) {
        struct piece *piece = piece_of(memory);
        memset(memory, 0, piece->size);
        piece->next = given_back;
        given_back = piece;
    }
}

static void *image_realloc(void *opaque, void *memory, size_t size)
{
    if (!memory)
        return image_malloc(opaque, size);
    if (!is_inside(memory))
        return realloc(memory, size);
    size_t had = piece_of(memory)->size;
    if (size <= had)
        return memory;
    void *larger = image_malloc(opaque, size);
    if (larger) {
        memcpy(larger, memory, had);
        image_free(opaque, memory);
    }
    return larger;
}

static size_t image_usable_size(const void *memory)
{
    return is_inside(memory) ? piece_of(memory)->size : malloc_usable_size((void *)memory);
}

const JSMallocFunctions image_memory = { image_calloc, image_malloc, image_free, image_realloc, image_usable_size };

int image_is_made_here(void)
{
    return image_end > image_begin && !header()->top;
}

struct image *image_content(void)
{
    return image_end > image_begin ? &header()->content : NULL;
}

void image_freeze(void)
{
    frozen_size = image_end - image_begin;
}

/*
 * Linked with --wrap=gettimeofday and clock_gettime: the engine takes its seeds from the clock, and the image is to have
 * the same bytes whenever it is made.
 */
int __real_gettimeofday(struct timeval *time, void *zone);

int __wrap_gettimeofday(struct timeval *time, void *zone)
{
    if (!is_making)
        return __real_gettimeofday(time, zone);
    *time = (struct timeval){ 0 };
    return 0;
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!is_making)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){ 0 };
    return 0;
}

static ucontext_t outside, inside;
static int (*maker)(struct image *content);
static int status;

/*
 * The engine's tables of property names and of shapes (the layouts of objects) grow when they are half full. To grow,
 * they write to all that is in them: not in each process, then, but here, by names and shapes that are not kept.
 */
static void grow_tables(JSContext *ctx)
{
    enum { MARGIN = 1024 };
    JSMemoryUsage usage;
    JS_ComputeMemoryUsage(JS_GetRuntime(ctx), &usage);
    int64_t most = MARGIN, count = 0;
    while (most < usage.shape_count)
        most *= 2;
    JSValue made = JS_NewArray(ctx);
    for (; usage.shape_count + count <= most + 1; count++) {
        char name[32];
        snprintf(name, sizeof(name), "not kept %d", (int)count);
        JSValue object = JS_NewObject(ctx);
        JS_SetPropertyStr(ctx, object, name, JS_TRUE);
        JS_SetPropertyUint32(ctx, made, (uint32_t)count, object);
    }
    JS_FreeValue(ctx, made);
}

/* What the engine has left in its slabs is in the image, where no references are counted: it has to take new ones. */
void JS_ForgetSlabs(JSRuntime *runtime) __attribute__((weak)); /* added to the engine by the build, if it has an image */

static void run_maker(void)
{
    status = maker(&header()->content);
    if (status != 0)
        return;
    grow_tables(header()->content.context);
    JS_ForgetSlabs(header()->content.runtime);
}

/* The engine notes where its stack is: one of a fixed address leaves the same note each time. */
static char stack[2 << 20] __attribute__((aligned(64)));

int image_make(int (*make)(struct image *content), const char *path)
{
    header()->top = image_begin + ((sizeof(struct header) + 15) & ~(size_t)15);
    is_making = 1;
    maker = make;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof(stack);
    inside.uc_link = &outside;
    makecontext(&inside, run_maker, 0);
    swapcontext(&outside, &inside);
    if (status != 0)
        return status;
    /* What was given back is lost to the program, but must not differ from one build to the next. */
    for (struct piece *piece = given_back, *next; piece; piece = next) {
        next = piece->next;
        piece->next = NULL;
    }
    FILE *file = fopen(path, "wb");
    size_t size = header()->top - image_begin;
    int written = file && fwrite(image_begin, 1, size, file) == size && fclose(file) == 0;
    return written ? 0 : 1;
}
