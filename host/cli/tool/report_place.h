/*
 * report_place.h - location of an HTML report, as path and as URL.
 */
#ifndef CLI_REPORT_PLACE_H
#define CLI_REPORT_PLACE_H

/* Prints the path of PAGE.html in this folder, and the address that a browser opens it by. */
void report_place_print(const char *folder, const char *page);

#endif
