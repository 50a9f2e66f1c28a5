#include "inspect/trace/trace_rings.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/frame/frame.hpp>

#include "inspect/trace/trace_timeline.hpp"
#include "os/process/own_memory.hpp"
#include "os/process/process.hpp"
#include "os/thread/thread_number.hpp"

namespace coflux::detail {

/// A ring with its cells behind it, in pages of the system. It stays when its worker is gone, with its events, until
/// another one takes it.
struct kept_ring {
    kept_ring(trace_ring::cell* cells, std::size_t size) noexcept : ring(cells, size) {}

    trace_ring ring;
    os::process_mark process;  // a child of fork() has no part in the rings of its parent
    atomic<bool> taken{true};  // by a worker; acquire and release pass the ring on
    kept_ring* next = nullptr;
};

namespace {

static_assert(sizeof(trace_ring::cell) == sizeof(trace_event));

atomic<kept_ring*> rings{nullptr};  // the newest; they are never freed

struct moment {
    std::uint64_t cycles = cycles_now();
    std::uint64_t time = tick_now();
};
/// The moment of the first ring: cycles are counted from there.
const moment& beginning() noexcept {
    static const moment first;
    return first;
}

constexpr std::size_t least_events = 64;
constexpr std::size_t most_events = std::size_t{1} << 28;
constexpr std::size_t room_for_head = 4096;
static_assert(sizeof(kept_ring) <= room_for_head);

kept_ring* make_ring(std::size_t size) noexcept {
    void* const pages = os::map_pages(room_for_head + size * sizeof(trace_ring::cell));
    if (pages == nullptr) return nullptr;
    auto* const cells = reinterpret_cast<trace_ring::cell*>(static_cast<char*>(pages) + room_for_head);
    auto* const made = ::new (pages) kept_ring(cells, size);
    made->next = rings.load(memory_order_relaxed);
    while (!rings.compare_exchange_weak(made->next, made, memory_order_release, memory_order_relaxed)) {}  // copy_all()
    return made;
}

kept_ring* take_ring(std::size_t size) noexcept {
    for (kept_ring* r = rings.load(memory_order_acquire); r != nullptr; r = r->next) {  // pairs with make_ring()
        if (r->ring.size() != size || !r->process.is_here() || r->taken.load(memory_order_relaxed)) continue;
        if (!r->taken.exchange(true, memory_order_acquire)) return r;  // pairs with ~reserved_ring()
    }
    return make_ring(size);
}

}  // namespace

reserved_ring::reserved_ring(std::size_t events) noexcept : kept_(nullptr) {
    if (events == 0) return;
    (void)beginning();
    kept_ = take_ring(std::bit_ceil(std::clamp(events, least_events, most_events)));
}

reserved_ring::~reserved_ring() {
    if (kept_ != nullptr) kept_->taken.store(false, memory_order_release);  // pairs with take_ring()
}

trace_ring* reserved_ring::get() const noexcept {
    return kept_ != nullptr ? &kept_->ring : nullptr;
}

traced_thread::traced_thread(trace_ring* ring, std::string_view name) noexcept : ring_(ring) {
    if (ring_ == nullptr) return;
    ring_->begin(name, os::this_thread_number(), cycles_now());
    ring_of_this_thread = ring_;
    set_failure_trace(&tracing::print_last_events);
}

traced_thread::~traced_thread() {
    if (ring_ == nullptr) return;
    ring_of_this_thread = nullptr;
    ring_->add(cycles_now(), trace_kind::ends);
}

#if COFLUX_CLANG
__attribute__((noinline, no_sanitize("address", "thread")))
#else
__attribute__((noinline, no_sanitize_address, no_sanitize_thread))
#endif
std::uint64_t
trace_place(std::coroutine_handle<> h) noexcept {
    // Frames of other libraries have other memory in front. It is there, unless a page begins with the frame.
    const auto address = reinterpret_cast<std::uintptr_t>(h.address());
    constexpr std::uintptr_t page = 4096;
    constexpr std::uintptr_t before = sizeof(frame_control) - offsetof(frame_control, where);
    if (address % page >= before) return *reinterpret_cast<const std::uint64_t*>(address - before);
    std::uint64_t place = 0;
    const os::memory_piece piece{address - before, sizeof place};
    return os::read_own_memory(&piece, 1, &place) == sizeof place ? place : 0;
}

void trace_span(trace_ring& to, const char* name, std::uint64_t begun) noexcept {
    to.add(cycles_now(), trace_kind::span, 0, begun, reinterpret_cast<std::uint64_t>(name));
}
std::uint64_t trace_now() noexcept {
    return cycles_now();
}

namespace tracing {

std::vector<thread_events> copy_all() {
    std::vector<thread_events> all;
    for (const kept_ring* r = rings.load(memory_order_acquire); r != nullptr; r = r->next) {  // pairs with make_ring()
        if (!r->process.is_here()) continue;
        thread_events one;
        one.events.resize(r->ring.size());
        one.events.resize(r->ring.copy(one.events.data(), one.owner));
        if (!one.events.empty()) all.push_back(std::move(one));
    }
    std::reverse(all.begin(), all.end());  // the oldest ring first: the first worker of the first pool
    return all;
}

cycle_clock::cycle_clock() noexcept : from_cycles_(beginning().cycles), from_(beginning().time) {
    const moment here;
    now_ = here.time;
    const std::uint64_t cycles = here.cycles - from_cycles_;
    nanoseconds_ = cycles == 0 ? 1 : static_cast<double>(here.time - from_) / static_cast<double>(cycles);
}

std::uint64_t cycle_clock::time_of(std::uint64_t cycles) const noexcept {
    const auto since = static_cast<std::int64_t>(cycles - from_cycles_);
    return from_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(since) * nanoseconds_));
}

}  // namespace tracing
}  // namespace coflux::detail
