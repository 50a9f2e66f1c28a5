// keyed_table: a hash table of states by key, without a node for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <coflux/stream/key.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream::detail {

/// A vector has the entries in no order; an open table of 32-bit indexes finds them by linear probing. It is at most
/// half full: how many probes a key takes is what a processor cannot foresee. An entry that is erased is replaced by
/// the last one, so a walk over all sees no gaps.
template <typename Key, typename State>
class keyed_table {
public:
    static constexpr bool reads_ahead = false;
    struct entry {
        Key key;
        State state;
    };

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] auto begin() noexcept { return entries_.begin(); }
    [[nodiscard]] auto end() noexcept { return entries_.end(); }
    [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
    [[nodiscard]] auto end() const noexcept { return entries_.end(); }

    /// The state of `key`; a new one where there is none.
    [[nodiscard]] State& operator[](const Key& key) {
        const std::uint64_t hash = hash_of(key);
        const std::uint32_t found = number_of(key, hash);
        return found == none ? add(key, hash, State()) : entries_[found].state;
    }
    /// Lets the state of `key`, which may be a part of it, be this one.
    void set(const Key& key, State&& state) {
        if (State* const found = find(key)) {
            *found = std::move(state);
        } else {
            add(key, hash_of(key), std::move(state));
        }
    }
    /// Calls `change(state)`. A key that is new goes again where that throws.
    template <typename Change>
    State& add_to(const Key& key, Change change) {
        const std::size_t before = entries_.size();
        State& state = (*this)[key];
        try {
            change(state);
        } catch (...) {
            if (entries_.size() != before) erase(key);
            throw;
        }
        return state;
    }
    /// The state of `key`, or nullptr.
    [[nodiscard]] State* find(const Key& key) noexcept {
        const std::uint32_t found = number_of(key, hash_of(key));
        return found == none ? nullptr : &entries_[found].state;
    }
    [[nodiscard]] const State* find(const Key& key) const noexcept {
        const std::uint32_t found = number_of(key, hash_of(key));
        return found == none ? nullptr : &entries_[found].state;
    }
    /// Returns: whether there was one.
    bool erase(const Key& key) {
        const std::size_t at = place_of(key);
        if (at == absent) return false;
        const std::uint32_t hole = index_[at].entry;
        close_gap(at);
        const auto last = static_cast<std::uint32_t>(entries_.size() - 1);
        if (hole != last) {
            std::size_t moved = hash_of(entries_[last].key) & mask_;
            while (index_[moved].entry != last) moved = (moved + 1) & mask_;
            index_[moved].entry = hole;
            entries_[hole] = std::move(entries_[last]);
        }
        entries_.pop_back();
        return true;
    }
    void clear() noexcept {
        entries_.clear();
        index_.assign(index_.size(), {});
    }

    void save(state_writer& out) const {
        out.size(entries_.size());
        for (const entry& each : entries_) out(each.key, each.state);
    }
    /// In place of what it has. It gets its size before it is filled, and no key is looked for.
    /// Errors: corrupt_state, also where a key is there twice; the table is as before.
    void load(state_reader& in) {
        std::size_t left = in.size();
        std::vector<entry> entries;
        entries.reserve(left);
        for (; left != 0; --left) {
            entry& each = entries.emplace_back();
            in(each.key, each.state);
        }
        std::vector<cell> index(std::bit_ceil(entries.size() * 2));
        if (!index_all(entries, index)) throw corrupt_state("coflux: the stored state has a key twice");
        entries_ = std::move(entries);
        take(std::move(index));
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::size_t absent = SIZE_MAX;
    struct cell {
        std::uint32_t entry = none;
        std::uint32_t tag = 0;
    };

    // The slot was chosen by the first bits of the hash, so a place is found by its last ones.
    static std::uint64_t hash_of(const Key& key) noexcept { return key_hash()(key); }
    static std::uint32_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }

    // The entry of a key, or none. Not by its place in the index: a state is found in fewer steps without.
    [[nodiscard]] std::uint32_t number_of(const Key& key, std::uint64_t hash) const noexcept {
        const std::uint32_t tag = tag_of(hash);
        for (std::size_t at = hash & mask_; index_[at].entry != none; at = (at + 1) & mask_) {
            if (index_[at].tag == tag && entries_[index_[at].entry].key == key) return index_[at].entry;
        }
        return none;
    }
    [[nodiscard]] std::size_t place_of(const Key& key) const noexcept {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash & mask_; index_[at].entry != none; at = (at + 1) & mask_) {
            if (index_[at].tag == tag_of(hash) && entries_[index_[at].entry].key == key) return at;
        }
        return absent;
    }
    // Backward shift: no tombstones. Source: D. E. Knuth, TAOCP 3, 6.4, algorithm R.
    void close_gap(std::size_t gap) noexcept {
        std::size_t at = gap;
        for (;;) {
            at = (at + 1) & mask_;
            if (index_[at].entry == none) break;
            const std::size_t home = hash_of(entries_[index_[at].entry].key) & mask_;
            if (((at - home) & mask_) >= ((at - gap) & mask_)) {
                index_[gap] = index_[at];
                gap = at;
            }
        }
        index_[gap] = {};
    }
    void grow() {
        std::vector<cell> larger(std::max<std::size_t>(16, index_.size() * 2));
        (void)index_all(entries_, larger);
        take(std::move(larger));
    }
    void take(std::vector<cell> index) noexcept {
        index_ = std::move(index);
        mask_ = index_.size() - 1;
    }
    // Returns: false where a key is there twice. It looks only where two keys meet, in a cell that is at hand.
    static bool index_all(const std::vector<entry>& entries, std::vector<cell>& index) {
        const std::size_t mask = index.size() - 1;
        for (std::uint32_t i = 0; i != entries.size(); ++i) {
            const std::uint64_t hash = hash_of(entries[i].key);
            const std::uint32_t tag = tag_of(hash);
            std::size_t at = hash & mask;
            for (; index[at].entry != none; at = (at + 1) & mask) {
                if (index[at].tag == tag && entries[index[at].entry].key == entries[i].key) return false;
            }
            index[at] = {i, tag};
        }
        return true;
    }

    // Returns: the state of a key that is not in the table.
    [[gnu::noinline]] State& add(const Key& key, std::uint64_t hash, State&& state) {
        if ((entries_.size() + 1) * 2 > index_.size()) grow();
        std::size_t at = hash & mask_;
        while (index_[at].entry != none) at = (at + 1) & mask_;
        entries_.push_back(entry{key, std::move(state)});
        index_[at] = {static_cast<std::uint32_t>(entries_.size() - 1), tag_of(hash)};
        return entries_.back().state;
    }

    std::vector<entry> entries_;
    std::vector<cell> index_ = std::vector<cell>(1);
    std::size_t mask_ = 0;
};

}  // namespace coflux::stream::detail
