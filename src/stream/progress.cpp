#include <coflux/stream/progress.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/time/timeout.hpp>

#include "os/fs/terminal.hpp"

namespace coflux::stream {
namespace {

template <typename... Args>
std::string formatted(const char* format, Args... args) {
    std::array<char, 64> text{};
    (void)std::snprintf(text.data(), text.size(), format, args...);
    return text.data();
}

// Three digits and a letter, or all digits where there are at most four.
std::string scaled(double n) {
    constexpr std::array units{"", " k", " M", " G", " T", " P"};
    std::size_t unit = 0;
    if (n >= 9'999.5) {
        while (n >= 999.5 && unit + 1 != units.size()) {
            n /= 1'000;
            ++unit;
        }
    }
    const int digits = unit == 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2;
    return formatted("%.*f%s", digits, n, units[unit]);
}
std::string scaled(std::uint64_t n) {
    return scaled(static_cast<double>(n));
}

std::string time_text(event_time t) {
    const auto second = std::chrono::floor<std::chrono::seconds>(t);
    const auto day = std::chrono::floor<std::chrono::days>(second);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(second - day);
    return formatted("%d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                     static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
}

std::string duration_text(std::chrono::seconds d) {
    const std::chrono::hh_mm_ss time(d);
    const auto hours = static_cast<long long>(time.hours().count());
    const auto minutes = static_cast<int>(time.minutes().count());
    const auto seconds = static_cast<int>(time.seconds().count());
    if (hours >= 48) return formatted("%lld days", hours / 24);
    if (hours != 0) return formatted("%lld:%02d:%02d", hours, minutes, seconds);
    return formatted("%d:%02d", minutes, seconds);
}

}  // namespace

std::string to_text(const progress& p) {
    std::string text = scaled(p.records) + " records, ";
    // A source that gives one each minute has a rate, too.
    text += (p.rate < 9.95 && p.rate != 0 ? formatted("%.1f", p.rate) : scaled(p.rate)) + "/s";
    if (p.lag) text += ", lag " + scaled(*p.lag);
    if (p.watermark == end_of_time) {
        text += ", watermark at the end";
    } else if (p.watermark != no_time) {
        text += ", watermark " + time_text(p.watermark);
    }
    if (p.left) text += ", " + duration_text(*p.left) + " left";
    for (const auto& [count, name] : {std::pair(p.failed, "failed"), std::pair(p.skipped, "skipped"),
                                      std::pair(p.dead, "dead"), std::pair(p.late, "late")}) {
        if (count != 0) text += ", " + scaled(count) + " " + name;
    }
    if (!p.hot.empty()) text += ", hot " + p.hot;
    return text;
}

namespace {

std::string percent(double share) {
    return formatted(" %d %%", static_cast<int>(std::lround(share * 100)));
}
// A key that one worker cannot be relieved of; else a partition with at least twice its part.
std::string hottest(const job_snapshot& s) {
    if (!s.hot_keys.empty()) return "key " + s.hot_keys.front().key + percent(s.hot_keys.front().share);
    if (s.partitions.empty()) return "";
    const auto& most = *std::ranges::max_element(s.partitions, {}, &partition_snapshot::share);
    if (s.partitions.size() == 1 || most.share * static_cast<double>(s.partitions.size()) < 2) return "";
    return "partition " + most.name + percent(most.share);
}

}  // namespace

progress progress_meter::see(const job_snapshot& now, clock::time_point at) {
    progress p;
    p.records = now.records;
    p.lag = now.lag;
    p.watermark = now.watermark;
    p.failed = now.failed;
    p.skipped = now.skipped;
    p.dead = now.dead;
    p.late = now.late;
    p.hot = hottest(now);
    if (!seen_.empty() && now.records < seen_.back().records) seen_.clear();  // another run
    if (!seen_.empty()) {
        const seen& from = seen_.front();
        const double seconds = std::chrono::duration<double>(at - from.at).count();
        if (seconds > 0) {
            p.rate = static_cast<double>(now.records - from.records) / seconds;
            if (now.is_bounded && now.lag && from.lag && *now.lag < *from.lag) {
                const double share = static_cast<double>(*now.lag) / static_cast<double>(*from.lag - *now.lag);
                constexpr double most = 1e9;  // seconds: a longer time says nothing
                p.left = std::chrono::seconds(std::llround(std::min(seconds * share, most)));
            }
        }
    }
    seen_.push_back({at, now.records, now.lag});
    if (seen_.size() > 10) seen_.pop_front();
    return p;
}

namespace detail {

std::string line_for_terminal(std::string text, unsigned columns) {
    // The last column stays free: some terminals begin a new line behind it. The escape erases what an older line left.
    if (text.size() >= columns) text.resize(columns - 1);
    return "\r" + text + "\x1b[K";
}

}  // namespace detail

call<void> show_progress(environment&, job_control& control, progress_options options) {
    progress_meter meter;
    if (!options.name.empty()) options.name += ": ";
    for (bool ended = false; !ended;) {
        const unsigned columns = coflux::detail::os::columns_of(options.to);
        auto every = options.every;
        if (every.count() <= 0) every = columns != 0 ? std::chrono::milliseconds(500) : std::chrono::seconds(10);
        ended = !(co_await timeout(control.run_ended(), every)).timed_out();
        const std::string text = options.name + to_text(meter.see(control.snapshot(), clock::now()));
        std::string out = columns != 0 ? detail::line_for_terminal(text, columns) : text;
        if (columns == 0 || ended) out += "\n";
        (void)std::fwrite(out.data(), 1, out.size(), options.to);
        (void)std::fflush(options.to);
    }
}

}  // namespace coflux::stream
