/*
 * data_types.h - what names of tensors' element types mean: bytes, kind of number, precision of arithmetic.
 *
 * Device traces write C++ names ("c10::BFloat16", "long int"), host traces wrap them ("Tensor(c10::BFloat16)"); case
 * does not count. TraceLens knows fewer of them, and takes a scalar for four bytes.
 */
#ifndef FACTS_DATA_TYPES_H
#define FACTS_DATA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the one that gives way to all others, when types meet in an operator. */
enum element_kind { ELEMENT_BOOL, ELEMENT_INTEGER, ELEMENT_FLOAT, ELEMENT_COMPLEX };

/* What the device's peaks are told for. */
#define PRECISIONS(X)                                                                                                  \
    X(FP64, "fp64") X(FP32, "fp32") X(TF32, "tf32") X(FP16, "fp16") X(BF16, "bf16") X(FP8, "fp8") X(INT8, "int8")

enum precision {
#define PRECISION_NUMBER(number, name) PRECISION_##number,
    PRECISIONS(PRECISION_NUMBER)
#undef PRECISION_NUMBER
        N_PRECISIONS,
    PRECISION_NONE = N_PRECISIONS
};

/* "fp64" and so on. */
extern const char *const precision_names[N_PRECISIONS];

struct data_type {
    const char *name;
    uint8_t bytes;
    uint8_t packed; /* numbers in an element */
    enum element_kind kind;
    enum precision precision;
    bool tracelens; /* which knows its size, too */
};

/* NULL: no type of tensors' elements. O(1). */
const struct data_type *data_type_find(const char *name, size_t length);

/* Bytes of an element to TraceLens; 0: unknown to it. */
unsigned data_type_tracelens_bytes(const char *name, size_t length);

/* The type that a torch.dtype's number stands for, as operators take it for an argument; NULL. */
const struct data_type *data_type_of_number(long number);

#endif
