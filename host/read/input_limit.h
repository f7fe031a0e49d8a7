/*
 * input_limit.h - how much of an input is held in memory at most: of what comes through a pipe, and of what compressed
 * bytes stand for. Mapped files have no limit. `most` is the user's own limit, which takes the place of these; 0: none.
 */
#ifndef READ_INPUT_LIMIT_H
#define READ_INPUT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Compressed bytes may stand for so many times their number, and for what is small in any case. */
#define EXPANSION_MAX   1000
#define EXPANSION_SMALL ((size_t)16 << 20)

/* Half of the memory that this process may have: of the machine's, of its control group's, of its address space a
 * quarter, since buffers grow by doubling. */
size_t input_limit(uint64_t most);

/* The same for what `size` compressed bytes stand for. */
size_t input_limit_expanded(size_t size, uint64_t most);

#endif
