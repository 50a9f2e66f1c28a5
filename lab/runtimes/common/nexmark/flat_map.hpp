// A hash table by numbers that are not negative: one array, linear probing, no allocation but where it grows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab::nexmark {

template <typename Value>
class flat_map {
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] Value* find(std::int64_t key) noexcept {
        slot& found = slots_[place_of(key)];
        return found.key == key ? &found.value : nullptr;
    }

    // A Value{} where there was none.
    Value& operator[](std::int64_t key) {
        std::size_t at = place_of(key);
        if (slots_[at].key != key) {
            if (2 * (size_ + 1) > slots_.size()) {
                grow();
                at = place_of(key);
            }
            slots_[at].key = key;
            ++size_;
        }
        return slots_[at].value;
    }

    void erase(std::int64_t key) {
        std::size_t hole = place_of(key);
        if (slots_[hole].key != key) {
            return;
        }
        // Entries that were pushed behind the hole come back, so that no search ends at it too early.
        for (std::size_t at = next(hole); slots_[at].key != none; at = next(at)) {
            const std::size_t wished = wish_of(slots_[at].key);
            if (((at - wished) & mask()) >= ((at - hole) & mask())) {
                slots_[hole] = std::move(slots_[at]);
                hole = at;
            }
        }
        slots_[hole] = slot{};
        --size_;
    }

    // `is_done(key, value)` is asked once of each.
    template <typename Is>
    void erase_if(Is is_done) {
        std::vector<slot> before(slots_.size());
        before.swap(slots_);
        size_ = 0;
        for (slot& each : before) {
            if (each.key != none && !is_done(each.key, std::as_const(each.value))) {
                (*this)[each.key] = std::move(each.value);
            }
        }
    }

    template <typename Do>
    void for_each(Do what) const {
        for (const slot& each : slots_) {
            if (each.key != none) {
                what(each.key, each.value);
            }
        }
    }

    void clear() {
        slots_.assign(slots_.size(), slot{});
        size_ = 0;
    }

private:
    static constexpr std::int64_t none = -1;
    static constexpr std::size_t least_slots = 64;

    struct slot {
        std::int64_t key = none;
        Value value{};
    };

    [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }
    [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
    [[nodiscard]] std::size_t wish_of(std::int64_t key) const noexcept {
        return static_cast<std::uint64_t>(key) * 0x9E37'79B9'7F4A'7C15 >> shift_;
    }
    // Where the key is, or where it would be.
    [[nodiscard]] std::size_t place_of(std::int64_t key) const noexcept {
        std::size_t at = wish_of(key);
        while (slots_[at].key != key && slots_[at].key != none) {
            at = next(at);
        }
        return at;
    }
    void grow() {
        std::vector<slot> before(2 * slots_.size());
        before.swap(slots_);
        --shift_;
        for (slot& each : before) {
            if (each.key != none) {
                slots_[place_of(each.key)] = std::move(each);
            }
        }
    }

    std::vector<slot> slots_ = std::vector<slot>(least_slots);
    int shift_ = 64 - std::countr_zero(least_slots);
    std::size_t size_ = 0;
};

}  // namespace lab::nexmark
