/*
 * error.h - error type and status codes of libsutra.
 *
 * Every function that can fail returns an enum sutra_status (0 is success) and, on failure, fills the caller's struct
 * sutra_error. The values are codes of <sysexits.h>, so programs can use them as exit codes.
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
    SUTRA_STRICT = 1,       /* strict mode: a warning became a failure */
    SUTRA_USAGE = 64,       /* invalid argument */
    SUTRA_DATA = 65,        /* malformed input, or not the expected kind of file */
    SUTRA_NO_INPUT = 66,    /* input missing or unreadable */
    SUTRA_UNAVAILABLE = 69, /* the requested engine is not available */
    SUTRA_INTERNAL = 70,    /* internal error: a bug in libsutra */
    SUTRA_SYSTEM = 71,      /* out of memory, or no threads */
    SUTRA_NO_OUTPUT = 73,   /* output cannot be created */
    SUTRA_IO = 74,          /* reading or writing failed midway, such as a full disk */
    SUTRA_CANCELLED = 75,   /* sutra_context_cancel() was called */
};

#define SUTRA_NO_OFFSET UINT64_MAX

/* Location and cause of a failure. `file` is "" and `offset` is SUTRA_NO_OFFSET if unknown. */
struct sutra_error {
    enum sutra_status status;
    uint64_t offset; /* byte offset in the file, after decompression */
    uint64_t line;   /* line of the offset, from 1; 0: no offset, or not a text file */
    char file[256];  /* file name; the last part if longer */
    char message[400];
    int os_error; /* errno of the failed system call, such as ENOENT; 0: none */
};

/* Formats "FILE: byte OFFSET, line LINE: MESSAGE" (omitting unknown parts) into `text` of `size` bytes; always
 * NUL-terminated. */
void sutra_error_text(const struct sutra_error *error, char *text, uint64_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
