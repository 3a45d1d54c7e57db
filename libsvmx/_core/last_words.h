/* A message on standard error before a signal ends the process. */
#pragma once

#include <signal.h>
#include <string.h>

#ifdef _WIN32
#include <io.h>
#define svmx_write(text, length) _write(2, text, (unsigned)(length))
#else
#include <unistd.h>
#define svmx_write(text, length) write(2, text, length)
#endif

enum { SVMX_SIGNALS = 16, SVMX_WORDS = 1024 }; /* signals sent to end a process have smaller numbers */
static char svmx_words[SVMX_SIGNALS][SVMX_WORDS];
static volatile sig_atomic_t svmx_words_length[SVMX_SIGNALS];

static void svmx_say_and_die(int signum)
{
    /* async-signal-safe calls only */
    signal(signum, SIG_DFL);
    if (svmx_write(svmx_words[signum], (size_t)svmx_words_length[signum]) < 0)
        svmx_words_length[signum] = 0;
    raise(signum); /* if blocked, delivered when this returns */
}

/* 0, or -1 if the system refuses the handler. A long text is truncated. */
static int svmx_set_last_words(int signum, const char *text, size_t length)
{
    if (signum < 0 || signum >= SVMX_SIGNALS)
        return -1;
    svmx_words_length[signum] = 0;
    if (length > SVMX_WORDS)
        length = SVMX_WORDS;
    memcpy(svmx_words[signum], text, length);
    svmx_words_length[signum] = (sig_atomic_t)length;
    return signal(signum, svmx_say_and_die) == SIG_ERR ? -1 : 0;
}
