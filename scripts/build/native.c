/*
 * `native`: what the program has of its own in C, because the engine has not, or takes long over it.
 *
 *     native.spawn(words, environment, stdin, stdout, stderr)  the process ID, or -errno
 *     native.text(buffer, offset, length)                      the bytes as text, undefined when they are not all ASCII
 *     native.bytes(text)                                       the text as a Uint8Array, undefined likewise
 *     native.stat(path, follow)                                [mode, device, inode, size, modified], or -errno
 *     native.read(path, limit)                                 the file's text, its bytes when they are not all ASCII, or -errno;
 *                                                              0: to its end, else without waiting, and -EFBIG beyond so many
 *     native.write(path, flags, mode, text)                    0, or -errno; undefined, and nothing done, when the text is not all ASCII
 *     native.link(path, name)                                  0, or -errno: another name of the same file
 */
#define _GNU_SOURCE
#include "native.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

JSValue js_spawn(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv); /* spawn.c */

static int is_ascii(const uint8_t *bytes, size_t length)
{
    uint8_t all = 0;
    for (size_t i = 0; i < length; i++)
        all |= bytes[i];
    return all < 0x80;
}

static JSValue js_text(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    size_t size;
    int64_t offset, length;
    uint8_t *bytes = argc == 3 ? JS_GetArrayBuffer(ctx, &size, argv[0]) : NULL;
    if (!bytes || JS_ToInt64(ctx, &offset, argv[1]) || JS_ToInt64(ctx, &length, argv[2]))
        return JS_EXCEPTION;
    if (offset < 0 || length < 0 || (size_t)offset > size || (size_t)length > size - offset)
        return JS_ThrowRangeError(ctx, "not in the buffer");
    if (!is_ascii(bytes + offset, length))
        return JS_UNDEFINED;
    return JS_NewStringLen(ctx, (const char *)bytes + offset, length);
}

static JSValue js_bytes(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    size_t length;
    const char *text = argc == 1 ? JS_ToCStringLen(ctx, &length, argv[0]) : NULL;
    if (!text)
        return JS_EXCEPTION;
    JSValue bytes = JS_UNDEFINED;
    if (is_ascii((const uint8_t *)text, length))
        bytes = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)text, length);
    JS_FreeCString(ctx, text);
    return bytes;
}

static JSValue js_stat(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    struct stat found;
    const char *path = argc == 2 ? JS_ToCString(ctx, argv[0]) : NULL;
    if (!path)
        return JS_EXCEPTION;
    int failed = JS_ToBool(ctx, argv[1]) ? stat(path, &found) : lstat(path, &found);
    int number = errno;
    JS_FreeCString(ctx, path);
    if (failed)
        return JS_NewInt32(ctx, -number);
    int64_t modified = found.st_mtim.tv_sec * 1000LL + found.st_mtim.tv_nsec / 1000000;
    JSValue values[] = {
        JS_NewUint32(ctx, found.st_mode),
        JS_NewInt64(ctx, found.st_dev),
        JS_NewInt64(ctx, found.st_ino),
        JS_NewInt64(ctx, found.st_size),
        JS_NewInt64(ctx, modified),
    };
    return JS_NewArrayFrom(ctx, sizeof(values) / sizeof(values[0]), values);
}

/* Reads to the end of the file. 0, or an errno; *bytes is `room`, or allocated. */
static int read_all(int descriptor, uint8_t **bytes, size_t *length, size_t size, size_t limit)
{
    uint8_t *room = *bytes;
    for (;;) {
        if (*length == size) {
            uint8_t *larger = realloc(*bytes == room ? NULL : *bytes, size *= 4);
            if (!larger)
                return ENOMEM;
            if (*bytes == room)
                memcpy(larger, room, *length);
            *bytes = larger;
        }
        ssize_t count = read(descriptor, *bytes + *length, size - *length);
        if (count == 0)
            return 0;
        if (count > 0)
            *length += count;
        else if (errno != EINTR)
            return errno;
        if (limit && *length > limit)
            return EFBIG;
    }
}

