/* Preloaded into a command: one chosen call fails, is short, or kills the process.

   FAULT_KIND   which calls count:
                  file     open for writing, write, fsync, rename, chmod, truncate, mkdir, unlink
                  read     open for reading and read, of files with relative names, which excludes libraries
                  memory   malloc, calloc, realloc, aligned allocation and anonymous mmap of FAULT_BYTES and more, and
                           the start of a thread
                  any      all of them: a reproducible clock
   FAULT_CALL   the number of the call, from 1; 0 for none
   FAULT_ACT    an errno, "short" (half of a write), or "kill", "term", "int", "hup": a signal to the process itself
   FAULT_AFTER  calls count once this path has been opened; by default from the start
   FAULT_LOG    a file for the name of each call that counts, a line each (not for memory)
   FAULT_BLAME  a file for the call stack of the refused allocation: the files of the program and its libraries,
                innermost first, a line each; then, if the process crashes, "crash" and the files of the stack
                there
   FAULT_COUNT  a file of 8 bytes with the number of calls that have counted
   FAULT_CPU    microseconds of CPU time after which FAULT_ACT, a signal, comes, whatever the calls are

   fault_settings() reads the environment again and counts from 0: a forking process sets up its children with it.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))
#define SHORT -1

enum { FILES = 1, READS = 2, MEMORY = 4 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

typedef int (*open_type)(const char *, int, ...);
typedef ssize_t (*write_type)(int, const void *, size_t);

static int ready, armed, kinds, act, signal_number;
static long chosen, own_calls, least_bytes;
static long *calls = &own_calls;
static char own_files[1024]; /* by descriptor: 1 if opened for reading by a relative name */
static const char *log_path, *after, *blame_path;
static int blame_file = -1;

static const char *setting(const char *name)
{
    const char *found = getenv(name);
    return found != NULL && *found != '\0' ? found : NULL;
}

static long number_of(const char *name, long usual)
{
    const char *found = setting(name);
    return found != NULL ? atol(found) : usual;
}

static void share_count(const char *path)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0666);
    if (file < 0 || syscall(SYS_ftruncate, file, sizeof(long)) != 0)
        abort();
    void *shared = (void *)syscall(SYS_mmap, NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        abort();
    close(file);
    calls = shared;
}

static void start_timer(long microseconds)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number};
    struct itimerspec when = {.it_value = {microseconds / 1000000, microseconds % 1000000 * 1000}};
    timer_t timer;
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0)
        abort();
}

void fault_settings(void)
{
    const char *kind = setting("FAULT_KIND"), *what = setting("FAULT_ACT"), *count = setting("FAULT_COUNT");
    kinds = kind == NULL || !strcmp(kind, "file") ? FILES : !strcmp(kind, "read") ? READS
        : !strcmp(kind, "memory") ? MEMORY : FILES | READS | MEMORY;
    chosen = number_of("FAULT_CALL", 0);
    least_bytes = number_of("FAULT_BYTES", 1);
    if (what == NULL)
        what = "5";
    signal_number = !strcmp(what, "kill") ? SIGKILL : !strcmp(what, "term") ? SIGTERM : !strcmp(what, "int") ? SIGINT
        : !strcmp(what, "hup") ? SIGHUP : 0;
    act = !strcmp(what, "short") ? SHORT : atoi(what);
    after = setting("FAULT_AFTER");
    log_path = setting("FAULT_LOG");
    blame_path = setting("FAULT_BLAME");
    if (blame_path != NULL) {
        void *here[1];
        backtrace(here, 1); /* the first one allocates */
    }
    if (count != NULL)
        share_count(count);
    *calls = 0;
    armed = after == NULL;
    ready = 1;
    if (number_of("FAULT_CPU", 0) > 0)
        start_timer(number_of("FAULT_CPU", 0));
}

