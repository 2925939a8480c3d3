/*
 * The executable's main: goes on from the start image (image.h), in which the engine and the modules of all verbs are
 * loaded already. A program without one starts the engine, and gives it the modules that were compiled into this file.
 * Other modules are read when they are imported. Nothing is ever loaded from the disk.
 */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "image.h"
#include "native.h"
#include "quickjs-libc.h"
#include "modules.c" /* made by qjsc; defines MODULES, the entry first */

static const struct {
    const char *name;
    const uint8_t *code;
    size_t size;
} modules[] = { MODULES };

JSModuleDef *js_init_module_std(JSContext *ctx, const char *name);
JSModuleDef *js_init_module_os(JSContext *ctx, const char *name);

static JSModuleDef *load_module(JSContext *ctx, const char *name, void *opaque)
{
    (void)opaque;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (strcmp(modules[i].name, name) != 0)
            continue;
        JSValue module = JS_ReadObject(ctx, modules[i].code, modules[i].size, JS_READ_OBJ_BYTECODE);
        if (JS_IsException(module))
            return NULL;
        JSModuleDef *definition = JS_VALUE_GET_PTR(module);
        JS_FreeValue(ctx, module); /* the context holds it */
        return definition;
    }
    JS_ThrowReferenceError(ctx, "there is no module %s in this program", name);
    return NULL;
}

/* What is opened must not come to stand where stdin, stdout or stderr is closed: answers would go into it. */
static void keep_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* An engine with everything that the program calls, and none of its modules yet. */
static JSContext *start_engine(void)
{
    JSRuntime *runtime = JS_NewRuntime2(&image_memory, NULL);
    if (!runtime)
        return NULL;
    /* A call lasts milliseconds: to look for cycles would cost it a tenth. GC and the operator's commands may grow. */
    JS_SetGCThreshold(runtime, 32 << 20);
    js_std_init_handlers(runtime);
    JSContext *ctx = JS_NewContext(runtime);
    if (!ctx)
        return NULL;
    js_init_module_std(ctx, "qjs:std");
    js_init_module_os(ctx, "qjs:os");
    JS_SetModuleLoaderFunc(runtime, NULL, load_module, NULL);
    /* As Node.js does: a rejection that nobody handles ends the program with status 1, and is told on stderr. */
    JS_SetHostPromiseRejectionTracker(runtime, js_std_promise_rejection_tracker, NULL);
    js_std_add_helpers(ctx, -1, NULL);
    native_add(ctx);
    return ctx;
}

static int finish(JSContext *ctx)
{
    int failed = js_std_loop(ctx);
    if (failed)
        js_std_dump_error(ctx);
    return failed; /* the kernel frees faster than we could */
}

static void set_arguments(JSContext *ctx, int argc, char **argv)
{
    JSValue global = JS_GetGlobalObject(ctx), words = JS_NewArray(ctx);
    for (int i = 0; i < argc; i++)
        JS_SetPropertyUint32(ctx, words, i, JS_NewString(ctx, argv[i]));
    JS_SetPropertyStr(ctx, global, "scriptArgs", words);
    JS_FreeValue(ctx, global);
}

/* `keepStart(function)`: there while the image is made. The function is what the program will begin with. */
static JSValue js_keep_start(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    if (argc > 0 && JS_IsFunction(ctx, argv[0]))
        image_content()->start = JS_DupValue(ctx, argv[0]);
    return JS_UNDEFINED;
}

static int fill_image(struct image *content)
{
    JSContext *ctx = start_engine();
    if (!ctx)
        return 1;
    content->context = ctx;
    content->runtime = JS_GetRuntime(ctx);
    content->start = JS_UNDEFINED;
    JSValue global = JS_GetGlobalObject(ctx);
    JS_SetPropertyStr(ctx, global, "keepStart", JS_NewCFunction(ctx, js_keep_start, "keepStart", 1));
    js_std_eval_binary(ctx, modules[0].code, modules[0].size, 0);
    int failed = finish(ctx);
    JSAtom name = JS_NewAtom(ctx, "keepStart");
    JS_DeleteProperty(ctx, global, name, 0);
    JS_FreeAtom(ctx, name);
    JS_FreeValue(ctx, global);
    return failed || JS_IsUndefined(content->start);
}

int main(int argc, char **argv)
{
    if (image_is_made_here())
        return argc == 2 ? image_make(fill_image, argv[1]) : 2;
    image_freeze();
    keep_standard_streams();
    struct image *image = image_content();
    JSContext *ctx = image ? image->context : start_engine();
    if (!ctx)
        return 1;
    JS_UpdateStackTop(JS_GetRuntime(ctx));
    set_arguments(ctx, argc, argv);
    if (image)
        JS_FreeValue(ctx, JS_Call(ctx, image->start, JS_UNDEFINED, 0, NULL));
    else
        js_std_eval_binary(ctx, modules[0].code, modules[0].size, 0);
    return finish(ctx);
}
