/* A program that loads the library privately, like a plugin, and continues in a child process.
 *
 *     host LIBRARY MODEL
 */
#include <dlfcn.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svm.h"

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    struct svm_model *(*load)(const char *);
    struct svm_model *model;
    struct sigaction at_interrupt, at_pipe;
    int status = -1;
    if (library == NULL)
        return 2;
    load = (struct svm_model * (*)(const char *)) dlsym(library, "svm_load_model");
    model = load(argv[2]);
    printf("parent %d\n", model == NULL ? -1 : model->l);
    sigaction(SIGINT, NULL, &at_interrupt);
    sigaction(SIGPIPE, NULL, &at_pipe);
    printf("handlers and locale as before %d\n", at_interrupt.sa_handler == SIG_DFL && at_pipe.sa_handler == SIG_DFL &&
                                                     strcmp(setlocale(LC_ALL, NULL), "C") == 0);
    fflush(stdout);
    if (fork() == 0) {
        model = load(argv[2]);
        printf("child %d\n", model == NULL ? -1 : model->l);
        exit(0);
    }
    wait(&status);
    return status == 0 ? 0 : 1;
}
