/*
 * numbers.c - measures reading and writing the text of times, compared with the C library; prints Markdown rows.
 *
 *     build/bench_numbers ROUNDS NUMBERS
 *
 * The numbers are times of Kineto: microseconds with three decimals. The C library writes the shortest digits that read
 * as the same double, as Python does, by trying 15 to 17 digits. The fastest round counts, by its CPU time. All results
 * are compared before they are measured.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bench.h"
#include "text/numbers.h"

#define TEXT_BYTES 64 /* with the padding that double_parse() may read */

static size_t format_by_c(double value, char *out) {
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(out, TEXT_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return (size_t)length;
}

static double parse_by_c(const char *text, size_t length) {
    (void)length;
    return strtod(text, NULL);
}

struct way {
    const char *name;
    double (*parse)(const char *text, size_t length);
    size_t (*format)(double value, char *out);
    double parse_seconds, format_seconds;
};

static double measure(const struct way *way, bool parses, char (*texts)[TEXT_BYTES], double *values, uint64_t n) {
    const double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    char out[TEXT_BYTES];
    size_t length = 0;
    for (uint64_t i = 0; i < n; i++)
        if (parses)
            values[i] = way->parse(texts[i], strlen(texts[i]));
        else
            length += way->format(values[i], out);
    if (!parses && length == 0)
        fail("no text was written");
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

int main(int n_arguments, char **arguments) {
    struct way ways[] = {{"sutra", double_parse, double_format, 1e9, 1e9},
                         {"C library", parse_by_c, format_by_c, 1e9, 1e9}};
    const unsigned long rounds = n_arguments == 3 ? strtoul(arguments[1], NULL, 10) : 0;
    const uint64_t n = n_arguments == 3 ? strtoul(arguments[2], NULL, 10) : 0;
    char(*texts)[TEXT_BYTES] = calloc(n, sizeof *texts);
    double *values = calloc(n, sizeof *values);
    if (rounds == 0 || n == 0 || !texts || !values)
        fail("usage: bench_numbers ROUNDS NUMBERS");
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t ns = UINT64_C(4391163259776105) + i * UINT64_C(1234567) % UINT64_C(1000000000000);
        snprintf(texts[i], TEXT_BYTES, "%llu.%03llu", (unsigned long long)(ns / 1000), (unsigned long long)(ns % 1000));
        char text[2][TEXT_BYTES] = {"", ""};
        const double value = double_parse(texts[i], strlen(texts[i]));
        for (int k = 0; k < 2; k++)
            text[k][ways[k].format(value, text[k])] = 0;
        if (value != strtod(texts[i], NULL) || strtod(text[0], NULL) != value ||
            (strchr(text[1], '.') && strcmp(text[0], text[1]) != 0))
            fail("the results differ");
    }
    for (unsigned long round = 0; round < rounds; round++)
        for (int k = 0; k < 2; k++) {
            double parse = measure(&ways[k], true, texts, values, n),
                   format = measure(&ways[k], false, texts, values, n);
            ways[k].parse_seconds = parse < ways[k].parse_seconds ? parse : ways[k].parse_seconds;
            ways[k].format_seconds = format < ways[k].format_seconds ? format : ways[k].format_seconds;
        }
    for (int k = 0; k < 2; k++)
        printf("| %s | %.1f | %.1f |\n", ways[k].name, 1e9 * ways[k].parse_seconds / (double)n,
               1e9 * ways[k].format_seconds / (double)n);
    free(texts);
    free(values);
}
