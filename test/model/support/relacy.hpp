// Relacy, without the words that it takes from the language and the standard library by macros.
//
// Source: D. Vyukov's Relacy race detector, package relacy-dev. Only this header of it compiles with g++ 14 and clang
// 19.
#pragma once

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <source_location>

// Relacy also takes the names of pthread.h: these headers use them.
#include <condition_variable>
#include <memory_resource>
#include <mutex>
#include <shared_mutex>
#include <thread>

#pragma GCC system_header  // its warnings are not ours

#pragma push_macro("assert")
#pragma push_macro("errno")
#include <relacy/relacy.hpp>
#undef errno
#undef assert
#pragma pop_macro("errno")
#pragma pop_macro("assert")

#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef VAR
#undef VAR_T
#undef TLS_T

namespace coflux::model {

/// The place of an operation of a model in the source, for the history that a failure prints.
inline rl::debug_info at(const std::source_location& place) {
    return rl::debug_info(place.function_name(), place.file_name(), place.line());
}

/// Ends this interleaving as failed; does not return to a model thread.
void fail_here(const char* what, const std::source_location& place = std::source_location::current());

}  // namespace coflux::model
