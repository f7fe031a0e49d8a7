/*
 * streams.h - escape control characters in all human-readable output, instead of sending them to the terminal.
 */
#ifndef CLI_STREAMS_H
#define CLI_STREAMS_H

/* Puts it before standard output and standard error. What is no text for people goes past it: outputs are written by
 * sinks, and the progress bar as it is. */
void streams_start(void);

#endif
