/*
 * faults.c - makes system calls and allocations fail on demand.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "test.h"

#define OFF (-1L)

void (*faults_at_openat)(const char *name);

static enum fault kind;
static long left = OFF; /* calls until the one that fails */
static bool stays, struck, must_strike;

static bool strikes(enum fault fault)
{
	if (left == OFF || fault != kind)
		return false;
	if (left > 0) {
		left--;
		return false;
	}
	struck = true;
	if (!stays)
		left = OFF;
	errno = fault == FAULT_MEMORY ? ENOMEM : EIO;
	return true;
}

void faults_begin(enum fault fault, long at, bool stay)
{
	kind = fault;
	left = at;
	stays = stay;
	struck = false;
	must_strike = at == 0;
}

bool faults_end(void)
{
	left = OFF;
	if (must_strike && !struck)
		fail_msg("no call was made to fail: this build calls functions that faults.c does "
		         "not know");
	return struck;
}

/* --- SQLite's memory --- */

static sqlite3_mem_methods real;

static void *sqlite_malloc(int size)
{
	return strikes(FAULT_MEMORY) ? NULL : real.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
	return strikes(FAULT_MEMORY) ? NULL : real.xRealloc(old, size);
}

void faults_install(void)
{
	sqlite3_mem_methods failing;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
	failing = real;
	failing.xMalloc = sqlite_malloc;
	failing.xRealloc = sqlite_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
	sqlite3_initialize();
}

/* --- the project's calls: the linker turns calls of f() into calls of __wrap_f() --- */

/* The GNU C library's names for the functions with 64-bit offsets. */
#if defined(__GLIBC__) && __SIZEOF_POINTER__ == 4
#define __real_fcntl     __real___fcntl_time64
#define __real_fstat     __real___fstat64_time64
#define __real_fstatat   __real___fstatat64_time64
#define __real_ftruncate __real_ftruncate64
#define __real_futimens  __real___futimens64
#define __real_lseek     __real_lseek64
#define __real_open      __real_open64
#define __real_openat    __real_openat64
#define __real_pread     __real_pread64
#define __real_pwrite    __real_pwrite64
#endif

#define WRAP(fault, failure, type, name, parameters, arguments)                                    \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return strikes(fault) ? failure : __real_##name arguments;                         \
	}

#define MEMORY(type, name, parameters, arguments)                                                  \
	WRAP(FAULT_MEMORY, NULL, type, name, parameters, arguments)
#define SYSTEM(type, name, parameters, arguments)                                                  \
	WRAP(FAULT_SYSTEM, -1, type, name, parameters, arguments)

MEMORY(void *, malloc, (size_t size), (size))
MEMORY(void *, calloc, (size_t count, size_t size), (count, size))
MEMORY(void *, realloc, (void *old, size_t size), (old, size))
MEMORY(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size))
MEMORY(char *, strdup, (const char *text), (text))
MEMORY(char *, strndup, (const char *text, size_t length), (text, length))
MEMORY(FILE *, open_memstream, (char **text, size_t *size), (text, size))

WRAP(FAULT_MEMORY, -1, int, vasprintf, (char **out, const char *format, va_list arguments),
     (out, format, arguments))

int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __wrap_vasprintf(out, format, arguments);
	va_end(arguments);
	return length;
}

SYSTEM(int, fstat, (int fd, struct stat *status), (fd, status))
SYSTEM(int, fsync, (int fd), (fd))
SYSTEM(int, fchmod, (int fd, mode_t mode), (fd, mode))
SYSTEM(int, flock, (int fd, int operation), (fd, operation))
SYSTEM(int, fstatat, (int at, const char *path, struct stat *status, int flags),
       (at, path, status, flags))
SYSTEM(int, renameat, (int from_at, const char *from, int to_at, const char *to),
       (from_at, from, to_at, to))
SYSTEM(int, linkat, (int from_at, const char *from, int to_at, const char *to, int flags),
       (from_at, from, to_at, to, flags))
SYSTEM(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
SYSTEM(int, futimens, (int fd, const struct timespec *times), (fd, times))
SYSTEM(ssize_t, readlinkat, (int at, const char *path, char *target, size_t size),
       (at, path, target, size))
SYSTEM(ssize_t, pread, (int fd, void *bytes, size_t length, off_t at), (fd, bytes, length, at))
SYSTEM(ssize_t, pwrite, (int fd, const void *bytes, size_t length, off_t at),
       (fd, bytes, length, at))
SYSTEM(int, ftruncate, (int fd, off_t length), (fd, length))
SYSTEM(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
SYSTEM(ssize_t, read, (int fd, void *bytes, size_t length), (fd, bytes, length))
SYSTEM(ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length))
SYSTEM(ssize_t, copy_file_range,
       (int from, off_t *at, int to, off_t *to_at, size_t length, unsigned flags),
       (from, at, to, to_at, length, flags))
SYSTEM(ssize_t, getdents64, (int fd, void *bytes, size_t length), (fd, bytes, length))

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	return strikes(FAULT_SYSTEM) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int at, const char *path, int flags, mode_t mode);
int __wrap_openat(int at, const char *path, int flags, mode_t mode);
int __wrap_openat(int at, const char *path, int flags, mode_t mode)
{
	if (faults_at_openat)
		faults_at_openat(path);
	return strikes(FAULT_SYSTEM) ? -1 : __real_openat(at, path, flags, mode);
}

/* openat2(), which the C library lacks; a pointer is passed like a number. */
long __real_syscall(long number, long at, const char *path, void *how, size_t size);
long __wrap_syscall(long number, long at, const char *path, void *how, size_t size);
long __wrap_syscall(long number, long at, const char *path, void *how, size_t size)
{
	if (faults_at_openat)
		faults_at_openat(path);
	return strikes(FAULT_SYSTEM) ? -1 : __real_syscall(number, at, path, how, size);
}

/* Here, a number is passed like a pointer. */
int __real_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument)
{
	return strikes(FAULT_SYSTEM) ? -1 : __real_fcntl(fd, command, argument);
}

/*
 * --- other names of these functions in the C library's headers: 64-bit and checked variants ---
 *
 * The "_2" and "_chk" variants have additional arguments, at the end except for printf's.
 */

#define ALSO(other, name)                                                                          \
	__typeof__(__wrap_##name) __wrap_##other __attribute__((alias("__wrap_" #name)));

ALSO(open64, open)
ALSO(__open_2, open)
ALSO(__open64_2, open)
ALSO(openat64, openat)
ALSO(__openat_2, openat)
ALSO(__openat64_2, openat)
ALSO(__read_chk, read)
ALSO(pread64, pread)
ALSO(__pread_chk, pread)
ALSO(__pread64_chk, pread)
ALSO(pwrite64, pwrite)
ALSO(__readlinkat_chk, readlinkat)
ALSO(lseek64, lseek)
ALSO(ftruncate64, ftruncate)
ALSO(fcntl64, fcntl)
ALSO(__fcntl_time64, fcntl)
ALSO(fstat64, fstat)
ALSO(__fstat64_time64, fstat)
ALSO(fstatat64, fstatat)
ALSO(__fstatat64_time64, fstatat)
ALSO(__futimens64, futimens)

int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments)
        __attribute__((format(printf, 3, 0)));
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments)
{
	return __wrap_vasprintf(out, format, arguments);
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __wrap___vasprintf_chk(out, flag, format, arguments);
	va_end(arguments);
	return length;
}
