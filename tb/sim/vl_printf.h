/*
 * vl_printf.h - force-included when Verilator's runtime library is compiled (scripts/rtl.mk): everything the runtime
 * prints goes through the shim, which keeps the first error message of the model. So does what it allocates and writes:
 * neither the runtime nor the FST writer looks whether that worked.
 */
#ifndef TB_SIM_VL_PRINTF_H
#define TB_SIM_VL_PRINTF_H

#include <cstdio> /* before the macros: these headers undefine them */
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

extern "C" int tb_vl_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define VL_PRINTF tb_vl_printf

extern "C" {
void *tb_vl_malloc(size_t size);
void *tb_vl_calloc(size_t count, size_t size);
void *tb_vl_realloc(void *old, size_t size);
char *tb_vl_strdup(const char *text);
size_t tb_vl_fwrite(const void *data, size_t size, size_t count, FILE *file);
int tb_vl_fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *tb_vl_fgets(char *to, int size, FILE *file);
size_t tb_vl_fread(void *data, size_t size, size_t count, FILE *file);
int tb_vl_fseeko(FILE *file, off_t offset, int whence);
int tb_vl_fputc(int c, FILE *file);
int tb_vl_ftruncate(int fd, off_t length);
void *tb_vl_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int tb_vl_fflush(FILE *file);
int tb_vl_fclose(FILE *file);
}

#ifndef TB_SIM_SHIM
namespace std {
using ::tb_vl_calloc, ::tb_vl_fclose, ::tb_vl_fflush, ::tb_vl_fgets, ::tb_vl_fprintf, ::tb_vl_fputc, ::tb_vl_fread,
    ::tb_vl_fwrite, ::tb_vl_malloc, ::tb_vl_realloc;
}
#define malloc tb_vl_malloc
#define calloc tb_vl_calloc
#define realloc tb_vl_realloc
#define strdup tb_vl_strdup
#define fwrite tb_vl_fwrite
#define fprintf tb_vl_fprintf
#define fgets tb_vl_fgets
#define fread tb_vl_fread
#define fseeko tb_vl_fseeko
#define fputc tb_vl_fputc
#define ftruncate tb_vl_ftruncate
#define mmap tb_vl_mmap
#define gzwrite tb_vl_gzwrite
#define gzclose tb_vl_gzclose
#define fflush tb_vl_fflush
#define fclose tb_vl_fclose
#endif

#endif
