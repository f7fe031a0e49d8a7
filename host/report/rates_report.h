/*
 * rates_report.h - section of a page that compares operator rates with the peak rates of the GPU.
 */
#ifndef REPORT_RATES_REPORT_H
#define REPORT_RATES_REPORT_H

#include "report/page.h"
#include "sutra/operators.h"

/* The roofline, utilisation of steps, rates, and what nothing is known of. */
void rates_show(struct page *page, const struct sutra_operators_ranks *ranks);

#endif
