// The ring of a traced thread's events, src/inspect/trace/trace_ring.hpp: a reader copies it while its thread writes,
// and while another thread takes it over.
#include "../../src/inspect/trace/trace_ring.hpp"

#include "support/model.hpp"

namespace {

using coflux::detail::trace_event;
using coflux::detail::trace_kind;
using coflux::detail::trace_ring;

constexpr std::size_t size = 2;

template <unsigned Threads>
struct of_ring : coflux::model::scenario<Threads> {
    trace_ring::cell cells[size];
    trace_ring ring{cells, size};

    void add(std::uint64_t i) { ring.add(i, trace_kind::runs, i, i, i); }
    /// Copies, and checks that each event was written as it is, and after the one before.
    std::size_t copy(trace_ring::owner& of) {
        trace_event events[size];
        const std::size_t n = ring.copy(events, of);
        for (std::size_t i = 0; i < n; ++i) {
            const trace_event& e = events[i];
            if (e.kind() == trace_kind::begins) {
                MODEL_CHECK(e.first == 0 && e.second == 0 && e.cycles == 100 * of.thread);
            } else {
                MODEL_CHECK(e.argument() == e.cycles && e.first == e.cycles && e.second == e.cycles);
            }
            if (i != 0) MODEL_CHECK(e.cycles == events[i - 1].cycles + 1);
        }
        return n;
    }
};

/// The ring is full, and is copied while its oldest events go.
struct overwritten : of_ring<2> {
    void before() override {
        ring.begin("a", 1, 100);
        add(101);
    }
    void thread(unsigned index) override {
        trace_ring::owner of{};
        if (index == 0) {
            add(102);
            add(103);
        } else {
            (void)copy(of);
        }
    }
    void after() override {
        trace_ring::owner of{};
        MODEL_CHECK(copy(of) == size - 1);
        MODEL_CHECK(of.dropped == 3);
    }
};

/// Another thread takes it meanwhile: what is copied is of one owner, under its name.
struct taken_over : of_ring<2> {
    void before() override { ring.begin("a", 1, 100); }
    void thread(unsigned index) override {
        trace_ring::owner of{};
        if (index == 0) {
            ring.begin("b", 2, 200);
        } else if (copy(of) != 0) {
            MODEL_CHECK(of.name[0] == (of.thread == 1 ? 'a' : 'b'));
        }
    }
    void after() override {
        trace_ring::owner of{};
        MODEL_CHECK(copy(of) == 1);
        MODEL_CHECK(of.name[0] == 'b' && of.thread == 2 && of.dropped == 0);
    }
};

/// A reader that comes when it has been taken over.
struct was_taken_over : of_ring<2> {
    void before() override { ring.begin("a", 1, 100); }
    void thread(unsigned index) override {
        trace_ring::owner of{};
        if (index == 0) return ring.begin("b", 2, 200);
        coflux::model::wait_a_while(20);
        (void)copy(of);
    }
};

/// An event that was written before another thread is told of it is in its copy.
struct told : of_ring<2> {
    coflux::detail::atomic<int> tells{0};

    void before() override { ring.begin("a", 1, 100); }
    void thread(unsigned index) override {
        trace_ring::owner of{};
        if (index == 0) {
            add(101);
            tells.store(1, coflux::detail::memory_order_release);
        } else if (tells.load(coflux::detail::memory_order_acquire) == 1) {
            MODEL_CHECK(copy(of) == 1);
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "trace_ring", "the ring of a traced thread's events",
        {
            searched<overwritten>("overwritten", "an event overwritten before, while and after it is copied", 3),
            searched<taken_over>("taken_over", "first_ hidden and shown while it is copied", 3),
            sampled<was_taken_over>("was_taken_over", "first_ shown, and the name before it in sight"),
            searched<told>("told", "an event in sight of a thread that was told of it", 4),
        });
}
