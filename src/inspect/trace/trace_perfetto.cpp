// The trace as messages of Perfetto: perfetto.protos.Trace, whose encoding needs no more than varints and lengths.
//
// Source: protos/perfetto/trace/{trace,trace_packet}.proto and track_event/{track_event,track_descriptor,
// process_descriptor,thread_descriptor,debug_annotation}.proto, of which these are the numbers.
#include <string>

#include "inspect/trace/trace_timeline.hpp"
#include "os/thread/thread_number.hpp"

namespace coflux::detail::tracing {
namespace {

namespace trace_field {
constexpr unsigned packet = 1;
}  // namespace trace_field
namespace packet_field {
constexpr unsigned timestamp = 8, sequence = 10, track_event = 11, sequence_flags = 13, previous_packet_dropped = 42,
                   track_descriptor = 60;
}  // namespace packet_field
namespace descriptor_field {
constexpr unsigned uuid = 1, name = 2, process = 3, thread = 4, parent = 5;
constexpr unsigned process_pid = 1, process_name = 6;
constexpr unsigned thread_pid = 1, thread_tid = 2, thread_name = 5;
}  // namespace descriptor_field
namespace event_field {
constexpr unsigned annotation = 4, type = 9, track = 11, category = 22, name = 23, flow = 47, last_of_flow = 48;
constexpr unsigned annotation_name = 10, annotation_text = 6;
}  // namespace event_field
enum event_type : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3 };

/// A message that grows.
class message {
public:
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
    void clear() noexcept { bytes_.clear(); }

    void add(unsigned field, std::uint64_t number) {
        add_varint(field << 3);
        add_varint(number);
    }
    void add(unsigned field, std::string_view text) {
        add_varint(field << 3 | 2);
        add_varint(text.size());
        bytes_ += text;
    }
    void add(unsigned field, const message& m) { add(field, std::string_view(m.bytes_)); }
    /// fixed64
    void add_fixed(unsigned field, std::uint64_t number) {
        add_varint(field << 3 | 1);
        for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(number >> shift & 0xff);
    }

private:
    void add_varint(std::uint64_t number) {
        for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
        bytes_ += static_cast<char>(number);
    }

    std::string bytes_;
};

class perfetto_writer {
public:
    perfetto_writer(const timeline& of, piecewise& out) : of_(of), out_(out) {}

    void write() {
        describe_process();
        for (std::size_t i = 0; i < of_.threads().size(); ++i) describe_thread(i);
        for (const item& i : of_.items()) {
            add(i);
            out_.flush_if_large();
        }
    }

private:
    static constexpr std::uint64_t process_track = 1;
    static constexpr std::uint64_t thread_tracks = 2;
    static constexpr std::uint64_t span_tracks = std::uint64_t{1} << 32;

    void describe_process() {
        message process;
        process.add(descriptor_field::process_pid, process_);
        process.add(descriptor_field::process_name, "coflux");
        message track;
        track.add(descriptor_field::uuid, process_track);
        track.add(descriptor_field::process, process);
        packet_.add(packet_field::sequence_flags, 1);  // SEQ_INCREMENTAL_STATE_CLEARED: nothing is before it
        send(packet_field::track_descriptor, track);
    }
    void describe_thread(std::size_t index) {
        const timeline::thread& t = of_.threads()[index];
        message thread;
        thread.add(descriptor_field::thread_pid, process_);
        thread.add(descriptor_field::thread_tid, t.number);
        thread.add(descriptor_field::thread_name, t.name);
        message track;
        track.add(descriptor_field::uuid, thread_tracks + index);
        track.add(descriptor_field::parent, process_track);
        track.add(descriptor_field::thread, thread);
        if (t.dropped != 0) packet_.add(packet_field::previous_packet_dropped, 1);
        send(packet_field::track_descriptor, track);
        if (t.dropped == 0 || of_.items().empty()) return;
        begin(instant, thread_tracks + index);
        event_.add(event_field::name, "dropped " + std::to_string(t.dropped) + " events");
        send_event(of_.items().front().begin);
    }
    void add(const item& i) {
        std::uint64_t track = thread_tracks + i.thread;
        if (i.kind == item::shape::span) {  // others may begin in it and end behind it, so it has a track of its own
            track = span_tracks + ++spans_;
            message span;
            span.add(descriptor_field::uuid, track);
            span.add(descriptor_field::parent, process_track);
            span.add(descriptor_field::name, i.name);
            send(packet_field::track_descriptor, span);
        }
        begin(i.kind == item::shape::moment ? instant : slice_begin, track);
        event_.add(event_field::category, i.kind == item::shape::span ? "span" : "scheduling");
        event_.add(event_field::name, i.name);
        if (!i.at.empty()) annotate("at", i.at);
        if (!i.from.empty()) annotate("from", i.from);
        if (i.arrow_out != 0) event_.add_fixed(event_field::flow, i.arrow_out);
        if (i.arrow_in != 0) event_.add_fixed(event_field::last_of_flow, i.arrow_in);
        send_event(i.begin);
        if (i.kind == item::shape::moment) return;
        begin(slice_end, track);
        send_event(i.end);
    }
    void annotate(std::string_view name, std::string_view text) {
        message annotation;
        annotation.add(event_field::annotation_name, name);
        annotation.add(event_field::annotation_text, text);
        event_.add(event_field::annotation, annotation);
    }
    void begin(event_type type, std::uint64_t track) {
        event_.clear();
        event_.add(event_field::type, static_cast<std::uint64_t>(type));
        event_.add(event_field::track, track);
    }
    void send_event(std::uint64_t time) {
        packet_.add(packet_field::timestamp, time);
        send(packet_field::track_event, event_);
    }
    void send(unsigned field, const message& content) {
        packet_.add(packet_field::sequence, 1);
        packet_.add(field, content);
        message whole;
        whole.add(trace_field::packet, packet_);
        out_.text += whole.bytes();
        packet_.clear();
    }

    const timeline& of_;
    piecewise& out_;
    message packet_;
    message event_;
    const std::uint64_t process_ = os::this_process_number();
    std::uint64_t spans_ = 0;
};

}  // namespace

void write_perfetto(const timeline& of, void* to, void (*write)(void* to, std::string_view text)) {
    piecewise out(to, write);
    perfetto_writer(of, out).write();
    out.flush();
}

}  // namespace coflux::detail::tracing
