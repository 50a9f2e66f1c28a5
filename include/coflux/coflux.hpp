// Everything, for applications; never included inside the library.
#pragma once

#include <coflux/combine/when_all.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/executor.hpp>
#include <coflux/core/failure.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/fork_view.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/make_fork.hpp>
#include <coflux/core/on_stop_request.hpp>
#include <coflux/core/outcome.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/core/resume_on.hpp>
#include <coflux/core/stop.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/executor/noop_executor.hpp>
#include <coflux/executor/thread_pool.hpp>
#include <coflux/fwd.hpp>
#include <coflux/generator/generator.hpp>
#include <coflux/memory/arena.hpp>
#include <coflux/memory/counting_resource.hpp>
#include <coflux/memory/frame_pool.hpp>
#include <coflux/version.hpp>
