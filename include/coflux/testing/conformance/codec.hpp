// The laws of a codec and of a key of stream jobs as checks, for foreign types.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <coflux/stream/key.hpp>
#include <coflux/stream/state.hpp>
#include <coflux/testing/conformance/violation.hpp>

namespace coflux::testing {

/// Each law of a codec as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives a `std::vector<T>`, whose values differ from each other, as a rule in size, too. `T` is
/// storable, default-constructible, copyable, and has ==.
namespace codec_laws {

template <typename Make>
using value_of = typename decltype(std::declval<Make&>()())::value_type;

namespace detail {

template <typename T>
std::vector<std::byte> written(const T& value) {
    std::vector<std::byte> bytes;
    stream::state_writer out(bytes);
    out(value);
    return bytes;
}

enum class answer { value, corrupt, other_error };

/// Reads into `into` what is in `bytes`.
template <typename T>
answer read(std::span<const std::byte> bytes, T& into, std::size_t& left) {
    stream::state_reader in(bytes);
    try {
        in(into);
        left = in.left();
        return answer::value;
    } catch (const stream::corrupt_state&) {
        return answer::corrupt;
    } catch (...) {
        return answer::other_error;
    }
}

}  // namespace detail

/// A value is read as it was written, from its own bytes and no others.
template <typename Make>
violations reads_what_was_written(Make make, const conformance_options& = {}) {
    violations found;
    const std::string law = "reads_what_was_written";
    constexpr std::size_t behind = 5;
    for (const auto& value : make()) {
        std::vector<std::byte> bytes = detail::written(value);
        bytes.insert(bytes.end(), behind, std::byte{0xa5});
        value_of<Make> got{};
        std::size_t left = 0;
        if (detail::read(bytes, got, left) != detail::answer::value) {
            found.push_back({law, "a value that was written cannot be read"});
        } else if (left != behind) {
            found.push_back({law, "a read took more or fewer bytes than a write has made"});
        } else if (!(got == value)) {
            found.push_back({law, "a value was read that is not the one that was written"});
        }
        if (!found.empty()) break;
    }
    return found;
}

/// A value is read in place of what was there: nothing of it is left.
template <typename Make>
violations replaces_what_was_there(Make make, const conformance_options& = {}) {
    const auto values = make();
    for (const auto& value : values) {
        const std::vector<std::byte> bytes = detail::written(value);
        for (value_of<Make> got : values) {
            std::size_t left = 0;
            if (detail::read(bytes, got, left) == detail::answer::value && got == value) continue;
            return {
                {"replaces_what_was_there", "a value that was read over another one is not the one that was written"}};
        }
    }
    return {};
}

/// Where the bytes end within a value, a read throws corrupt_state.
template <typename Make>
violations refuses_too_few_bytes(Make make, const conformance_options& options = {}) {
    for (const auto& value : make()) {
        const std::vector<std::byte> bytes = detail::written(value);
        for (std::size_t size = 0; size < std::min(bytes.size(), options.many); ++size) {
            value_of<Make> got{};
            std::size_t left = 0;
            if (detail::read(std::span(bytes).first(size), got, left) == detail::answer::corrupt) continue;
            return {{"refuses_too_few_bytes", "the first " + std::to_string(size) + " of " +
                                                  std::to_string(bytes.size()) +
                                                  " bytes were read without a corrupt_state"}};
        }
    }
    return {};
}

/// Bytes that were changed are a value or corrupt_state, and no other error, as of memory.
template <typename Make>
violations survives_changed_bytes(Make make, const conformance_options& options = {}) {
    for (const auto& value : make()) {
        std::vector<std::byte> bytes = detail::written(value);
        for (std::size_t at = 0; at < std::min(bytes.size(), options.many); ++at) {
            const std::byte before = bytes[at];
            for (const std::byte change : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
                bytes[at] = before ^ change;
                value_of<Make> got{};
                std::size_t left = 0;
                if (detail::read(bytes, got, left) != detail::answer::other_error) continue;
                return {{"survives_changed_bytes", "where byte " + std::to_string(at) +
                                                       " is another one, a read throws something else than "
                                                       "corrupt_state"}};
            }
            bytes[at] = before;
        }
    }
    return {};
}

}  // namespace codec_laws

/// Each law of a key as a function of a maker, which gives what broke it.
///
/// Shapes: `make()` gives a `std::vector<K>` of keys that differ from each other, as many and as like those of a job as
/// can be: of 1 000 or more their spread is looked at. `K` is a stream::key that can be copied.
namespace key_laws {

/// A key is equal to its copies, and to no other.
template <typename Make>
violations is_equal_to_itself_alone(Make make, const conformance_options& options = {}) {
    const auto keys = make();
    const std::size_t some = std::min<std::size_t>(keys.size(), options.rounds);
    for (std::size_t a = 0; a != some; ++a) {
        for (std::size_t b = 0; b != some; ++b) {
            const auto copy = keys[b];
            if ((keys[a] == copy) == (a == b)) continue;
            return {{"is_equal_to_itself_alone",
                     a == b ? "a key is not equal to its copy" : "two keys that differ are equal"}};
        }
    }
    return {};
}

/// Equal keys have one hash, in each run: also one that was stored and read.
template <typename Make>
violations has_one_hash(Make make, const conformance_options& = {}) {
    const auto keys = make();
    const auto again = make();
    for (std::size_t i = 0; i != keys.size(); ++i) {
        const std::uint64_t hash = stream::key_hash()(keys[i]);
        const auto copy = keys[i];
        if (stream::key_hash()(copy) != hash) return {{"has_one_hash", "a key and its copy have two hashes"}};
        if (i < again.size() && again[i] == keys[i] && stream::key_hash()(again[i]) != hash)
            return {{"has_one_hash", "two equal keys have two hashes"}};
        if constexpr (stream::storable<codec_laws::value_of<Make>> &&
                      std::default_initializable<codec_laws::value_of<Make>>) {
            const std::vector<std::byte> bytes = codec_laws::detail::written(keys[i]);
            codec_laws::value_of<Make> got{};
            std::size_t left = 0;
            if (codec_laws::detail::read(bytes, got, left) != codec_laws::detail::answer::value ||
                stream::key_hash()(got) != hash) {
                return {{"has_one_hash", "a key that was stored and read has another hash"}};
            }
        }
    }
    return {};
}

/// Nearly all keys have a hash of their own, and each of 16 slots gets more than a quarter of its part of 1 000 keys.
template <typename Make>
violations spreads(Make make, const conformance_options& = {}) {
    constexpr std::uint32_t slots = 16;
    const auto keys = make();
    std::set<std::uint64_t> hashes;
    std::vector<std::size_t> of_slot(slots);
    for (const auto& k : keys) {
        const std::uint64_t hash = stream::key_hash()(k);
        hashes.insert(hash);
        ++of_slot[stream::detail::slot_of(hash, slots)];
    }
    if ((keys.size() - hashes.size()) * 100 > keys.size()) {
        return {{"spreads", std::to_string(keys.size()) + " keys have " + std::to_string(hashes.size()) +
                                " hashes: a part of the key is not in its hash"}};
    }
    const std::size_t least = std::ranges::min(of_slot);
    if (keys.size() >= 1'000 && least * slots * 4 <= keys.size()) {
        return {{"spreads", "a slot has " + std::to_string(least) + " of " + std::to_string(keys.size()) +
                                " keys, where each of 16 has its part: mix the bits, as by stream::key_hash"}};
    }
    return {};
}

}  // namespace key_laws

/// All laws of a codec.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_codec(Make make, const conformance_options& options = {}) {
    violations found;
    for (const violations& each :
         {codec_laws::reads_what_was_written(make, options), codec_laws::replaces_what_was_there(make, options),
          codec_laws::refuses_too_few_bytes(make, options), codec_laws::survives_changed_bytes(make, options)}) {
        found.insert(found.end(), each.begin(), each.end());
    }
    return found;
}

/// All laws of a key.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_key(Make make, const conformance_options& options = {}) {
    violations found;
    for (const violations& each : {key_laws::is_equal_to_itself_alone(make, options),
                                   key_laws::has_one_hash(make, options), key_laws::spreads(make, options)}) {
        found.insert(found.end(), each.begin(), each.end());
    }
    return found;
}

}  // namespace coflux::testing
