/*
 * `spawnProgram(words, environment, stdin, stdout, stderr)`: starts a program as the engine's own os.exec does, but by
 * posix_spawn(3). os.exec forks, and after a fork each page that either process writes to is copied: half of all page
 * faults of an ADD. Answers with the process ID, or -1: then the caller goes the engine's way, which tells why.
 *
 * `nsenter --net=PATH PROGRAM ...` becomes what nsenter(1) does: this process, which has one thread, goes into the
 * namespace, starts the program there and comes back. That saves a millisecond of loading nsenter. When the namespace
 * can't be entered, nsenter is run, and tells why.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "quickjs-libc.h"

static char **read_words(JSContext *ctx, JSValueConst list)
{
    int64_t count;
    if (JS_GetLength(ctx, list, &count) || count > 4096)
        return NULL;
    char **words = calloc(count + 1, sizeof(*words));
    for (int64_t i = 0; words && i < count; i++) {
        JSValue value = JS_GetPropertyInt64(ctx, list, i);
        const char *word = JS_ToCString(ctx, value);
        words[i] = word ? strdup(word) : NULL;
        JS_FreeCString(ctx, word);
        JS_FreeValue(ctx, value);
        if (!words[i])
            return NULL;
    }
    return words;
}

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

/* The namespace that `nsenter --net=PATH /PROGRAM ...` asks for, or NULL. */
static const char *namespace_of(char **words)
{
    const char name[] = "/nsenter", option[] = "--net=";
    size_t length = strlen(words[0]), least = sizeof(name) - 1;
    if (length < least || strcmp(words[0] + length - least, name) != 0 || !words[1] || !words[2] || words[2][0] != '/')
        return NULL;
    return strncmp(words[1], option, sizeof(option) - 1) == 0 ? words[1] + sizeof(option) - 1 : NULL;
}

static int start(char **words, char **environment, const int streams[3])
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    posix_spawn_file_actions_init(&actions);
    int failed = 0;
    for (int i = 0; i < 3; i++)
        failed |= posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    failed |= posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    failed |= posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (!failed && posix_spawn(&pid, words[0], &actions, NULL, words, environment) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int start_inside(const char *path, char **words, char **environment, const int streams[3])
{
    int pid = -1;
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (own >= 0 && namespace >= 0 && setns(namespace, CLONE_NEWNET) == 0) {
        pid = start(words + 2, environment, streams);
        if (setns(own, CLONE_NEWNET) != 0)
            abort(); /* whatever followed would be done to the container */
    }
    close(own);
    close(namespace);
    return pid;
}

JSValue js_spawn_program(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    int streams[3], pid = -1;
    if (argc < 5)
        return JS_NewInt32(ctx, -1);
    for (int i = 0; i < 3; i++) {
        if (JS_ToInt32(ctx, &streams[i], argv[2 + i]))
            return JS_EXCEPTION;
    }
    char **words = read_words(ctx, argv[0]), **environment = read_words(ctx, argv[1]);
    if (words && words[0] && environment) {
        const char *path = namespace_of(words);
        if (path)
            pid = start_inside(path, words, environment, streams);
        if (pid < 0)
            pid = start(words, environment, streams);
    }
    free_words(words);
    free_words(environment);
    return JS_NewInt32(ctx, pid);
}
