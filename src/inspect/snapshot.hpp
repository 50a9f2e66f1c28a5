// All coroutines of the process at one moment, found in its memory: nothing is locked, stopped or allocated for it, but
// for pages of its own. The page docs/design/inspect.md has the steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/process/own_memory.hpp"

namespace coflux::detail::inspection {

enum class coroutine_state : std::uint8_t {
    ready,      ///< it waits for nothing that is known: it is queued, or runs
    running,    ///< its thread says so
    waits,      ///< in a primitive, a timer, I/O
    awaits,     ///< the end of a coroutine
    joins,      ///< the ends of its children
    ended,      ///< and its result was not taken
    foreign,    ///< in an awaitable that is not of the library
    generator,  ///< between two elements
    unawaited,  ///< a call or generator that has not begun
};

inline constexpr std::uint32_t no_coroutine = ~std::uint32_t{0};

struct found_coroutine {
    std::uint64_t control;  ///< its address
    std::uint64_t place;    ///< of the last await, as std::source_location has it; 0: not known
    std::uint64_t kind;     ///< waits: the wait_kind; awaits: how many coroutines
    std::uint64_t
        of;  ///< waits: address of the awaited thing, or 0; awaits: one of the coroutines; running: the thread
    std::uint64_t join;  ///< its join word
    union {
        std::uint64_t parent;  ///< while the snapshot is taken: address of the environment that it was made in
        struct {
            std::uint32_t above;      ///< the next coroutine on the way up, or no_coroutine
            std::uint32_t joined_by;  ///< the coroutine that waits for its end and for those of its siblings
        };
    };
    std::uint32_t children;  ///< that are alive, where it has a scope
    std::uint32_t print;     ///< of what must be the same at the second look
    std::uint32_t holder;    ///< waits: the coroutine that holds the thing, or no_coroutine
    std::uint16_t size;      ///< of its block; 0: not known, as that of another resource
    coroutine_state state;
    bool is_call : 1;
    bool moving : 1;         ///< it changed between the two looks
    bool valid : 1;          ///< it is a coroutine, and no other memory that looks like one
    bool at_end : 1;         ///< its body has ended
    bool is_stale : 1;       ///< a call whose join word has a value only once it has begun
    bool from_resource : 1;  ///< its memory is of another resource than the frame pool

    static constexpr std::size_t unit = 16;  ///< of `size`
    [[nodiscard]] std::size_t bytes() const noexcept { return size * unit; }
};
static_assert(sizeof(found_coroutine) <= 64, "what a dump may use for each coroutine");

class snapshot {
public:
    snapshot() noexcept;
    ~snapshot();
    snapshot(const snapshot&) = delete;
    snapshot& operator=(const snapshot&) = delete;

    /// False: the system does not let the process read its memory, or has no pages.
    [[nodiscard]] bool complete() const noexcept { return complete_; }