static JSValue js_read(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    int32_t limit;
    const char *path = argc == 2 && !JS_ToInt32(ctx, &limit, argv[1]) ? JS_ToCString(ctx, argv[0]) : NULL;
    if (!path)
        return JS_EXCEPTION;
    uint8_t room[4096], *bytes = room;
    size_t length = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | (limit ? O_NONBLOCK : 0));
    int failed = descriptor < 0 ? errno : read_all(descriptor, &bytes, &length, sizeof(room), limit);
    if (descriptor >= 0)
        close(descriptor);
    JS_FreeCString(ctx, path);
    JSValue content = failed                    ? JS_NewInt32(ctx, -failed)
                      : is_ascii(bytes, length) ? JS_NewStringLen(ctx, (const char *)bytes, length)
                                                : JS_NewArrayBufferCopy(ctx, bytes, length);
    if (bytes != room)
        free(bytes);
    return content;
}

/* A network file system may tell of a failed write only when the file is closed. */
static int write_all(int descriptor, const char *text, size_t length)
{
    int failed = 0;
    while (length > 0 && !failed) {
        ssize_t count = write(descriptor, text, length);
        if (count >= 0)
            text += count, length -= count;
        else if (errno != EINTR)
            failed = errno;
    }
    return close(descriptor) && !failed ? errno : failed;
}

static JSValue js_write(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    int32_t flags, mode;
    size_t length;
    if (argc != 4 || JS_ToInt32(ctx, &flags, argv[1]) || JS_ToInt32(ctx, &mode, argv[2]))
        return JS_EXCEPTION;
    const char *path = JS_ToCString(ctx, argv[0]), *text = path ? JS_ToCStringLen(ctx, &length, argv[3]) : NULL;
    JSValue done = text ? JS_UNDEFINED : JS_EXCEPTION;
    if (text && is_ascii((const uint8_t *)text, length)) {
        int descriptor = open(path, flags | O_CLOEXEC, mode);
        int failed = descriptor < 0 ? errno : write_all(descriptor, text, length);
        if (failed && descriptor >= 0 && (flags & O_EXCL))
            unlink(path); /* it is this call's own, and half a file */
        done = JS_NewInt32(ctx, -failed);
    }
    JS_FreeCString(ctx, text);
    JS_FreeCString(ctx, path);
    return done;
}

static JSValue js_link(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    const char *path = argc == 2 ? JS_ToCString(ctx, argv[0]) : NULL, *name = path ? JS_ToCString(ctx, argv[1]) : NULL;
    JSValue done = name ? JS_NewInt32(ctx, link(path, name) ? -errno : 0) : JS_EXCEPTION;
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, path);
    return done;
}

/* Math.random: the engine's own would go on from the seed of the start image, in all processes alike. */
static JSValue js_random(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value, (void)argc, (void)argv;
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
        return JS_ThrowInternalError(ctx, "the kernel gives no random numbers");
    return JS_NewFloat64(ctx, (double)(bits >> 11) / (double)(1ULL << 53));
}

static void set_function(JSContext *ctx, JSValueConst object, const char *name, JSCFunction *function, int arguments)
{
    JS_SetPropertyStr(ctx, object, name, JS_NewCFunction(ctx, function, name, arguments));
}

void native_add(JSContext *ctx)
{
    JSValue global = JS_GetGlobalObject(ctx), native = JS_NewObject(ctx);
    set_function(ctx, native, "spawn", js_spawn, 5);
    set_function(ctx, native, "text", js_text, 3);
    set_function(ctx, native, "bytes", js_bytes, 1);
    set_function(ctx, native, "stat", js_stat, 2);
    set_function(ctx, native, "read", js_read, 2);
    set_function(ctx, native, "write", js_write, 4);
    set_function(ctx, native, "link", js_link, 2);
    JS_SetPropertyStr(ctx, global, "native", native);
    JSValue math = JS_GetPropertyStr(ctx, global, "Math");
    set_function(ctx, math, "random", js_random, 0);
    JS_FreeValue(ctx, math);
    JS_FreeValue(ctx, global);
}
