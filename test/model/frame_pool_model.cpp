// The frame pool's central list, src/memory/detail/central_list.hpp: blocks that change threads as chains, or by way of
// their slabs. The threads' own lists (thread_local, one thread each) have no model: here a thread holds the blocks
// that it took.
#include "../../src/memory/detail/central_list.hpp"

#include <malloc.h>

#include "support/model.hpp"

// The system's treatment of the pages of an empty slab is no part of the model.
void coflux::detail::discard_pages(void*, std::size_t) noexcept {}
// Nor is the registry, whose own lock is taken under the list's.
bool coflux::detail::enter_slab(const void*, std::size_t, std::uint32_t&) noexcept {
    return true;
}
void coflux::detail::remove_slab(std::uint32_t) noexcept {}

namespace {

using coflux::detail::central_list;
using coflux::detail::free_block;
using coflux::model::plain;
namespace detail = coflux::detail;

constexpr std::size_t size_class = 2048 / detail::frame_cache::granule - 1;  // 2 KiB: 31 blocks a slab, 8 a batch

template <unsigned Threads>
struct of_list : coflux::model::scenario<Threads> {
    central_list list;
    // The payload of a batch, by its first block: written by the thread that holds the blocks.
    struct slot {
        const void* first = nullptr;
        plain<int> held{0};
    };
    slot slots[8];

    slot& slot_of(const free_block* first) {
        for (slot& s : slots) {
            if (s.first == first) return s;
            if (s.first == nullptr) {
                s.first = first;
                return s;
            }
        }
        coflux::model::fail_here("more batches than slots");
        return slots[0];
    }
    free_block* take() {
        free_block* const blocks = list.take(size_class);
        MODEL_CHECK(blocks != nullptr);
        plain<int>& held = slot_of(blocks).held;
        MODEL_CHECK(held.get() == 0);  // no other thread has it
        held.set(1);
        return blocks;
    }
    static std::size_t count(const free_block* blocks) {
        std::size_t n = 0;
        for (; blocks != nullptr; blocks = blocks->next) ++n;
        return n;
    }
    void put(free_block* blocks) {
        slot_of(blocks).held.set(0);
        list.put(size_class, blocks, count(blocks));
    }
    void sort(free_block* blocks) {
        slot_of(blocks).held.set(0);
        list.sort(size_class, blocks, detail::pages_stay);
    }
    /// All blocks are back: no slab is left, and nothing is counted as reserved.
    void after() override {
        while (list.give_back_chain(size_class, detail::pages_stay)) continue;
        MODEL_CHECK(detail::reserved.load(detail::memory_order_relaxed) == 0);
        MODEL_CHECK(detail::slabs_acquired.load(detail::memory_order_relaxed) ==
                    detail::slabs_released.load(detail::memory_order_relaxed));
    }
};

struct chain_changes_threads : of_list<2> {
    void thread(unsigned) override {
        put(take());
        put(take());
    }
};

struct three_threads : of_list<3> {
    void thread(unsigned) override { put(take()); }
};

/// The reserve holds nothing: blocks go through their slab, which may become empty under another thread's eyes.
struct no_reserve : of_list<2> {
    void before() override { detail::reserve_limit.store(0, detail::memory_order_relaxed); }
    void thread(unsigned) override {
        put(take());
        sort(take());
    }
};

/// One chain fits into the reserve, a second does not: both threads may count theirs before either is refused.
struct reserve_of_one : of_list<2> {
    void before() override {
        detail::reserve_limit.store(8 * detail::block_bytes(size_class), detail::memory_order_relaxed);
    }
    void thread(unsigned) override {
        free_block* const a = take();
        free_block* const b = take();
        put(a);
        put(b);
    }
};

struct trimmed : of_list<2> {
    void thread(unsigned index) override {
        put(take());
        if (index == 1) {
            while (list.give_back_chain(size_class, detail::pages_stay)) continue;
        } else {
            put(take());
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    // Slabs come and go in each interleaving: without asking the system each time.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    using coflux::model::searched;
    return coflux::model::run(count, arguments, "frame_pool", "the frame pool's central list",
                              {
                                  searched<chain_changes_threads>("chain_changes_threads", "chains put and taken", 4),
                                  searched<three_threads>("three_threads", "chains and slabs of three threads", 3),
                                  searched<no_reserve>("no_reserve", "blocks sorted into slabs that become empty", 4),
                                  searched<reserve_of_one>("reserve_of_one", "the reserve is full for one of two", 3),
                                  searched<trimmed>("trimmed", "chains given back while another takes", 4),
                              });
}