/* The outcome of the call: 0 to succeed, SHORT, or an errno to fail with. */
static int counted(int kind, const char *name)
{
    if (!ready)
        fault_settings();
    if (!(kind & kinds) || !armed)
        return 0;
    long number = __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
    if (log_path != NULL && kind != MEMORY) {
        char line[64];
        int file = REAL(open_type, "open")(log_path, O_WRONLY | O_APPEND | O_CREAT, 0666);
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

static int fails(int kind, const char *name)
{
    int error = counted(kind, name);
    if (error > 0)
        errno = error;
    return error > 0;
}

static int is_regular(int file)
{
    struct stat status;
    return file > 2 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- files ---- */

ssize_t write(int file, const void *bytes, size_t size)
{
    if (is_regular(file)) {
        int error = counted(FILES, "write");
        if (error == SHORT)
            size = size / 2 + 1;
        else if (error != 0) {
            errno = error;
            return -1;
        }
    }
    return REAL(write_type, "write")(file, bytes, size);
}

ssize_t read(int file, void *bytes, size_t size)
{
    if (file >= 0 && file < (int)sizeof own_files && own_files[file] && is_regular(file) && fails(READS, "read"))
        return -1;
    return REAL(ssize_t (*)(int, void *, size_t), "read")(file, bytes, size);
}

int fsync(int file) { return fails(FILES, "fsync") ? -1 : REAL(int (*)(int), "fsync")(file); }

int rename(const char *from, const char *to)
{
    return fails(FILES, "rename") ? -1 : REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int chmod(const char *path, mode_t mode)
{
    return fails(FILES, "chmod") ? -1 : REAL(int (*)(const char *, mode_t), "chmod")(path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(FILES, "mkdir") ? -1 : REAL(int (*)(const char *, mode_t), "mkdir")(path, mode);
}

int unlink(const char *path) { return fails(FILES, "unlink") ? -1 : REAL(int (*)(const char *), "unlink")(path); }

int ftruncate(int file, off_t size)
{
    return fails(FILES, "truncate") ? -1 : REAL(int (*)(int, off_t), "ftruncate")(file, size);
}

int ftruncate64(int file, off64_t size)
{
    return fails(FILES, "truncate") ? -1 : REAL(int (*)(int, off64_t), "ftruncate64")(file, size);
}

static int opened(const char *name, const char *path, int flags, int mode)
{
    if (!ready)
        fault_settings();
    if (after != NULL && strcmp(path, after) == 0)
        armed = 1;
    int writes = (flags & (O_WRONLY | O_RDWR)) != 0, own = !writes && path[0] != '/';
    if (strncmp(path, "/dev/", 5) != 0 && (writes || own) && fails(writes ? FILES : READS, "open"))
        return -1;
    int file = REAL(open_type, name)(path, flags, mode);
    if (file >= 0 && file < (int)sizeof own_files)
        own_files[file] = (char)own;
    return file;
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

/* ---- memory ---- */

static void put(const char *text) { (void)!syscall(SYS_write, blame_file, text, strlen(text)); }

static void put_callers(void)
{
    void *frames[32];
    int depth = backtrace(frames, 32);
    for (int i = 0; i < depth; i++) {
        Dl_info found;
        if (dladdr(frames[i], &found) != 0 && found.dli_fname != NULL) {
            put(found.dli_fname);
            put("\n");
        }
    }
}

static void crashed(int number) /* the handler is reset before it runs, so the repeated instruction ends the process */
{
    (void)number;
    put("crash\n");
    put_callers();
}

static void blame(void)
{
    const char *path = blame_path;
    if (path == NULL)
        return;
    blame_path = NULL; /* the code below may allocate, too */
    blame_file = REAL(open_type, "open")(path, O_WRONLY | O_TRUNC | O_CREAT, 0666);
    put_callers();
    struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGSEGV, &action, NULL);
}

static int no_memory(size_t size, const char *name)
{
    if (!ready)
        fault_settings();
    if ((long)size < least_bytes || !fails(MEMORY, name))
        return 0;
    blame();
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return no_memory(size, "malloc") ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return no_memory(n * size, "calloc") ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return no_memory(size, "realloc") ? NULL : __libc_realloc(old, size); }
void *memalign(size_t unit, size_t size) { return no_memory(size, "memalign") ? NULL : __libc_memalign(unit, size); }
void *aligned_alloc(size_t unit, size_t size) { return memalign(unit, size); }

int posix_memalign(void **block, size_t unit, size_t size)
{
    void *found = memalign(unit, size);
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if ((flags & MAP_ANONYMOUS) && no_memory(size, "mmap"))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    typedef int (*type)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails(MEMORY, "thread"))
        return EAGAIN;
    return REAL(type, "pthread_create")(thread, attributes, start, argument);
}
