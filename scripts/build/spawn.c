/*
 * native.spawn: starts a program. Answers with the process ID, or -errno.
 *
 * The engine's own os.exec forks, and after a fork each page that either process writes to is copied: half of all page
 * faults of an ADD. Here the child shares the memory until its exec. vfork(2) would do so too, and posix_spawn(3), but
 * with them this process waits for that exec, a millisecond each time; as it is, both go on.
 *
 * `nsenter --net=PATH PROGRAM ...` becomes what nsenter(1) does: this process, which has one thread, goes into the
 * namespace, starts the program there and comes back. That saves a millisecond of loading nsenter. When the namespace
 * can't be entered, nsenter is run, and tells why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include "quickjs.h"

/* What a child needs until its exec. */
struct start {
    pid_t is_busy; /* the kernel sets it to 0 when the child has left our memory: clone(2), CLONE_CHILD_CLEARTID */
    char **words, **environment;
    char **argv; /* in words: all of it, or what is behind nsenter's own */
    int streams[3];
    char stack[16384] __attribute__((aligned(16)));
};

static struct start starts[8];

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

/* Room for one more child, or NULL when so many are on their way to their exec. */
static struct start *next_start(void)
{
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        struct start *start = &starts[i];
        if (__atomic_load_n(&start->is_busy, __ATOMIC_ACQUIRE))
            continue;
        free_words(start->words);
        free_words(start->environment);
        start->words = start->environment = NULL;
        return start;
    }
    return NULL;
}

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
        if (!words[i]) {
            free_words(words);
            return NULL;
        }
    }
    return words;
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

/*
 * A system call that leaves errno alone: this process and its child have one errno, and the one must not take the other's
 * failure for its own.
 */
static long call(long number, long first, long second, long third)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#else
#error "no way to start programs on this architecture"
#endif
}

/* The child. It has this process' memory, but nothing else of it, and must not change anything there. */
static int run_child(void *argument)
{
    struct start *start = argument;
    for (int i = 0; i < 3; i++)
        call(SYS_dup3, start->streams[i], i, 0);
    if (call(SYS_close_range, 3, ~0U, 0) < 0) { /* before Linux 5.9 */
        for (int fd = 3; fd < 65536; fd++)
            call(SYS_close, fd, 0, 0);
    }
    if (call(SYS_chdir, (long)"/", 0, 0) >= 0)
        call(SYS_execve, (long)start->argv[0], (long)start->argv, (long)start->environment);
    _exit(127);
}

/*
 * posix_spawn does the same, and waits for the exec. It is for where the former way is closed (qemu's user mode), and for
 * valgrind, which follows no such child: `PONTOON_SPAWN=wait npm run build`.
 */
static pid_t spawn_and_wait(const struct start *start)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    int failed = 0;
    for (int i = 0; i < 3; i++)
        failed |= posix_spawn_file_actions_adddup2(&actions, start->streams[i], i);
    failed |= posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    failed |= posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (!failed)
        failed = posix_spawn(&pid, start->argv[0], &actions, NULL, start->argv, start->environment);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -failed : pid;
}

static pid_t spawn(struct start *start)
{
#ifdef SPAWN_WAITS
    return spawn_and_wait(start);
#endif
    int flags = CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD;
    start->is_busy = 1;
    pid_t pid = clone(run_child, start->stack + sizeof(start->stack), flags, start, NULL, NULL, &start->is_busy);
    if (pid > 0)
        return pid;
    start->is_busy = 0;
    return spawn_and_wait(start);
}

static pid_t spawn_inside(const char *path, struct start *start)
{
    pid_t pid = -1;
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (own >= 0 && namespace >= 0 && setns(namespace, CLONE_NEWNET) == 0) {
        start->argv = start->words + 2;
        pid = spawn(start);
        if (setns(own, CLONE_NEWNET) != 0)
            abort(); /* whatever followed would be done to the container */
    }
    close(own);
    close(namespace);
    return pid;
}

JSValue js_spawn(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv)
{
    (void)this_value;
    struct start *start;
    if (argc < 5)
        return JS_NewInt32(ctx, -EINVAL);
    while (!(start = next_start()))
        usleep(100);
    for (int i = 0; i < 3; i++) {
        if (JS_ToInt32(ctx, &start->streams[i], argv[2 + i]))
            return JS_EXCEPTION;
    }
    start->words = read_words(ctx, argv[0]);
    start->environment = read_words(ctx, argv[1]);
    pid_t pid = -ENOMEM;
    if (start->words && start->words[0] && start->environment) {
        const char *path = namespace_of(start->words);
        if (path)
            pid = spawn_inside(path, start);
        if (pid < 0) {
            start->argv = start->words;
            pid = spawn(start);
        }
    }
    return JS_NewInt32(ctx, pid);
}
