// Stream jobs: all of coflux/stream/.
#pragma once

#include <coflux/stream/aggregate.hpp>     // IWYU pragma: export
#include <coflux/stream/call_each.hpp>     // IWYU pragma: export
#include <coflux/stream/checkpoint.hpp>    // IWYU pragma: export
#include <coflux/stream/dead_letters.hpp>  // IWYU pragma: export
#include <coflux/stream/event_times.hpp>   // IWYU pragma: export
#include <coflux/stream/flow.hpp>          // IWYU pragma: export
#include <coflux/stream/fold.hpp>          // IWYU pragma: export
#include <coflux/stream/folder_store.hpp>  // IWYU pragma: export
#include <coflux/stream/for_each.hpp>      // IWYU pragma: export
#include <coflux/stream/job.hpp>           // IWYU pragma: export
#include <coflux/stream/join.hpp>          // IWYU pragma: export
#include <coflux/stream/key.hpp>           // IWYU pragma: export
#include <coflux/stream/memory.hpp>        // IWYU pragma: export
#include <coflux/stream/merge.hpp>         // IWYU pragma: export
#include <coflux/stream/record.hpp>        // IWYU pragma: export
#include <coflux/stream/run.hpp>           // IWYU pragma: export
#include <coflux/stream/side_input.hpp>    // IWYU pragma: export
#include <coflux/stream/sink.hpp>          // IWYU pragma: export
#include <coflux/stream/source.hpp>        // IWYU pragma: export
#include <coflux/stream/split.hpp>         // IWYU pragma: export
#include <coflux/stream/stage.hpp>         // IWYU pragma: export
#include <coflux/stream/state.hpp>         // IWYU pragma: export
#include <coflux/stream/transform.hpp>     // IWYU pragma: export
#include <coflux/stream/window.hpp>        // IWYU pragma: export
#include <coflux/stream/windowed.hpp>      // IWYU pragma: export
