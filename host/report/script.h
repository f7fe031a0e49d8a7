/*
 * script.h - the script of a page, and its digest, by which the page's security policy allows only this script.
 *
 * The script sorts tables by a click on a heading, and expands collapsed parts for printing. The page is complete
 * without it. The text contains neither "<" nor "&", so that the page stays well-formed XML.
 */
#ifndef REPORT_SCRIPT_H
#define REPORT_SCRIPT_H

extern const char script_page[];
extern const char script_digest[]; /* "sha256-...", which tests compare with the text */

#endif
