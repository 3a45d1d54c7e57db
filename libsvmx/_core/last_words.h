/* What a process says on standard error before a signal ends it. */
#ifndef SVMX_LAST_WORDS_H
#define SVMX_LAST_WORDS_H

#include <signal.h>
#include <string.h>

#ifdef _WIN32
#include <io.h>
#define svmx_write(text, length) _write(2, text, (unsigned)(length))
#else
#include <unistd.h>
#define svmx_write(text, length) write(2, text, length)
#endif

static char svmx_words[1024];
static volatile sig_atomic_t svmx_words_length;

static void svmx_say_and_die(int signum)
{
    /* nothing but what may be called while anything else is being done */
    signal(signum, SIG_DFL);
    if (svmx_write(svmx_words, (size_t)svmx_words_length) < 0)
        svmx_words_length = 0;
    raise(signum); /* where it is blocked until this returns, it comes then */
}

/* 0, or -1 if the system does not take the handler. A text that is too long is cut. */
static int svmx_set_last_words(int signum, const char *text, size_t length)
{
    svmx_words_length = 0;
    if (length > sizeof svmx_words)
        length = sizeof svmx_words;
    memcpy(svmx_words, text, length);
    svmx_words_length = (sig_atomic_t)length;
    return signal(signum, svmx_say_and_die) == SIG_ERR ? -1 : 0;
}

#endif
