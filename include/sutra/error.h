/*
 * error.h - the one error type of libsutra.
 *
 * Every function that can fail returns an enum sutra_status (0 is success) and, on failure, fills the caller's
 * struct sutra_error. The values are those of sysexits.h, so a program can exit with them as they are.
 */
#ifndef SUTRA_ERROR_H
#define SUTRA_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum sutra_status {
    SUTRA_OK = 0,
    SUTRA_STRICT = 1,       /* strict mode turned a warning into a failure */
    SUTRA_USAGE = 64,       /* an argument is wrong */
    SUTRA_DATA = 65,        /* an input is malformed or not the kind of file that was expected */
    SUTRA_NO_INPUT = 66,    /* an input is missing or cannot be read */
    SUTRA_UNAVAILABLE = 69, /* the engine that was asked for is not there */
    SUTRA_INTERNAL = 70,    /* a mistake of ours */
    SUTRA_SYSTEM = 71,      /* out of memory, no threads */
    SUTRA_NO_OUTPUT = 73,   /* the output cannot be created */
    SUTRA_IO = 74,          /* reading or writing failed midway, a full disk for instance */
    SUTRA_CANCELLED = 75,   /* sutra_context_cancel() was called */
};

#define SUTRA_NO_OFFSET UINT64_MAX

/* Where and why something failed. `file` is "" and `offset` SUTRA_NO_OFFSET where there is none. */
struct sutra_error {
    enum sutra_status status;
    uint64_t offset; /* byte offset in the file, after decompression */
    uint64_t line;   /* line of that offset, from 1; 0 where there is no offset, or the file is no text */
    char file[256];  /* the file's name; the end of it where it is longer */
    char message[400];
};

/* Writes "FILE: byte OFFSET, line LINE: MESSAGE" (what is known of it) to `text`; always ends it with a NUL. */
void sutra_error_text(const struct sutra_error *error, char *text, uint64_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
