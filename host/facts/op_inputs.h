/*
 * op_inputs.h - an operator's inputs as traces record them: shapes, types, strides and values.
 *
 *     "[[8, 3], [[2], [4]], []]"  "['float', 'TensorList', 'Scalar']"  "[[3, 1], [[1], [1]], []]"  "['', '', '0.5']"
 *          shapes                      types                                strides                     values
 *                        \-----------------------------|------------------------------/
 *                                 inputs[0] a tensor, [1] a list of tensors, [2] the value 0.5
 *
 * Texts may be JSON, as in device traces, or Python's, as in ET+ and Chakra's files; a value is a string, or any other
 * text verbatim. Malformed and deeper nested elements are skipped; the parser never reads beyond the text.
 *
 * Cost: O(length of the texts). A parser keeps its memory for the next operator.
 */
#ifndef FACTS_OP_INPUTS_H
#define FACTS_OP_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/*
 * Names of tensors' element types: bytes, kind of number, precision of arithmetic.
 *
 * Device traces write C++ names ("c10::BFloat16", "long int"), host traces wrap them ("Tensor(c10::BFloat16)"); case is
 * ignored. TraceLens knows fewer of them, and counts four bytes for a scalar.
 */

/* In the order of type promotion. */
enum element_kind { ELEMENT_BOOL, ELEMENT_INTEGER, ELEMENT_FLOAT, ELEMENT_COMPLEX };

/* Precisions of the device's peaks. */
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
    bool tracelens; /* TraceLens knows its size */
};

/* NULL: not an element type. O(1). */
const struct data_type *data_type_find(const char *name, size_t length);

/* Bytes of an element to TraceLens; 0: unknown to it. */
unsigned data_type_tracelens_bytes(const char *name, size_t length);

/* The type of a torch.dtype's number, as in operators' arguments, or NULL. */
const struct data_type *data_type_of_number(long number);

struct input_text {
    const char *at;
    size_t length;
};

struct input_tensor {
    const int64_t *dims;
    const int64_t *strides; /* n_dims; NULL: not recorded */
    uint32_t n_dims;
};

struct operator_input {
    struct input_tensor tensor;         /* without dimensions: a tensor of one element, a scalar or another value */
    const struct input_tensor *members; /* of a list of tensors */
    uint32_t n_members;
    bool is_list;
    struct input_text type, value; /* {NULL, 0}: not recorded */
};

struct op_inputs {
    const struct operator_input *input;
    uint32_t n;                                      /* length of the longest of the four lists */
    uint32_t n_shapes, n_types, n_strides, n_values; /* of each */
    bool has_strides;                                /* the list is present, maybe empty */
    const char *name, *annotation; /* set by the caller if known: the operator's, and the enclosing iteration's */
};

/* The four lists; {NULL, 0} if absent. */
struct op_input_texts {
    struct input_text shapes, types, strides, values;
};

/* Zero-initialise; the members are internal. */
struct op_inputs_parser {
    struct buffer numbers, shapes, inputs, members;
};

/* The result is valid until the next call, and as long as the texts. False: out of memory. */
bool op_inputs_parse(struct op_inputs_parser *parser, const struct op_input_texts *texts, struct op_inputs *inputs);
void op_inputs_parser_free(struct op_inputs_parser *parser);

/* The input at a position; an empty one after the last. */
struct operator_input op_input_at(const struct op_inputs *inputs, uint32_t position);

/* The numbers of a value such as "[1, -2]" or "3", at most `max_numbers`, and their count. The words True and False
 * count as 1 and 0. False: another kind of value, or too many. */
bool input_numbers(struct input_text value, int64_t *numbers, uint32_t max_numbers, uint32_t *n);

/* Whether a value is the word, in any case: "True", "true". */
bool input_is(struct input_text value, const char *word);

#endif
