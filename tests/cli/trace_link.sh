# The program under the name trace_link: its four options are required, operands are refused; the output is the same.
. "$TOOLS/common.sh"
try chakra_trace_link
try chakra_trace_link --chakra-host-trace h --chakra-device-trace d --output-file o
try chakra_trace_link --rank 0 --chakra-device-trace d --output-file o
try chakra_trace_link --rank 0 --chakra-host-trace h --output-file o
try chakra_trace_link --rank 0 --chakra-host-trace h --chakra-device-trace d
try chakra_trace_link --rank x --chakra-host-trace h --chakra-device-trace d --output-file o
try chakra_trace_link --rank 0 h d --output-file o
