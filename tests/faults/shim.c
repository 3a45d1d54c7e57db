/* Preloaded into a command: one chosen call fails, is short, or is where the process is killed.

   FAULT_KIND   which calls count: "file" (open for writing, write, fsync, rename, chmod, truncate) or "memory"
                (malloc, calloc, realloc of FAULT_BYTES and more)
   FAULT_CALL   the number of the call, from 1; 0 for none
   FAULT_ACT    an errno, "short" (half of a write), or "kill", "term", "int", "hup": a signal to the process itself
   FAULT_AFTER  calls count once this path has been opened; from the start if it is not set
   FAULT_LOG    a file that gets a line for each call that counts
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))
#define SHORT -1

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

typedef int (*open_type)(const char *, int, ...);
typedef ssize_t (*write_type)(int, const void *, size_t);

static int ready, armed, memory, act, signal_number;
static long chosen, calls, least_bytes;

static void read_settings(void)
{
    const char *kind = getenv("FAULT_KIND"), *call = getenv("FAULT_CALL"), *what = getenv("FAULT_ACT");
    const char *bytes = getenv("FAULT_BYTES");
    memory = kind != NULL && strcmp(kind, "memory") == 0;
    chosen = call != NULL ? atol(call) : 0;
    least_bytes = bytes != NULL ? atol(bytes) : 1;
    if (what == NULL)
        what = "5";
    signal_number = !strcmp(what, "kill") ? SIGKILL : !strcmp(what, "term") ? SIGTERM : !strcmp(what, "int") ? SIGINT
        : !strcmp(what, "hup") ? SIGHUP : 0;
    act = !strcmp(what, "short") ? SHORT : atoi(what);
    armed = getenv("FAULT_AFTER") == NULL;
    ready = 1;
}

/* What the call is to do: 0 its work, SHORT, or fail with this errno. */
static int counted(int is_memory, const char *name)
{
    if (!ready)
        read_settings();
    if (is_memory != memory || !armed)
        return 0;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    const char *log = is_memory ? NULL : getenv("FAULT_LOG");
    if (log != NULL) {
        char line[64];
        int file = REAL(open_type, "open")(log, O_WRONLY | O_APPEND | O_CREAT, 0666);
        int length = snprintf(line, sizeof line, "%s\n", name);
        (void)!REAL(write_type, "write")(file, line, (size_t)length);
        close(file);
    }
    if (number != chosen)
        return 0;
    if (signal_number != 0) {
        kill(getpid(), signal_number);
        return 0;
    }
    return act;
}

static int fails(const char *name)
{
    int error = counted(0, name);
    if (error > 0)
        errno = error;
    return error > 0;
}

static int is_regular(int file)
{
    struct stat status;
    return file > 2 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    if (is_regular(file)) {
        int error = counted(0, "write");
        if (error == SHORT)
            size = size / 2 + 1;
        else if (error != 0) {
            errno = error;
            return -1;
        }
    }
    return REAL(write_type, "write")(file, bytes, size);
}

int fsync(int file) { return fails("fsync") ? -1 : REAL(int (*)(int), "fsync")(file); }

int rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int chmod(const char *path, mode_t mode)
{
    return fails("chmod") ? -1 : REAL(int (*)(const char *, mode_t), "chmod")(path, mode);
}

int ftruncate(int file, off_t size) { return fails("truncate") ? -1 : REAL(int (*)(int, off_t), "ftruncate")(file, size); }

int ftruncate64(int file, off64_t size)
{
    return fails("truncate") ? -1 : REAL(int (*)(int, off64_t), "ftruncate64")(file, size);
}

static int opened(const char *name, const char *path, int flags, int mode)
{
    const char *after = getenv("FAULT_AFTER");
    if (!ready)
        read_settings();
    if (after != NULL && strcmp(path, after) == 0)
        armed = 1;
    if ((flags & (O_WRONLY | O_RDWR)) && strncmp(path, "/dev/", 5) != 0 && fails("open"))
        return -1;
    return REAL(open_type, name)(path, flags, mode);
}

static int mode_of(int flags, va_list arguments) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0; }

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = mode_of(flags, arguments);
    va_end(arguments);
    return opened("open64", path, flags, mode);
}

static int no_memory(size_t size)
{
    if (!ready)
        read_settings();
    if (!memory || !armed || (long)size < least_bytes || counted(1, "malloc") == 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return no_memory(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return no_memory(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return no_memory(size) ? NULL : __libc_realloc(old, size); }
