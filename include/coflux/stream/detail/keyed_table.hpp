// keyed_table: a hash table of states by key, without a node for each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <coflux/stream/key.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream::detail {

/// A vector has the entries in no order; an open table of 32-bit cells finds them by linear probing. It is at most half
/// full: how many probes a key takes is what a processor cannot foresee. An entry that is erased is replaced by the
/// last one, so a walk over all sees no gaps.
///
/// A cell has the entry's number and one in as many bits as a place in the table has, and a part of the key's hash in
/// the bits above. So four bytes tell most keys apart without a look at the entry, and a cell of 0 has no entry.
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
        const std::uint32_t hole = entry_of(index_[at], mask_);
        close_gap(at);
        const auto last = static_cast<std::uint32_t>(entries_.size() - 1);
        if (hole != last) {
            std::size_t moved = hash_of(entries_[last].key) & mask_;
            while (entry_of(index_[moved], mask_) != last) moved = (moved + 1) & mask_;
            index_[moved] += hole - last;
            entries_[hole] = std::move(entries_[last]);
        }
        entries_.pop_back();
        return true;
    }
    void clear() noexcept {
        entries_.clear();
        index_.assign(index_.size(), 0);
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
        std::vector<std::uint32_t> index(std::bit_ceil(entries.size() * 2));
        if (!index_all(entries, index)) throw corrupt_state("coflux: the stored state has a key twice");
        entries_ = std::move(entries);
        take(std::move(index));
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::size_t absent = SIZE_MAX;
    /// Keys whose cells are fetched at once.
    static constexpr std::size_t fetched = 32;

    // The slot was chosen by the first bits of the hash, and the place is by its last ones: the tag has those between.
    static std::uint64_t hash_of(const Key& key) noexcept { return key_hash()(key); }
    static std::uint32_t tag_of(std::uint64_t hash, std::size_t mask) noexcept {
        return static_cast<std::uint32_t>(hash >> 24) & ~static_cast<std::uint32_t>(mask);
    }
    static std::uint32_t entry_of(std::uint32_t cell, std::size_t mask) noexcept {
        return (cell & static_cast<std::uint32_t>(mask)) - 1;
    }
    static bool has_tag(std::uint32_t cell, std::uint32_t tag, std::size_t mask) noexcept {
        return (cell ^ tag) <= static_cast<std::uint32_t>(mask);
    }

    // The entry of a key, or none. Not by its place in the index: a state is found in fewer steps without.
    [[nodiscard]] std::uint32_t number_of(const Key& key, std::uint64_t hash) const noexcept {
        const std::uint32_t tag = tag_of(hash, mask_);
        for (std::size_t at = hash & mask_; index_[at] != 0; at = (at + 1) & mask_) {
            if (!has_tag(index_[at], tag, mask_)) continue;
            const std::uint32_t number = entry_of(index_[at], mask_);
            if (entries_[number].key == key) return number;
        }
        return none;
    }
    [[nodiscard]] std::size_t place_of(const Key& key) const noexcept {
        const std::uint64_t hash = hash_of(key);
        const std::uint32_t tag = tag_of(hash, mask_);
        for (std::size_t at = hash & mask_; index_[at] != 0; at = (at + 1) & mask_) {
            if (has_tag(index_[at], tag, mask_) && entries_[entry_of(index_[at], mask_)].key == key) return at;
        }
        return absent;
    }
    // Backward shift: no tombstones. Source: D. E. Knuth, TAOCP 3, 6.4, algorithm R.
    void close_gap(std::size_t gap) noexcept {
        std::size_t at = gap;
        for (;;) {
            at = (at + 1) & mask_;
            if (index_[at] == 0) break;
            const std::size_t home = hash_of(entries_[entry_of(index_[at], mask_)].key) & mask_;
            if (((at - home) & mask_) >= ((at - gap) & mask_)) {
                index_[gap] = index_[at];
                gap = at;
            }
        }
        index_[gap] = 0;
    }
    void grow() {
        std::vector<std::uint32_t> larger(std::max<std::size_t>(16, index_.size() * 2));
        (void)index_all(entries_, larger);
        take(std::move(larger));
    }
    void take(std::vector<std::uint32_t> index) noexcept {
        index_ = std::move(index);
        mask_ = index_.size() - 1;
    }
    // Cells are fetched for many keys before the first of them is looked at: each of a large index would be waited for.
    // Returns: false where a key is there twice. It looks only where two keys meet, in a cell that is at hand.
    static bool index_all(const std::vector<entry>& entries, std::vector<std::uint32_t>& index) {
        const std::size_t mask = index.size() - 1;
        std::array<std::uint64_t, fetched> hashes;
        for (std::size_t first = 0; first != entries.size();) {
            const std::size_t end = std::min(first + fetched, entries.size());
            for (std::size_t i = first; i != end; ++i) {
                const std::uint64_t hash = hashes[i - first] = hash_of(entries[i].key);
                __builtin_prefetch(&index[hash & mask], 1);
            }
            for (std::size_t i = first; i != end; ++i) {
                const std::uint64_t hash = hashes[i - first];
                const std::uint32_t tag = tag_of(hash, mask);
                std::size_t at = hash & mask;
                for (; index[at] != 0; at = (at + 1) & mask) {
                    if (has_tag(index[at], tag, mask) && entries[entry_of(index[at], mask)].key == entries[i].key) {
                        return false;
                    }
                }
                index[at] = tag | static_cast<std::uint32_t>(i + 1);
            }
            first = end;
        }
        return true;
    }

    // Returns: the state of a key that is not in the table.
    [[gnu::noinline]] State& add(const Key& key, std::uint64_t hash, State&& state) {
        if ((entries_.size() + 1) * 2 > index_.size()) grow();
        std::size_t at = hash & mask_;
        while (index_[at] != 0) at = (at + 1) & mask_;
        entries_.push_back(entry{key, std::move(state)});
        index_[at] = tag_of(hash, mask_) | static_cast<std::uint32_t>(entries_.size());
        return entries_.back().state;
    }

    std::vector<entry> entries_;
    std::vector<std::uint32_t> index_ = std::vector<std::uint32_t>(1);
    std::size_t mask_ = 0;
};

}  // namespace coflux::stream::detail
