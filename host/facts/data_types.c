/*
 * data_types.c - the table of element types.
 */
#include "facts/data_types.h"

#include <string.h>
#include <strings.h>

const char *const precision_names[N_PRECISIONS] = {
#define PRECISION_NAME(number, name) name,
    PRECISIONS(PRECISION_NAME)
#undef PRECISION_NAME
};

static const struct data_type types[] = {
    {"float", 4, 1, ELEMENT_FLOAT, PRECISION_FP32, true},
    {"c10::Half", 2, 1, ELEMENT_FLOAT, PRECISION_FP16, true},
    {"c10::BFloat16", 2, 1, ELEMENT_FLOAT, PRECISION_BF16, true},
    {"double", 8, 1, ELEMENT_FLOAT, PRECISION_FP64, true},
    {"long int", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, true},
    {"int", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, true},
    {"bool", 1, 1, ELEMENT_BOOL, PRECISION_NONE, false},
    {"unsigned char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, true},
    {"signed char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, true},
    {"char", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"short int", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"short", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned short", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"short unsigned int", 2, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned int", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"__int64", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"unsigned long", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"long unsigned int", 8, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
    {"c10::Float8_e4m3fn", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e4m3fnuz", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e5m2", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float8_e5m2fnuz", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, false},
    {"c10::Float8_e8m0fnu", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::Float4_e2m1fn_x2", 1, 2, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"fp8", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"fp4", 1, 1, ELEMENT_FLOAT, PRECISION_FP8, true},
    {"c10::complex<c10::Half>", 4, 1, ELEMENT_COMPLEX, PRECISION_FP16, false},
    {"c10::complex<float>", 8, 1, ELEMENT_COMPLEX, PRECISION_FP32, false},
    {"c10::complex<double>", 16, 1, ELEMENT_COMPLEX, PRECISION_FP64, false},
    {"c10::qint8", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::quint8", 1, 1, ELEMENT_INTEGER, PRECISION_INT8, false},
    {"c10::qint32", 4, 1, ELEMENT_INTEGER, PRECISION_NONE, false},
};

static bool is_name(const char *name, size_t length, const char *of) {
    return strlen(of) == length && strncasecmp(name, of, length) == 0;
}

/* What stands in "Tensor(...)", or in the first one of a list of them, and behind "struct " or "class ", as some
 * compilers write it. */
static void unwrap(const char **name, size_t *length) {
    static const char *const before[] = {"GenericList[", "Tensor(", "struct ", "class "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t n = strlen(before[i]);
        if (*length < n || memcmp(*name, before[i], n) != 0)
            continue;
        *name += n;
        *length -= n;
        const char *end = i == 1 ? memchr(*name, ')', *length) : NULL;
        *length = end ? (size_t)(end - *name) : *length;
    }
}

const struct data_type *data_type_find(const char *name, size_t length) {
    unwrap(&name, &length);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_name(name, length, types[i].name))
            return &types[i];
    return NULL;
}

unsigned data_type_tracelens_bytes(const char *name, size_t length) {
    if (is_name(name, length, "Scalar"))
        return 4;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].tracelens && is_name(name, length, types[i].name))
            return types[i].bytes;
    return 0;
}

const struct data_type *data_type_of_number(long number) {
    static const char *const names[] = {
        "unsigned char",
        "signed char",
        "short int",
        "int",
        "long int",
        "c10::Half",
        "float",
        "double",
        "c10::complex<c10::Half>",
        "c10::complex<float>",
        "c10::complex<double>",
        "bool",
        "c10::qint8",
        "c10::quint8",
        "c10::qint32",
        "c10::BFloat16",
    };
    if (number < 0 || (size_t)number >= sizeof names / sizeof *names)
        return NULL;
    return data_type_find(names[number], strlen(names[number]));
}
