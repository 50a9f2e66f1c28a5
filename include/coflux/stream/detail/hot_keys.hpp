// hot_keys: which key has a large share of a worker's records, by a sample.
// Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams"
// (2005), the space-saving sketch. Here: of a sample, with a text only for a key that has come several times.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/stream/key.hpp>

namespace coflux::stream::detail {

/// A key for people: a number, a text, "(a, b)", what its to_string() gives, or "#" and its hash.
template <typename Key>
[[nodiscard]] std::string text_of_key(const Key& key) {
    if constexpr (std::is_convertible_v<const Key&, std::string_view>) {
        return std::string(std::string_view(key));
    } else if constexpr (std::is_enum_v<Key>) {
        return std::to_string(static_cast<std::underlying_type_t<Key>>(key));
    } else if constexpr (std::is_arithmetic_v<Key>) {
        return std::to_string(key);
    } else if constexpr (requires { std::tuple_size<Key>::value; }) {
        std::string text;
        std::apply([&](const auto&... each) { ((text += (text.empty() ? "(" : ", ") + text_of_key(each)), ...); }, key);
        return text + ")";
    } else if constexpr (requires {
                             { to_string(key) } -> std::convertible_to<std::string>;
                         }) {
        return to_string(key);
    } else {
        std::array<char, 20> text{};
        (void)std::snprintf(text.data(), text.size(), "#%016llx", static_cast<unsigned long long>(key_hash()(key)));
        return text.data();
    }
}

/// A key, and its part of a sample.
struct hot_share {
    static constexpr std::size_t most_text = 32;  // a word of a terminal's line: a longer key is cut

    std::array<char, most_text> text{};  // cut, and ended by zeros where there is room
    std::uint32_t seen = 0;
    std::uint32_t samples = 0;

    [[nodiscard]] std::string_view name() const noexcept {
        return {text.data(), static_cast<std::size_t>(std::ranges::find(text, '\0') - text.begin())};
    }
};

/// A hot_share that one actor writes, and any thread reads.
///
/// States: words of one share, and their check; or words of two, while it is written, which their check does not fit.
/// All orders are relaxed: the check, not an order, says that the words belong together.
class published_share {
public:
    void set(const hot_share& share) noexcept {
        const auto w = std::bit_cast<words>(share);
        for (std::size_t i = 0; i != w.size(); ++i) words_[i].store(w[i], std::memory_order_relaxed);
        check_.store(check_of(w), std::memory_order_relaxed);
    }
    /// None: nothing was set, or the writer was within a set() all the time.
    [[nodiscard]] std::optional<hot_share> get() const noexcept {
        for (int attempt = 0; attempt != 8; ++attempt) {
            words w{};
            for (std::size_t i = 0; i != w.size(); ++i) w[i] = words_[i].load(std::memory_order_relaxed);
            if (check_.load(std::memory_order_relaxed) != check_of(w)) continue;
            const auto share = std::bit_cast<hot_share>(w);
            return share.samples == 0 ? std::nullopt : std::optional(share);
        }
        return std::nullopt;
    }

private:
    using words = std::array<std::uint64_t, sizeof(hot_share) / 8>;
    static_assert(sizeof(hot_share) == 40);

    [[nodiscard]] static std::uint64_t check_of(const words& w) noexcept {
        std::uint64_t check = 0;
        for (const std::uint64_t each : w) check = joined_hash(check, each);
        return check;
    }
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<words>> words_{};
    std::atomic<std::uint64_t> check_{0};
};

/// Finds the key that has the most records, if it has more than an eighth of them.
///
/// Threads: one.
/// Costs: it looks at each 64th record, in the mean, at distances that are random: so a source that repeats itself does
/// not hide a key. No allocation once a text has its room.
class hot_keys {
public:
    /// Samples of which a share is told; of fewer it may be chance.
    static constexpr std::uint32_t least_samples = 128;

    explicit hot_keys(std::uint64_t seed) noexcept : random_(seed), skip_(gap()) {}

    /// Looks at some of `count` records: `key_of(i)` gives the key of one.
    template <typename KeyOf>
    void look(std::size_t count, KeyOf key_of) {
        for (; skip_ < count; skip_ += gap()) add(key_of(skip_));
        skip_ -= count;
    }
    /// Takes a sample in.
    template <typename Key>
    void add(const Key& key) {
        entry& e = entry_of(key_hash()(key));
        ++samples_;
        if (++e.seen - e.missed == 4) name(e, text_of_key(key));
    }
    /// The key that has the most, of all samples since the last call, which begins anew; no key has `seen` 0. None: too
    /// few samples.
    [[nodiscard]] std::optional<hot_share> take() noexcept {
        if (samples_ < least_samples) return std::nullopt;
        const entry& most = *std::ranges::max_element(entries_, {}, [](const entry& e) { return e.seen - e.missed; });
        hot_share share;
        share.samples = samples_;
        if ((most.seen - most.missed) * entries_.size() > samples_) {
            share.seen = most.seen - most.missed;
            share.text = most.text;
        }
        entries_ = {};
        samples_ = 0;
        return share;
    }

private:
    struct entry {
        std::uint64_t hash = 0;
        std::uint32_t seen = 0;    // at most so often
        std::uint32_t missed = 0;  // so many of them may be other keys'
        std::array<char, hot_share::most_text> text{};
    };

    [[nodiscard]] std::size_t gap() noexcept {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // D. Knuth, MMIX
        return 1 + (random_ >> 57);
    }
    [[nodiscard]] entry& entry_of(std::uint64_t hash) noexcept {
        entry* least = entries_.data();
        for (entry& each : entries_) {
            if (each.hash == hash && each.seen != 0) return each;
            if (each.seen < least->seen) least = &each;
        }
        least->hash = hash;
        least->missed = least->seen;
        return *least;
    }
    static void name(entry& e, std::string_view text) noexcept {
        e.text = {};
        std::ranges::copy(text.substr(0, e.text.size()), e.text.begin());
    }

    std::array<entry, 8> entries_{};
    std::uint32_t samples_ = 0;
    std::uint64_t random_;
    std::size_t skip_;  // records before the next sample
};

}  // namespace coflux::stream::detail