    /// Those that are valid; calls `f(index, coroutine)`.
    template <typename F>
    void for_each(F f) const {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (all_[i].valid) f(i, all_[i]);
        }
    }
    [[nodiscard]] const found_coroutine& operator[](std::uint32_t i) const noexcept { return all_[i]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
    [[nodiscard]] std::uint32_t valid() const noexcept { return valid_; }
    [[nodiscard]] std::uint32_t moving() const noexcept { return moving_; }

    /// awaits: nothing but the end of the one that it awaits, or a stop, lets it go on.
    [[nodiscard]] bool awaits_alone(std::uint32_t i) noexcept;
    /// Each of `members` still is as it was and waits for what it waited for, whose holder is the same. They are read
    /// in one call of the system.
    /// Pre: `count` is at most `most_at_once`.
    [[nodiscard]] bool still_wait(const std::uint32_t* members, std::size_t count) noexcept;
    static constexpr std::size_t most_at_once = 256;

    /// The string of a wait_kind, with its end; empty if it cannot be read.
    void text_of_kind(std::uint64_t kind, char* text, std::size_t most) const noexcept;
    struct place {
        unsigned line = 0;  // 0: not known
        char file[256] = {};
        char function[1024] = {};
    };
    [[nodiscard]] place place_at(std::uint64_t address) const noexcept;

private:
    /// A slab, or a block that is in none.
    struct slab_copy {
        std::uint64_t address;
        std::uint32_t bytes;
        std::uint32_t block;   // bytes of each
        std::uint32_t header;  // so many bytes in front of the address; 0: of a slab
        std::uint32_t entry;
        std::uint32_t first;  // of its coroutines in all_
        std::uint32_t count;
    };
    struct known_object {
        std::uint64_t address;
        std::uint32_t above;
        std::uint32_t joiner;
        bool valid;
    };
    struct known_waiter {
        std::uint64_t address;
        std::uint32_t coroutine;
    };
    struct known_kind {
        std::uint64_t address;
        std::uint64_t of_at;
        std::uint64_t queued_at;
        std::uint64_t holder_at;
        bool valid;
        bool waits;
    };
    struct known_holder {
        std::uint64_t word;  // its address
        std::uint32_t coroutine;
    };
    /// A coroutine whose frame is of another resource, in a table by address.
    struct other_frame {
        std::uint64_t operation;  // in which it waits; 0: it does not
        std::uint32_t number;     // of the coroutine in all_, and 1; 0: none
        std::uint32_t unused;
    };
    static constexpr std::size_t most_parts = 1024;
    static constexpr std::size_t slabs_at_once = 64;
    static constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
    static constexpr std::size_t most_bytes = 65535 * found_coroutine::unit;  // that are read of a block
    static constexpr std::size_t cached = 4096;
    struct tables;

    void list_slabs() noexcept;
    void list_large(std::uint64_t header, std::uint32_t index) noexcept;
    template <typename F>
    void for_each_slab(std::size_t begin, std::size_t end, F f) noexcept;
    void find_in(slab_copy& s, const char* copy) noexcept;
    void look_again(const slab_copy& s, const char* copy) noexcept;
    void fill(found_coroutine& c, std::uint64_t address, const char* control) noexcept;
    void find_wait(found_coroutine& c, const char* frame, const char* end) noexcept;
    bool take_wait(found_coroutine& c, const char* operation, const char* end) noexcept;
    // Those of other resources than the pool, in memory/other_frames.cpp.
    void begin_others() noexcept;
    void look_at_records(const slab_copy& s, const char* copy) noexcept;
    void follow_all() noexcept;
    void look_at_record(std::uint64_t address, const char* record) noexcept;
    void take_waits(std::uint64_t record, std::uint64_t first) noexcept;
    bool take_other_wait(std::uint32_t i, std::uint64_t operation) noexcept;
    void follow(std::uint32_t i) noexcept;
    void follow_parent(std::uint64_t parent) noexcept;
    void know_awaiter(std::uint64_t waiter, std::uint32_t child) noexcept;
    std::uint32_t know(std::uint64_t promise) noexcept;
    [[nodiscard]] bool has_room() noexcept;
    void enter_other(std::uint32_t i) noexcept;
    [[nodiscard]] std::uint32_t find_other(std::uint64_t control) const noexcept;
    [[nodiscard]] std::uint64_t& operation_of(std::uint32_t other) noexcept;
    void look_again_at_others() noexcept;
    void resolve_parents() noexcept;
    void resolve_waits() noexcept;
    void resolve_calls() noexcept;
    bool note_await(std::uint32_t awaiter, std::uint32_t child) noexcept;
    void note_call_chain(std::uint32_t awaiter) noexcept;
    [[nodiscard]] std::uint32_t caller_of(std::uint32_t call) const noexcept;
    void resolve_holders() noexcept;
    void find_running() noexcept;
    [[nodiscard]] const known_object& object(std::uint64_t address) noexcept;
    [[nodiscard]] std::uint32_t awaiting(std::uint64_t waiter, const found_coroutine& child) noexcept;
    [[nodiscard]] static std::uint64_t promise_of_waiter(std::uint64_t waiter, std::uint64_t child) noexcept;
    [[nodiscard]] const known_kind& kind(std::uint64_t address) noexcept;
    /// The coroutine with this control, or of the pool with anything in its block; no_coroutine: there is none.
    [[nodiscard]] std::uint32_t find(std::uint64_t control) const noexcept;
    [[nodiscard]] std::uint64_t end_of_block(const slab_copy& s, const found_coroutine& c) const noexcept;
    [[nodiscard]] std::uint32_t find_around(std::uint64_t address) const noexcept;
    [[nodiscard]] std::uint32_t of_environment(std::uint64_t address) const noexcept;
    [[nodiscard]] const slab_copy* slab_of(std::uint64_t address) const noexcept;
    [[nodiscard]] bool is_frame(const char* frame) const noexcept;
    [[nodiscard]] std::size_t size_of_wait(const found_coroutine& c) noexcept;
    [[nodiscard]] bool is_code(std::uint64_t address) const noexcept { return is_in(address, true); }
    [[nodiscard]] bool is_data(std::uint64_t address) const noexcept { return is_in(address, false); }
    [[nodiscard]] bool is_in(std::uint64_t address, bool executable) const noexcept;

    bool complete_ = false;
    tables* tables_ = nullptr;
    std::size_t tables_bytes_ = 0;
    slab_copy* slabs_ = nullptr;
    std::size_t slab_count_ = 0;    // that may have frames, by address
    std::size_t record_slabs_ = 0;  // behind those: of records of waits
    std::size_t slabs_bytes_ = 0;
    found_coroutine* all_ = nullptr;
    std::size_t all_bytes_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t first_other_ = 0;  // from here on in all_
    other_frame* others_ = nullptr;
    std::size_t other_room_ = 0;  // a power of two
    mutable const slab_copy* last_slab_ = nullptr;
    std::uint32_t valid_ = 0;
    std::uint32_t moving_ = 0;
};

}  // namespace coflux::detail::inspection
