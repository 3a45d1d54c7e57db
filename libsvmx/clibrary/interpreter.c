/* Finds the Python interpreter of the process, or starts one, and imports the bridge.
 *
 * libpython is not linked, but loaded on demand: programs that only predict never load it, a process with an
 * interpreter keeps its own, and libpython's symbols are global, as extension modules need, even if the program loads
 * this library with RTLD_LOCAL.
 *
 * A started interpreter is isolated: it leaves signal handlers and locale alone, and ignores Python's environment
 * variables. It is never finalised: other threads may use it, and NumPy cannot be loaded twice.
 */
#include <Python.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

#define PYTHON_FUNCTIONS(FUNCTION)                                                                                        \
    FUNCTION(PyConfig_Clear)                                                                                              \
    FUNCTION(PyConfig_InitIsolatedConfig)                                                                                 \
    FUNCTION(PyConfig_SetBytesString)                                                                                     \
    FUNCTION(PyErr_Print)                                                                                                 \
    FUNCTION(PyEval_SaveThread)                                                                                           \
    FUNCTION(PyGILState_Ensure)                                                                                           \
    FUNCTION(PyGILState_Release)                                                                                          \
    FUNCTION(PyImport_ImportModule)                                                                                       \
    FUNCTION(PyList_Append)                                                                                               \
    FUNCTION(PyLong_AsVoidPtr)                                                                                            \
    FUNCTION(PyObject_GetAttrString)                                                                                      \
    FUNCTION(PyPreConfig_InitIsolatedConfig)                                                                              \
    FUNCTION(PySequence_Contains)                                                                                         \
    FUNCTION(PyStatus_Exception)                                                                                          \
    FUNCTION(PySys_GetObject)                                                                                             \
    FUNCTION(PyUnicode_DecodeFSDefault)                                                                                   \
    FUNCTION(Py_DecRef)                                                                                                   \
    FUNCTION(Py_GetVersion)                                                                                               \
    FUNCTION(Py_InitializeFromConfig)                                                                                     \
    FUNCTION(Py_IsInitialized)                                                                                            \
    FUNCTION(Py_PreInitialize)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    PYTHON_FUNCTIONS(MEMBER)
} python;

static int failed(char *message, const char *what, const char *detail)
{
    snprintf(message, SVMX_MESSAGE, "%s%s", what, detail);
    return -1;
}

/* Loads libpython unless the process has it: from the folder at build time, else by name. */
static int load_libpython(char *message)
{
    void *library = RTLD_DEFAULT;
    if (dlsym(library, "Py_IsInitialized") == NULL) {
        library = dlopen(SVMX_LIBPYTHON_FOLDER "/" SVMX_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
        if (library == NULL)
            library = dlopen(SVMX_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
        if (library == NULL)
            return failed(message, "Python cannot be loaded: ", dlerror());
    }
#define LOAD(name)                                                                                                        \
    if ((python.name = (__typeof__(&name))dlsym(library, #name)) == NULL)                                                 \
        return failed(message, "Python has no function " #name, "");
    PYTHON_FUNCTIONS(LOAD)
    return 0;
}

/* Removes the last ``n`` parts of ``path``, in place; empty if it has fewer. */
static char *without_last(char *path, int n)
{
    while (n-- > 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            slash = path;
        *slash = '\0';
    }
    return path;
}

/* The folder that contains libsvmx, (PATH_MAX,), OUT: this library is in its libsvmx/clibrary. */
static char *site_folder(char *path)
{
    Dl_info info;
    if (dladdr((void *)svmx_find_bridge, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, path) == NULL)
        *path = '\0';
    return without_last(path, 3);
}

/* Path of Python, (PATH_MAX + 64,), OUT: in bin/ beside this lib/pythonX.Y/site-packages, else the build's. */
static char *executable(char *path)
{
    without_last(site_folder(path), 3);
    strcat(path, "/bin/python" SVMX_PYTHON_VERSION);
    return access(path, X_OK) == 0 ? path : strcpy(path, SVMX_PYTHON);
}

static int start_interpreter(char *message)
{
    char path[PATH_MAX + 64];
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    python.PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1; /* whatever the locale of the program */
    status = python.Py_PreInitialize(&before);
    if (python.PyStatus_Exception(status))
        return failed(message, "Python cannot be started: ", status.err_msg ? status.err_msg : "");
    python.PyConfig_InitIsolatedConfig(&config);
    config.site_import = 1;
    status = python.PyConfig_SetBytesString(&config, &config.executable, executable(path));
    if (!python.PyStatus_Exception(status))
        status = python.PyConfig_SetBytesString(&config, &config.program_name, path);
    if (!python.PyStatus_Exception(status))
        status = python.Py_InitializeFromConfig(&config);
    python.PyConfig_Clear(&config);
    if (python.PyStatus_Exception(status))
        return failed(message, "Python cannot be started: ", status.err_msg ? status.err_msg : "");
    python.PyEval_SaveThread(); /* release the lock */
    return 0;
}

/* Loads and starts Python if needed; fails if its version is not that libsvmx was compiled for. */
static int have_interpreter(char *message)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int loaded;
    int status = 0;
    pthread_mutex_lock(&lock); /* no deadlock: Python's lock is not taken inside */
    if (!loaded) {
        status = load_libpython(message);
        loaded = status == 0;
    }
    if (status == 0 && strncmp(python.Py_GetVersion(), SVMX_PYTHON_VERSION ".", strlen(SVMX_PYTHON_VERSION ".")) != 0)
        status = failed(message, "libsvmx is compiled for Python " SVMX_PYTHON_VERSION ", and this process runs ",
                        python.Py_GetVersion());
    if (status == 0 && !python.Py_IsInitialized())
        status = start_interpreter(message);
    pthread_mutex_unlock(&lock);
    return status;
}

/* Appends the folder that contains libsvmx to sys.path. Errors are left to the import that follows. */
static void add_site_folder(void)
{
    char folder[PATH_MAX];
    PyObject *name = python.PyUnicode_DecodeFSDefault(site_folder(folder)), *path = python.PySys_GetObject("path");
    if (name != NULL && path != NULL && python.PySequence_Contains(path, name) == 0)
        python.PyList_Append(path, name);
    if (name != NULL)
        python.Py_DecRef(name);
}

const svmx_bridge *svmx_find_bridge(char *message)
{
    static _Atomic(const svmx_bridge *) found;
    const svmx_bridge *bridge = atomic_load(&found);
    PyGILState_STATE state;
    PyObject *module, *address = NULL;
    if (bridge != NULL)
        return bridge;
    if (have_interpreter(message) != 0)
        return NULL;
    state = python.PyGILState_Ensure();
    add_site_folder();
    module = python.PyImport_ImportModule("libsvmx.clibrary.bridge");
    if (module != NULL) {
        address = python.PyObject_GetAttrString(module, "ADDRESS");
        python.Py_DecRef(module);
    }
    if (address != NULL) {
        bridge = python.PyLong_AsVoidPtr(address);
        python.Py_DecRef(address);
    }
    if (bridge == NULL) {
        python.PyErr_Print();
        failed(message, "libsvmx cannot be imported; the cause is above", "");
    }
    python.PyGILState_Release(state);
    atomic_store(&found, bridge);
    return bridge;
}
