/*
 * collectives.c - implements collectives.h.
 */
#include <math.h>
#include <string.h>

#include "base/shared.h"
#include "facts/collectives.h"
#include "facts/op_inputs.h"
#include "text/strings.h"

const char *const collective_kind_names[N_COMM_KINDS] = {
#define COMM_NAME(number, name) name,
    COMM_KINDS(COMM_NAME)
#undef COMM_NAME
};

/*
 * The word in a name, in lower case without "_" and "-", that determines its kind, and a letter for each reader of the
 * line. The reader's first line whose word is in the name counts.
 *
 *     K  sutra's own kinds       C  chakra_converter
 *     S  Chakra's schema, all of whose collectives chakra_converter does not recognize
 */
static const struct {
    const char *word;
    enum comm_kind kind;
    const char *readers;
} kind_words[] = {
    {"allreduce", COMM_ALL_REDUCE, "KCS"},
    {"crossdevicereduce", COMM_ALL_REDUCE, "K"},
    {"alltoall", COMM_ALL_TO_ALL, "CS"}, /* chakra_converter tries it before all-gather and ignores the v */
    {"allgather", COMM_ALL_GATHER, "KCS"},
    {"reducescatter", COMM_REDUCE_SCATTER, "KCS"},
    {"alltoallv", COMM_ALL_TO_ALL_V, "K"},
    {"alltoall", COMM_ALL_TO_ALL, "K"},
    {"broadcast", COMM_BROADCAST, "KCS"},
    {"barrier", COMM_BARRIER, "K"},
    {"ncclkernelreduce", COMM_REDUCE, "S"},
    {"nccldevkernelreduce", COMM_REDUCE, "S"},
    {"gather", COMM_GATHER, "KS"},
    {"scatter", COMM_SCATTER, "KS"},
    {"reduce", COMM_REDUCE, "K"},
    {"send", COMM_MESSAGE, "K"},
    {"recv", COMM_MESSAGE, "K"},
    {"message", COMM_MESSAGE, "K"},
};

/* sutra reads the name of a kernel, not its arguments; chakra_converter reads both. */
#define KIND_NAME_LENGTH   127
#define CHAKRA_NAME_LENGTH 1024

enum comm_kind collective_kind_read(const char *name, size_t length, enum collective_reader reader) {
    char flat[CHAKRA_NAME_LENGTH];
    size_t n = 0, limit = reader == COLLECTIVES_OF_SUTRA ? KIND_NAME_LENGTH : CHAKRA_NAME_LENGTH;
    for (size_t i = 0; i < length && n < limit; i++)
        if (name[i] != '_' && name[i] != '-')
            flat[n++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + ('a' - 'A')) : name[i];
    for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
        if (strchr(kind_words[i].readers, (int)reader) && text_has(flat, n, kind_words[i].word))
            return kind_words[i].kind;
    return COMM_OTHER;
}

enum comm_kind collective_kind_of(const char *name) {
    return collective_kind_read(name, strlen(name), COLLECTIVES_OF_SUTRA);
}

bool collective_ends_at_once(enum comm_kind kind) {
    return kind <= COMM_ALL_TO_ALL || kind == COMM_BARRIER;
}

bool collective_sizes_differ(const char *name) {
    enum comm_kind kind = collective_kind_of(name);
    return kind == COMM_ALL_TO_ALL_V || kind == COMM_GATHER || kind == COMM_SCATTER || strstr(name, "coalesced");
}

int64_t collective_elements(enum comm_kind kind, int64_t n_in, int64_t n_out, int64_t n_ranks) {
    int64_t larger = MAX(n_in, n_out), smaller = MIN(n_in, n_out), total;
    if (kind == COMM_ALL_GATHER)
        return n_out > 0 ? n_out : larger;
    if ((kind != COMM_GATHER && kind != COMM_SCATTER) || smaller <= 0 ||
        __builtin_mul_overflow(smaller, n_ranks, &total))
        return larger;
    return MAX(total, larger);
}

double collective_bus_share(enum comm_kind kind, int64_t n_ranks) {
    double n = (double)n_ranks, others = n_ranks > 0 ? (n - 1) / n : (double)NAN;
    switch (kind) {
    case COMM_ALL_REDUCE:
        return 2 * others;
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
    case COMM_ALL_TO_ALL:
    case COMM_ALL_TO_ALL_V:
    case COMM_GATHER:
    case COMM_SCATTER:
        return others;
    case COMM_BROADCAST:
    case COMM_REDUCE:
    case COMM_MESSAGE:
        return 1;
    default:
        return (double)NAN;
    }
}

unsigned collective_type_bytes(const char *type) {
    /* PyTorch's scalar types and the names that data_type_find() knows; Float, Int and others are the same in both. */
    static const struct {
        const char *scalar, *type;
    } scalars[] = {{"Half", "c10::Half"},
                   {"BFloat16", "c10::BFloat16"},
                   {"Long", "long int"},
                   {"Byte", "unsigned char"},
                   {"Short", "short int"},
                   {"ComplexHalf", "c10::complex<c10::Half>"},
                   {"ComplexFloat", "c10::complex<float>"},
                   {"ComplexDouble", "c10::complex<double>"},
                   {"UInt16", "unsigned short"},
                   {"UInt32", "unsigned int"},
                   {"UInt64", "unsigned long"}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(type, scalars[i].scalar) == 0) {
            type = scalars[i].type;
            break;
        }
    if (strncmp(type, "Float8_", strlen("Float8_")) == 0)
        return 1;
    const struct data_type *found = data_type_find(type, strlen(type));
    return found ? found->bytes : 0;
}
