/* Threads, locks and conditions of Windows or POSIX; no other header uses the system's.
 *
 * Who calls: thread_pool.h and pieces.h. Where SVMX_HAS_THREADS is 0, as built without threads, there are only locks, that do
 * nothing.
 */
#pragma once

#if defined(SVMX_THREADS)
#define SVMX_HAS_THREADS 1
#include <stdatomic.h>
#else
#define SVMX_HAS_THREADS 0
#endif

#if SVMX_HAS_THREADS && defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <process.h>

typedef SRWLOCK svmx_lock;
typedef CONDITION_VARIABLE svmx_condition;
typedef HANDLE svmx_thread;
/* Return type of the function of a thread; it returns 0. */
#define SVMX_THREAD_FUNCTION unsigned __stdcall

/* Those that can fail return whether they succeeded. */
#define svmx_lock_begin(lock) (InitializeSRWLock(lock), 1)
#define svmx_lock_end(lock) ((void)(lock))
#define svmx_take_lock(lock) AcquireSRWLockExclusive(lock)
#define svmx_give_lock(lock) ReleaseSRWLockExclusive(lock)
#define svmx_condition_begin(condition) (InitializeConditionVariable(condition), 1)
#define svmx_condition_end(condition) ((void)(condition))
#define svmx_wait(condition, lock) ((void)SleepConditionVariableSRW(condition, lock, INFINITE, 0))
#define svmx_wake_all(condition) WakeAllConditionVariable(condition)
#define svmx_thread_begin(thread, function, argument) \
    ((*(thread) = (HANDLE)_beginthreadex(NULL, 0, function, argument, 0, NULL)) != NULL)
#define svmx_thread_end(thread) ((void)WaitForSingleObject(thread, INFINITE), (void)CloseHandle(thread))
/* Yield the processor. */
#define svmx_give_way() ((void)SwitchToThread())
#define svmx_sleep_microseconds(n) Sleep((DWORD)((n) / 1000))
/* Between two reads of a spinning thread. */
#define svmx_pause() YieldProcessor()

#elif SVMX_HAS_THREADS
#include <pthread.h>
#include <sched.h>
#include <time.h>

typedef pthread_mutex_t svmx_lock;
typedef pthread_cond_t svmx_condition;
typedef pthread_t svmx_thread;
#define SVMX_THREAD_FUNCTION void *

#define svmx_lock_begin(lock) (pthread_mutex_init(lock, NULL) == 0)
#define svmx_lock_end(lock) ((void)pthread_mutex_destroy(lock))
#define svmx_take_lock(lock) ((void)pthread_mutex_lock(lock))
#define svmx_give_lock(lock) ((void)pthread_mutex_unlock(lock))
#define svmx_condition_begin(condition) (pthread_cond_init(condition, NULL) == 0)
#define svmx_condition_end(condition) ((void)pthread_cond_destroy(condition))
#define svmx_wait(condition, lock) ((void)pthread_cond_wait(condition, lock))
#define svmx_wake_all(condition) ((void)pthread_cond_broadcast(condition))
#define svmx_thread_begin(thread, function, argument) (pthread_create(thread, NULL, function, argument) == 0)
#define svmx_thread_end(thread) ((void)pthread_join(thread, NULL))
#define svmx_give_way() ((void)sched_yield())
#define svmx_sleep_microseconds(n) ((void)nanosleep(&(struct timespec){0, (long)(n) * 1000L}, NULL))
#if defined(__x86_64__) || defined(__i386__)
#define svmx_pause() __builtin_ia32_pause()
#else
#define svmx_pause() ((void)0)
#endif

#else
typedef int svmx_lock;
#define svmx_lock_begin(lock) (*(lock) = 1)
#define svmx_lock_end(lock) ((void)(lock))
#define svmx_take_lock(lock) ((void)(lock))
#define svmx_give_lock(lock) ((void)(lock))
#endif
