#include <coflux/stream/detail/checkpoint_file.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

#include <coflux/stream/detail/checksum.hpp>

namespace coflux::stream::detail {
namespace {

constexpr std::string_view magic = "cofluxcp";
constexpr std::uint32_t version = 1;
constexpr std::size_t sum_size = sizeof(std::uint64_t);

void write_fields(state_writer& out, const checkpoint_head& head) {
    out(head.job, head.number, head.slots);
    out.size(head.at.size());
    for (const position& p : head.at) out(p.partition, p.next);
    out.size(head.states.size());
    for (const stored_state& s : head.states) out(s.region, s.slot, s.file, s.size, s.sum);
}
checkpoint_head read_fields(state_reader& in) {
    checkpoint_head head;
    in(head.job, head.number, head.slots);
    for (std::size_t n = in.size(16); n != 0; --n) {
        position& p = head.at.emplace_back();
        in(p.partition, p.next);
    }
    for (std::size_t n = in.size(32); n != 0; --n) {
        stored_state& s = head.states.emplace_back();
        in(s.region, s.slot, s.file, s.size, s.sum);
    }
    return head;
}

}  // namespace

std::uint64_t checkpoint_head::own_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const stored_state& s : states) {
        if (s.file == number) sum += s.size;
    }
    return sum;
}

void throw_corrupt(const std::string& file, std::uint64_t byte, const std::string& why) {
    throw corrupt_state("coflux: the checkpoint " + file + ", byte " + std::to_string(byte) + ": " + why);
}

std::vector<std::byte> written_head(const checkpoint_head& head) {
    std::vector<std::byte> fields;
    state_writer into_fields(fields);
    write_fields(into_fields, head);
    std::vector<std::byte> all;
    state_writer out(all);
    out.bytes(std::as_bytes(std::span(magic)));
    out(version);
    out.size(checkpoint_prefix + fields.size() + sum_size);
    out.bytes(fields);
    out(checksum(all));
    return all;
}

std::size_t size_of_head(std::span<const std::byte> prefix, std::uint64_t all, const std::string& file) {
    if (prefix.size() < checkpoint_prefix) {
        throw_corrupt(file, prefix.size(), "it ends there, within what each checkpoint begins with");
    }
    if (!std::ranges::equal(prefix.first(magic.size()), std::as_bytes(std::span(magic)))) {
        throw_corrupt(file, 0, "it does not begin as a checkpoint");
    }
    state_reader in(prefix.subspan(magic.size(), checkpoint_prefix - magic.size()));
    const auto written_by = in.number<std::uint32_t>();
    if (written_by != version) {
        throw_corrupt(file, magic.size(),
                      "its format is version " + std::to_string(written_by) + "; this program reads version " +
                          std::to_string(version));
    }
    const auto size = in.number<std::uint64_t>();
    if (size > all) {
        throw_corrupt(file, all, "it ends there, and its head alone has " + std::to_string(size) + " bytes");
    }
    if (size < checkpoint_prefix + sum_size) throw_corrupt(file, magic.size() + sizeof version, "the size of its head");
    return static_cast<std::size_t>(size);
}

checkpoint_head read_head(std::span<const std::byte> head, const std::string& file) {
    const std::size_t end = head.size() - sum_size;
    // [stream.checkpoint.sum]
    if (state_reader(head.subspan(end)).number<std::uint64_t>() != checksum(head.first(end))) {
        throw_corrupt(file, end, "the checksum is not that of the bytes before it");
    }
    checkpoint_head read;
    state_reader in(head.subspan(checkpoint_prefix, end - checkpoint_prefix));
    try {
        read = read_fields(in);
    } catch (const corrupt_state& e) {
        throw_corrupt(file, end - in.left(), e.what());
    }
    if (in.left() != 0) throw_corrupt(file, end - in.left(), "its head has more than there is to say");
    for (const stored_state& s : read.states) {
        if (s.file > read.number) throw_corrupt(file, 0, "a state of it is in a later checkpoint");
    }
    return read;
}

void check_size(const checkpoint_head& head, std::size_t size, std::uint64_t all, const std::string& file) {
    std::uint64_t own = size;
    for (const stored_state& s : head.states) {
        if (s.file != head.number) continue;
        if (s.size > std::numeric_limits<std::uint64_t>::max() - own) throw_corrupt(file, 0, "the size of its states");
        own += s.size;
    }
    // [stream.checkpoint.size]
    if (own != all) {
        throw_corrupt(file, std::min(own, all),
                      "it has " + std::to_string(all) + " bytes, and its head speaks of " + std::to_string(own));
    }
}

}  // namespace coflux::stream::detail
