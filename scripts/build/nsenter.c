/*
 * Where `nsenter --net=PATH PROGRAM ...` is to be run, this enters the namespace and runs the program: the child that
 * is about to become nsenter(1) does what that would do, and saves a millisecond of loading it. Everything else is
 * handed on. Linked with --wrap=execve; the words of the command line are the same on either engine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int __real_execve(const char *file, char *const words[], char *const environment[]);

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), least = strlen(end);
    return length >= least && strcmp(text + length - least, end) == 0;
}

int __wrap_execve(const char *file, char *const words[], char *const environment[])
{
    const char option[] = "--net=";
    int is_ours = ends_with(file, "/nsenter") && words[0] && words[1] && words[2] && words[2][0] == '/' &&
                  strncmp(words[1], option, sizeof(option) - 1) == 0;
    if (!is_ours)
        return __real_execve(file, words, environment);
    const char *path = words[1] + sizeof(option) - 1;
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0) {
        dprintf(2, "nsenter: cannot open %s: %s\n", path, strerror(errno));
        _exit(1);
    }
    if (setns(namespace, CLONE_NEWNET) != 0) {
        dprintf(2, "nsenter: reassociate to namespace '%s' failed: %s\n", path, strerror(errno));
        _exit(1);
    }
    return __real_execve(words[2], words + 2, environment);
}
