/*
 * queue.h - what is known about the queue of a stream at a launch or a kernel: bits of one byte for each event.
 */
#ifndef CRITICAL_PATH_QUEUE_H
#define CRITICAL_PATH_QUEUE_H

enum queue_bit {
    QUEUE_SEEN = 1,       /* the row has a queue length */
    QUEUE_ONE = 2,        /* the length is 1 just behind this row */
    QUEUE_ZERO = 4,       /* the length is 0 just behind this row */
    QUEUE_LAUNCH_ONE = 8, /* at a kernel: the length was 1 just behind its launch */
};

#endif
