// A probe of the system for programs that watch this one, where its header was found: an instruction that does nothing
// until one of them asks.
#pragma once

#if defined(__has_include)
#    if __has_include(<sys/sdt.h>)
#        include <sys/sdt.h>
#    endif
#endif

#if defined(DTRACE_PROBE4)
#    define COFLUX_EVENT_PROBE(kind, argument, first, second) \
        DTRACE_PROBE4(coflux, event, kind, argument, first, second)
#else
#    define COFLUX_EVENT_PROBE(kind, argument, first, second) static_cast<void>(0)
#endif
