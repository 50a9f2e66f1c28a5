// The text is that of OpenMetrics 1.0 (https://openmetrics.io), "Text Format".
#include <coflux/inspect/metrics.hpp>

#include <charconv>
#include <cmath>

#include "metric_source.hpp"

namespace coflux::detail {
namespace {

using inspect::metric_bucket;
using inspect::metric_family;
using inspect::metric_label;
using inspect::metric_type;

constexpr std::size_t piece = 4096;  // bytes; what is written at once, but for the line that goes beyond it

std::string_view word_of(metric_type t) noexcept {
    switch (t) {
    case metric_type::counter: return "counter";
    case metric_type::gauge: return "gauge";
    case metric_type::histogram: return "histogram";
    }
    return "unknown";
}

/// Backslashes, quotes and ends of lines, which end a text or a name else.
void append_escaped(std::string& to, std::string_view text) {
    for (const char c : text) {
        if (c == '\n') {
            to += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') to += '\\';
        to += c;
    }
}

/// The same whatever the locale is.
void append_number(std::string& to, double value) {
    char digits[32];
    const auto integral = static_cast<std::uint64_t>(value >= 0 && value < 1e18 ? value : 0);
    const auto end = static_cast<double>(integral) == value ? std::to_chars(digits, digits + sizeof digits, integral)
                                                            : std::to_chars(digits, digits + sizeof digits, value);
    to.append(digits, end.ptr);
}

/// The limit of a bucket has a point or an exponent.
std::string limit_text(double limit) {
    if (std::isinf(limit)) return "+Inf";
    std::string text;
    append_number(text, limit);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

void append_labels(std::string& to, const std::vector<metric_label>& labels, const std::string& limit = {}) {
    if (labels.empty() && limit.empty()) return;
    char before = '{';
    const auto append = [&](std::string_view name, std::string_view value) {
        to += before;
        to += name;
        to += "=\"";
        append_escaped(to, value);
        to += '"';
        before = ',';
    };
    for (const metric_label& l : labels) append(l.name, l.value);
    if (!limit.empty()) append("le", limit);
    to += '}';
}

void append_head(std::string& to, const metric_family& f) {
    const auto line = [&](std::string_view what, std::string_view text) {
        ((((to += "# ") += what) += ' ') += f.name) += ' ';
        append_escaped(to, text);
        to += '\n';
    };
    line("TYPE", word_of(f.type));
    if (!f.unit.empty()) line("UNIT", f.unit);
    line("HELP", f.help);
}

void append_sample(std::string& to, const metric_snapshot::entry& e, std::string_view suffix, double value,
                   const std::string& limit = {}) {
    (to += e.family->name) += suffix;
    append_labels(to, e.labels, limit);
    to += ' ';
    append_number(to, value);
    to += '\n';
}

void append_samples(std::string& to, const metric_snapshot::entry& e) {
    switch (e.family->type) {
    case metric_type::counter: return append_sample(to, e, "_total", e.value);
    case metric_type::gauge: return append_sample(to, e, "", e.value);
    case metric_type::histogram: break;
    }
    for (const metric_bucket& b : e.buckets)
        append_sample(to, e, "_bucket", static_cast<double>(b.count), limit_text(b.at_most));
    append_sample(to, e, "_count", static_cast<double>(e.buckets.back().count));
    append_sample(to, e, "_sum", e.value);
}

}  // namespace

void visit_metrics(void* to, void (*visit)(void* to, const inspect::metric& m)) {
    metric_snapshot all;
    metric_source::read_all(all);
    for (const metric_snapshot::entry& e : all.entries()) visit(to, {*e.family, e.labels, e.value, e.buckets});
}

void write_metrics(void* to, void (*write)(void* to, std::string_view text)) {
    metric_snapshot all;
    metric_source::read_all(all);
    std::string text;
    std::string_view last;
    for (const metric_snapshot::entry& e : all.entries()) {
        if (e.family->name != last) append_head(text, *e.family);
        last = e.family->name;
        append_samples(text, e);
        if (text.size() < piece) continue;
        write(to, text);
        text.clear();
    }
    text += "# EOF\n";
    write(to, text);
}

}  // namespace coflux::detail

namespace coflux::inspect {

std::string openmetrics_text() {
    std::string text;
    write_openmetrics([&text](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace coflux::inspect
