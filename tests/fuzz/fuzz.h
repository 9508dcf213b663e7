/*
 * fuzz.h - one function for each reader of files: whatever the bytes are, it returns. `make fuzz T=name` feeds them
 * what libFuzzer invents, tests/test_fuzz.c what stands in corpus/name. What a reader accepts must survive being
 * written and read again.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

void fuzz_param(const uint8_t *data, size_t size);   /* ncnn's .param */
void fuzz_bin(const uint8_t *data, size_t size);     /* .param text, a zero byte, .bin bytes */
void fuzz_net(const uint8_t *data, size_t size);     /* .param of a small network, executed with random weights */
void fuzz_runtime(const uint8_t *data, size_t size); /* the same on the golden model */
void fuzz_pow2(const uint8_t *data, size_t size);    /* records of power-of-two weights */
void fuzz_table(const uint8_t *data, size_t size);   /* calibration table */
void fuzz_npy(const uint8_t *data, size_t size);     /* NumPy array of 2x3x2 floats */
void fuzz_case(const uint8_t *data, size_t size);    /* case file */
/* shape and counters of a coverage file, and the whole as a file */
void fuzz_cov(const uint8_t *data, size_t size);
/* file of code coverage, and its points and counters by themselves */
void fuzz_code(const uint8_t *data, size_t size);
void fuzz_vcd(const uint8_t *data, size_t size); /* VCD */
/* FST, read as axi-check reads it: in a child that may die with the library */
void fuzz_fst(const uint8_t *data, size_t size);

/* Print the line and abort: a property does not hold. */
_Noreturn void fuzz_fail(const char *what, const char *detail);
/* Not NULL: a byte that fuzz_fail() sets, for a parent that shall not take it for a crash. */
extern volatile uint8_t *fuzz_told;
/* A line for people: printable, not empty, no newline. */
void fuzz_check_line(const char *text);
/* The bytes as a file, for readers that take a path. The path is valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
