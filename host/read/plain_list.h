/*
 * plain_list.h - where a list ends of which most traces are full: strings of plain characters and integers, in brackets
 * of any depth. All of it is checked as JSON. O(length).
 *
 *     [[2048, 256, 1], [64, 1], []]        ["float", "", "ScalarList"]
 */
#ifndef READ_PLAIN_LIST_H
#define READ_PLAIN_LIST_H

#include <stddef.h>

/* Longer lists are not looked at to their end. */
#define PLAIN_LIST_BYTES 256

/* The byte behind the list at byte `at` of a text that ends in zeros, of which up to 64 are read. 0: it is malformed,
 * too long or not plain. */
size_t plain_list_end(const char *text, size_t at);

#endif
