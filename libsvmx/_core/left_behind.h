/* Abandoned threads in BLAS or LAPACK. The exit of a process unloads its libraries, which crashes or waits for threads in
   them; so a process with such threads ends before that. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <unistd.h>
enum { SVMX_ENDS_BEFORE = 1 }; /* other systems do not tell exit handlers the status */
static int svmx_behind;        /* number of them in process svmx_behind_of; guarded by the interpreter */
static pid_t svmx_behind_of;

static void svmx_end_before(int status, void *unused)
{
    (void)unused;
    if (svmx_behind && svmx_behind_of == getpid()) {
        fflush(NULL);
        _exit(status);
    }
}

static void svmx_go_behind(void)
{
    if (svmx_behind_of != getpid()) { /* the first one, or in a child process, without its parent's threads */
        if (svmx_behind_of == 0)
            on_exit(svmx_end_before, NULL);
        svmx_behind_of = getpid();
        svmx_behind = 0;
    }
    svmx_behind++;
}
#else
enum { SVMX_ENDS_BEFORE = 0 };
static int svmx_behind;
static void svmx_go_behind(void) { svmx_behind++; }
#endif

static void svmx_come_back(void)
{
    svmx_behind--;
}

static int svmx_count_behind(void)
{
    return svmx_behind;
}
