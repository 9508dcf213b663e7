/* file.c - files that are written atomically. */
#include "report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int rep_file_open(rep_file *f, const char *path) {
    struct stat info;
    const int error = stat(path, &info) == 0 ? 0 : errno;
    const bool direct = error == 0 && !S_ISREG(info.st_mode);
    f->file = NULL;
    f->temporary[0] = '\0';
    if (error != 0 && error != ENOENT) {
        return rep_host_write(error);
    }
    if ((size_t)snprintf(f->path, sizeof f->path, "%s", path) >= sizeof f->path) {
        return ENAMETOOLONG;
    }
    if (!direct &&
        (size_t)snprintf(f->temporary, sizeof f->temporary, "%s.tmp%ld", path, (long)getpid()) >= sizeof f->temporary) {
        f->temporary[0] = '\0';
        return ENAMETOOLONG;
    }
    f->file = fopen(direct ? f->path : f->temporary, "we");
    if (f->file == NULL) {
        f->temporary[0] = '\0';
        return rep_host_write(errno);
    }
    return 0;
}

int rep_file_close(rep_file *f, bool sync) {
    errno = 0;
    const bool renamed = f->temporary[0] != '\0';
    bool good = fflush(f->file) == 0 && ferror(f->file) == 0 && (!sync || !renamed || fsync(fileno(f->file)) == 0);
    int reason = errno;
    if (fclose(f->file) != 0 && good) {
        good = false;
        reason = errno;
    }
    f->file = NULL;
    if (good && renamed && rename(f->temporary, f->path) != 0) {
        good = false;
        reason = errno;
    }
    if (good) {
        f->temporary[0] = '\0';
        return 0;
    }
    rep_file_drop(f);
    return rep_host_write(reason != 0 ? reason : EIO);
}

void rep_file_drop(rep_file *f) {
    if (f->file != NULL) {
        (void)fclose(f->file);
        f->file = NULL;
    }
    if (f->temporary[0] != '\0') {
        (void)unlink(f->temporary);
        f->temporary[0] = '\0';
    }
}

int rep_save(const char *path, const void *data, size_t size) {
    rep_file f;
    const int error = rep_file_open(&f, path);
    if (error != 0) {
        return error;
    }
    errno = 0;
    if (fwrite(data, 1, size, f.file) != size) {
        const int reason = errno != 0 ? errno : EIO;
        rep_file_drop(&f);
        return rep_host_write(reason);
    }
    return rep_file_close(&f, false);
}

int rep_write(const char *path, void (*write)(FILE *out, const void *ctx), const void *ctx) {
    rep_file f;
    if (strcmp(path, "-") == 0) {
        write(stdout, ctx);
        return 0;
    }
    const int error = rep_file_open(&f, path);
    if (error != 0) {
        return error;
    }
    write(f.file, ctx);
    return rep_file_close(&f, false);
}
