/*
 * The executable's main: starts the engine, and gives it the modules that were compiled into this file. Each is read
 * only when it is imported: to read all of the bytecode takes twice as long as the rest of the start. Nothing is ever
 * loaded from the disk.
 */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "quickjs-libc.h"
#include "modules.c" /* made by qjsc; defines MODULES, the entry first */

static const struct {
    const char *name;
    const uint8_t *code;
    size_t size;
} modules[] = { MODULES };

JSValue js_spawn_program(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv); /* spawn.c */
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

int main(int argc, char **argv)
{
    keep_standard_streams();
    JSRuntime *runtime = JS_NewRuntime();
    if (!runtime)
        return 1;
    /* A call lasts milliseconds: to look for cycles would cost it a tenth. GC and the operator's commands may grow. */
    JS_SetGCThreshold(runtime, 32 << 20);
    js_std_init_handlers(runtime);
    JSContext *ctx = JS_NewContext(runtime);
    if (!ctx)
        return 1;
    js_init_module_std(ctx, "qjs:std");
    js_init_module_os(ctx, "qjs:os");
    JS_SetModuleLoaderFunc(runtime, NULL, load_module, NULL);
    /* As Node.js does: a rejection that nobody handles ends the program with status 1, and is told on stderr. */
    JS_SetHostPromiseRejectionTracker(runtime, js_std_promise_rejection_tracker, NULL);
    js_std_add_helpers(ctx, argc, argv);
    JSValue global = JS_GetGlobalObject(ctx);
    JS_SetPropertyStr(ctx, global, "spawnProgram", JS_NewCFunction(ctx, js_spawn_program, "spawnProgram", 5));
    JS_FreeValue(ctx, global);
    js_std_eval_binary(ctx, modules[0].code, modules[0].size, 0);
    int failed = js_std_loop(ctx);
    if (failed)
        js_std_dump_error(ctx);
    return failed; /* the kernel frees faster than we could */
}
