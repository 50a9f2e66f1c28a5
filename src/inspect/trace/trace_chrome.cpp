// The trace as Chrome's JSON: "Trace Event Format", its object form.
#include <cstdio>
#include <string>

#include "inspect/trace/trace_timeline.hpp"
#include "os/thread/thread_number.hpp"

namespace coflux::detail::tracing {
namespace {

void add_quoted(std::string& to, std::string_view text) {
    to += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') to += '\\';
        if (static_cast<unsigned char>(c) >= ' ') to += c;
    }
    to += '"';
}

/// Microseconds, with the nanoseconds behind the point.
void add_time(std::string& to, const char* member, std::uint64_t nanoseconds) {
    char text[48];
    std::snprintf(text, sizeof text, "\"%s\":%llu.%03u,", member, static_cast<unsigned long long>(nanoseconds / 1000),
                  static_cast<unsigned>(nanoseconds % 1000));
    to += text;
}

class chrome_writer {
public:
    chrome_writer(const timeline& of, piecewise& out) : of_(of), out_(out) {}

    void write() {
        out_.text += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        begin("M", "process_name", 0);
        out_.text += "\"args\":{\"name\":\"coflux\"}}";
        std::uint64_t dropped = 0;
        for (std::size_t i = 0; i < of_.threads().size(); ++i) {
            const timeline::thread& t = of_.threads()[i];
            dropped += t.dropped;
            begin("M", "thread_name", i);
            out_.text += "\"args\":{\"name\":";
            add_quoted(out_.text, t.name);
            out_.text += "}}";
        }
        for (const item& i : of_.items()) {
            add(i);
            out_.flush_if_large();
        }
        out_.text += "\n],\"otherData\":{\"dropped_events\":" + std::to_string(dropped) + "}}\n";
    }

private:
    void begin(const char* phase, std::string_view name, std::size_t thread) {
        out_.text += first_ ? "{" : ",\n{";
        first_ = false;
        ((out_.text += "\"ph\":\"") += phase) += "\",\"name\":";
        add_quoted(out_.text, name);
        const std::uint64_t number = thread < of_.threads().size() ? of_.threads()[thread].number : 0;
        out_.text += ",\"pid\":" + std::to_string(process_) + ",\"tid\":" + std::to_string(number) + ',';
    }
    void end() {
        out_.text.back() = '}';  // in place of a comma
    }
    void add(const item& i) {
        switch (i.kind) {
        case item::shape::slice:
            begin("X", i.name, i.thread);
            add_time(out_.text, "ts", i.begin);
            add_time(out_.text, "dur", i.end - i.begin);
            break;
        case item::shape::moment:
            begin("i", i.name, i.thread);
            add_time(out_.text, "ts", i.begin);
            out_.text += "\"s\":\"t\",";
            break;
        case item::shape::span: return add_span(i);
        }
        if (!i.at.empty()) {
            out_.text += "\"args\":{\"at\":";
            add_quoted(out_.text, i.at);
            if (!i.from.empty()) {
                out_.text += ",\"from\":";
                add_quoted(out_.text, i.from);
            }
            out_.text += "},";
        }
        end();
        if (i.arrow_in != 0) add_arrow("f", i.arrow_in, i);
        if (i.arrow_out != 0) add_arrow("s", i.arrow_out, i);
    }
    /// Other spans of the thread may begin in it and end behind it, so it is an event of its own number.
    void add_span(const item& i) {
        ++spans_;
        for (const char* const phase : {"b", "e"}) {
            begin(phase, i.name, i.thread);
            out_.text += "\"cat\":\"span\",\"id\":" + std::to_string(spans_) + ',';
            add_time(out_.text, "ts", *phase == 'b' ? i.begin : i.end);
            end();
        }
    }
    void add_arrow(const char* phase, std::uint64_t id, const item& i) {
        begin(phase, "leads to", i.thread);
        out_.text += "\"cat\":\"arrow\",\"id\":" + std::to_string(id) + ',';
        if (*phase == 'f') out_.text += "\"bp\":\"e\",";
        add_time(out_.text, "ts", i.begin);
        end();
    }

    const timeline& of_;
    piecewise& out_;
    const std::uint64_t process_ = os::this_process_number();
    std::uint64_t spans_ = 0;
    bool first_ = true;
};

}  // namespace

void write_chrome(const timeline& of, void* to, void (*write)(void* to, std::string_view text)) {
    piecewise out(to, write);
    chrome_writer(of, out).write();
    out.flush();
}

}  // namespace coflux::detail::tracing
