// The means of a model: scenarios of a few threads and operations, and the main that runs them under Relacy.
//
// A scenario derives from scenario<threads>. Relacy makes one for each interleaving, calls before(), thread(0) …
// thread(n - 1) interleaved, after(), and destroys it. Payloads are model::plain, so that an access that nothing orders
// is found; what must hold is said by MODEL_CHECK.
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

/// Lets other threads run for a while, which Relacy chooses: less than `most` steps.
inline void wait_a_while(unsigned most) noexcept {
    for (unsigned n = rl::rand(most); n != 0; --n) detail::cpu_pause();
}

/// A scenario as the runner sees it, which is compiled once for all.
class any_scenario {
public:
    any_scenario() = default;
    any_scenario(const any_scenario&) = delete;
    any_scenario& operator=(const any_scenario&) = delete;
    virtual ~any_scenario() = default;
    virtual void before() {}
    virtual void thread(unsigned index) = 0;
    virtual void after() {}
};

/// Base of a scenario of 2, 3 or 4 threads.
template <unsigned Threads>
struct scenario : any_scenario {
    static constexpr unsigned threads = Threads;
};

struct entry {
    const char* name;
    const char* what;  // the edges of the state table that it reaches
    any_scenario* (*make)();
    unsigned threads;
    bool ends;               // whether the search of all interleavings does
    unsigned context_bound;  // 0: no bound; else switches that nothing forced, in the search
};

template <typename Scenario>
any_scenario* make_scenario() {
    return new Scenario;
}

/// A scenario whose interleavings are sampled at random.
template <typename Scenario>
entry sampled(const char* name, const char* what) {
    return {name, what, &make_scenario<Scenario>, Scenario::threads, false, 0};
}
/// The same, and all of them are searched on demand, within the bound if there is one.
template <typename Scenario>
entry searched(const char* name, const char* what, unsigned context_bound = 0) {
    return {name, what, &make_scenario<Scenario>, Scenario::threads, true, context_bound};
}

/// The main of a model; its options are in --help.
int run(int count, char** arguments, const char* core, const char* what, const std::vector<entry>& scenarios);

}  // namespace coflux::model
