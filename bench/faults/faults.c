/* Fails one file operation below a folder, chosen by its number.
 *
 * FAULT_ROOT   the folder; only operations whose path contains one of `/.proctor`, `/.claude/journal`, `/tape` below it count
 * FAULT_LOG    gets a line for each operation that counts: number, operation, path
 * FAULT_AT     the number of the operation that fails; 0 or absent: none
 * FAULT_ERRNO  the error it fails with; 0: a write is done in part
 *
 * Children of the program do not load this library: the constructor takes it out of the environment. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *root;
static int log_fd = -1;
static long fail_at;
static int fail_errno;
static atomic_long counter;

__attribute__((constructor)) static void begin(void) {
    root = getenv("FAULT_ROOT");
    const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERRNO");
    if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    fail_at = at ? atol(at) : 0;
    fail_errno = error ? atoi(error) : EIO;
    unsetenv("LD_PRELOAD");
}

/* Whether this operation is the one that fails. */
static int counts(const char *operation, const char *path) {
    if (!root || strncmp(path, root, strlen(root)) != 0) return 0;
    if (!strstr(path, "/.proctor") && !strstr(path, "/.claude/journal") && !strstr(path, "/tape")) return 0;
    long number = atomic_fetch_add(&counter, 1) + 1;
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, operation, path);
    if (log_fd >= 0 && length > 0) syscall(SYS_write, log_fd, line, (size_t)length);
    return number == fail_at;
}

static const char *absolute(int folder, const char *path, char *buffer) {
    if (path[0] == '/') return path;
    char link[64];
    ssize_t length;
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    length = readlink(link, buffer, PATH_MAX - 1);
    if (length < 0) return path;
    snprintf(buffer + length, PATH_MAX - (size_t)length, "/%s", path);
    return buffer;
}

static int by_path(const char *operation, int folder, const char *path) {
    char buffer[2 * PATH_MAX];
    return counts(operation, absolute(folder, path, buffer));
}

static int by_fd(const char *operation, int fd) {
    char link[64], buffer[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, sizeof buffer - 1);
    if (length <= 0) return 0;
    buffer[length] = 0;
    return counts(operation, buffer);
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL do { errno = fail_errno ? fail_errno : EIO; return -1; } while (0)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (by_path(flags & (O_WRONLY | O_RDWR | O_CREAT) ? "create" : "open", AT_FDCWD, path)) FAIL; \
        return next(path, flags, mode); \
    }
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        NEXT(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if (by_path(flags & (O_WRONLY | O_RDWR | O_CREAT) ? "create" : "open", folder, path)) FAIL; \
        return next(folder, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *bytes, size_t size) {
    NEXT(write);
    if (by_fd("write", fd)) {
        if (fail_errno || size < 2) FAIL;
        return next(fd, bytes, size / 2);
    }
    return next(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    NEXT(writev);
    if (by_fd("write", fd)) {
        if (fail_errno) FAIL;
        return next(fd, parts, 1);
    }
    return next(fd, parts, count);
}

#define PWRITE(name, offset_type) \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type at) { \
        NEXT(name); \
        if (by_fd("write", fd)) { \
            if (fail_errno || size < 2) FAIL; \
            return next(fd, bytes, size / 2, at); \
        } \
        return next(fd, bytes, size, at); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

int fsync(int fd) { NEXT(fsync); if (by_fd("sync", fd)) FAIL; return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); if (by_fd("sync", fd)) FAIL; return next(fd); }
int ftruncate(int fd, off_t size) { NEXT(ftruncate); if (by_fd("truncate", fd)) FAIL; return next(fd, size); }
int ftruncate64(int fd, off64_t size) { NEXT(ftruncate64); if (by_fd("truncate", fd)) FAIL; return next(fd, size); }
int mkdir(const char *path, mode_t mode) { NEXT(mkdir); if (by_path("mkdir", AT_FDCWD, path)) FAIL; return next(path, mode); }
int unlink(const char *path) { NEXT(unlink); if (by_path("unlink", AT_FDCWD, path)) FAIL; return next(path); }
int unlinkat(int folder, const char *path, int flags) { NEXT(unlinkat); if (by_path("unlink", folder, path)) FAIL; return next(folder, path, flags); }
int rename(const char *from, const char *to) { NEXT(rename); if (by_path("rename", AT_FDCWD, to)) FAIL; return next(from, to); }
int renameat(int a, const char *from, int b, const char *to) { NEXT(renameat); if (by_path("rename", b, to)) FAIL; return next(a, from, b, to); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { NEXT(renameat2); if (by_path("rename", b, to)) FAIL; return next(a, from, b, to, flags); }
int link(const char *from, const char *to) { NEXT(link); if (by_path("link", AT_FDCWD, to)) FAIL; return next(from, to); }
