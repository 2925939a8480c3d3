/*
 * For the statically linked executable. There, glibc finds no function by name; but the engine asks by name for
 * closefrom(3), and without it closes every possible descriptor one by one before each exec. It asks for nothing else,
 * and the modules in shared libraries that it could load are not wanted in a program that runs as root.
 * Linked with --wrap=dlsym, dlopen and dlerror.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <unistd.h>

void *__wrap_dlsym(void *handle, const char *name)
{
    (void)handle;
    return strcmp(name, "closefrom") == 0 ? (void *)closefrom : NULL;
}

void *__wrap_dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

char *__wrap_dlerror(void)
{
    return "this program loads no shared libraries";
}
