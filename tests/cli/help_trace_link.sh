chakra_trace_link --help
