// What a model is written with: scenarios of a few threads and operations, and the main that runs them under Relacy.
//
// A scenario derives from scenario<itself, threads>. Relacy makes one for each interleaving, calls before(), thread(0) …
// thread(n - 1) interleaved, after(), and destroys it. Payloads are model::plain, so that an access that nothing orders is
// found; what must hold is said by MODEL_CHECK.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>

#include "relacy.hpp"

namespace coflux::model {

/// A variable that no two threads may touch unordered, one of them writing.
template <typename T>
class plain {
public:
    plain() = default;
    plain(T value) : value_(value) {}
    T get(const std::source_location& place = std::source_location::current()) const {
        return value_(at(place)).load();
    }
    void set(T value, const std::source_location& place = std::source_location::current()) {
        value_(at(place)).store(value);
    }

private:
    rl::var<T> value_;
};

#define MODEL_CHECK(condition)                                                     \
    do {                                                                           \
        if (!(condition)) ::coflux::model::fail_here("check failed: " #condition); \
    } while (false)

/// Ends what the atomics left behind after the scenario's own destructor.
struct ends_atomics {
    ends_atomics() noexcept { ++interleaving; }
    ~ends_atomics() { forget_atomics(); }
};

template <typename Derived, rl::thread_id_t Threads>
struct scenario : ends_atomics, rl::test_suite<Derived, Threads> {};

struct entry {
    const char* name;
    const char* what;  // the edges of the state table that it reaches
    bool (*simulate)(rl::test_params&);
    bool ends;               // whether the search of all interleavings does
    unsigned context_bound;  // 0: no bound; else switches that nothing forced, in the search
};

/// A scenario whose interleavings are sampled at random, and searched with the bound where `bounded` gives one.
template <typename Scenario>
entry sampled(const char* name, const char* what) {
    return {name, what, &rl::simulate<Scenario>, false, 0};
}
template <typename Scenario>
entry searched(const char* name, const char* what, unsigned context_bound = 0) {
    return {name, what, &rl::simulate<Scenario>, true, context_bound};
}

/// The main of a model; its options are in --help.
int run(int count, char** arguments, const char* core, const char* what, const std::vector<entry>& scenarios);

}  // namespace coflux::model
