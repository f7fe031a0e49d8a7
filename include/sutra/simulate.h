/*
 * simulate.h - Chakra .et files, which simulators such as ASTRA-sim run.
 *
 *     .et file --> sutra_et_read() --> struct sutra_et --> sutra_et_write_json()   JSON, or JSON lines
 *     JSON lines --> sutra_et_read_lines() --/        \--> sutra_et_write()        .et
 */
#ifndef SUTRA_SIMULATE_H
#define SUTRA_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Reading ---- */

struct sutra_et;

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_et_read_options {
    size_t size;
    bool damaged; /* take the nodes before a place where the file is malformed, instead of failing there */
};

/* Reads an .et file, or bytes of one (which are copied), plain or compressed with gzip or zstd; "-" is standard input.
 * `options` may be NULL. *et is the caller's. SUTRA_NO_INPUT. SUTRA_DATA: malformed; the error has the byte and the
 * node. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error);
enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error);
void sutra_et_free(struct sutra_et *et);

uint64_t sutra_et_nodes(const struct sutra_et *et);

/* ---- JSON ---- */

enum sutra_et_layout {
    SUTRA_ET_CHAKRA, /* indented objects one right behind the other, as chakra_jsonizer writes them */
    SUTRA_ET_LINES,  /* an object a line: the metadata, then the nodes */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
