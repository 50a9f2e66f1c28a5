#include "support/perfetto.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace coflux::test {
namespace {

enum class wire : unsigned { varint = 0, fixed64 = 1, bytes = 2 };

struct field {
    unsigned number;
    wire type;
    std::uint64_t value;
    std::string_view text;

    [[nodiscard]] std::string_view of(wire wanted) const {
        if (type != wanted) throw std::runtime_error("field " + std::to_string(number) + " is encoded in another way");
        return text;
    }
    [[nodiscard]] std::string string() const { return std::string(of(wire::bytes)); }
    [[nodiscard]] std::uint64_t number_of(wire wanted) const {
        (void)of(wanted);
        return value;
    }
    [[nodiscard]] std::uint64_t varint() const { return number_of(wire::varint); }
};

std::uint64_t take_varint(std::string_view& from) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (from.empty()) throw std::runtime_error("a varint without an end");
        const auto byte = static_cast<unsigned char>(from.front());
        from.remove_prefix(1);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    throw std::runtime_error("a varint that is too long");
}

std::string_view take(std::string_view& from, std::size_t size) {
    if (size > from.size()) throw std::runtime_error("a field that ends behind its message");
    const std::string_view taken = from.substr(0, size);
    from.remove_prefix(size);
    return taken;
}

template <typename F>
void for_each_field(std::string_view message, F f) {
    while (!message.empty()) {
        const std::uint64_t tag = take_varint(message);
        field next{static_cast<unsigned>(tag >> 3), static_cast<wire>(tag & 7), 0, {}};
        switch (next.type) {
        case wire::varint: next.value = take_varint(message); break;
        case wire::fixed64:
            next.text = take(message, 8);
            for (std::size_t i = 8; i != 0; --i)
                next.value = next.value << 8 | static_cast<unsigned char>(next.text[i - 1]);
            break;
        case wire::bytes: next.text = take(message, take_varint(message)); break;
        default: throw std::runtime_error("a wire type that the trace has no use for");
        }
        f(next);
    }
}

[[noreturn]] void refuse(const char* message, const field& f) {
    throw std::runtime_error(std::string(message) + " has no field " + std::to_string(f.number));
}

void read_track(std::string_view message, perfetto_trace& to) {
    std::uint64_t uuid = 0;
    perfetto_track track;
    for_each_field(message, [&](const field& f) {
        switch (f.number) {
        case 1: uuid = f.varint(); break;
        case 2: track.name = f.string(); break;
        case 5: track.parent = f.varint(); break;
        case 3:
            for_each_field(f.of(wire::bytes), [&](const field& p) {
                if (p.number == 1) {
                    track.process = p.varint();
                } else if (p.number == 6) {
                    track.name = p.string();
                } else {
                    refuse("ProcessDescriptor", p);
                }
            });
            break;
        case 4:
            for_each_field(f.of(wire::bytes), [&](const field& t) {
                if (t.number == 1) {
                    track.process = t.varint();
                } else if (t.number == 2) {
                    track.thread = t.varint();
                } else if (t.number == 5) {
                    track.name = t.string();
                } else {
                    refuse("ThreadDescriptor", t);
                }
            });
            break;
        default: refuse("TrackDescriptor", f);
        }
    });
    if (uuid == 0 || !to.tracks.emplace(uuid, track).second) throw std::runtime_error("a track without its own uuid");
}

perfetto_event read_event(std::string_view message) {
    perfetto_event e;
    for_each_field(message, [&](const field& f) {
        switch (f.number) {
        case 4: {
            std::string name;
            std::string text;
            for_each_field(f.of(wire::bytes), [&](const field& a) {
                if (a.number == 10) {
                    name = a.string();
                } else if (a.number == 6) {
                    text = a.string();
                } else {
                    refuse("DebugAnnotation", a);
                }
            });
            e.annotations[name] = text;
            break;
        }
        case 9: e.type = static_cast<perfetto_event::kind>(f.varint()); break;
        case 11: e.track = f.varint(); break;
        case 22: e.categories.push_back(f.string()); break;
        case 23: e.name = f.string(); break;
        case 47: e.flows.push_back(f.number_of(wire::fixed64)); break;
        case 48: e.ended_flows.push_back(f.number_of(wire::fixed64)); break;
        default: refuse("TrackEvent", f);
        }
    });
    return e;
}

void read_packet(std::string_view message, perfetto_trace& to) {
    std::uint64_t time = 0;
    bool has_sequence = false;
    std::string_view event;
    for_each_field(message, [&](const field& f) {
        switch (f.number) {
        case 8: time = f.varint(); break;
        case 10: has_sequence = f.varint() != 0; break;
        case 11: event = f.of(wire::bytes); break;
        case 13: (void)f.varint(); break;
        case 42: to.dropped = f.varint() != 0; break;
        case 60: read_track(f.of(wire::bytes), to); break;
        default: refuse("TracePacket", f);
        }
    });
    if (!has_sequence) throw std::runtime_error("a packet of no sequence");
    if (event.empty()) return;
    perfetto_event e = read_event(event);
    e.time = time;
    if (time == 0 || to.tracks.count(e.track) == 0) throw std::runtime_error("an event without a time or a track");
    to.events.push_back(std::move(e));
}

}  // namespace

perfetto_trace read_perfetto(std::string_view bytes) {
    perfetto_trace read;
    try {
        for_each_field(bytes, [&](const field& f) {
            if (f.number != 1) refuse("Trace", f);
            read_packet(f.of(wire::bytes), read);
        });
    } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
    }
    return read;
}

}  // namespace coflux::test
