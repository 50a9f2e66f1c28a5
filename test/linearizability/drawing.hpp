// A history as people read it: a line an operation, with the interval in which it was done.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "linearizability/history.hpp"

namespace coflux_test::linearizability {

/// `[---]` from the call to the return, `[--->` if it had not returned, `x` where a stop was requested of it.
template <typename S>
std::string draw(const S& s, history h) {
    std::sort(h.begin(), h.end(), [](const operation& a, const operation& b) { return a.called < b.called; });
    std::vector<moment> marks;
    for (const operation& o : h) {
        for (const moment m : {o.called, o.returned, o.stop})
            if (m != never) marks.push_back(m);
    }
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    const auto column = [&](moment m) {
        return static_cast<std::size_t>(std::lower_bound(marks.begin(), marks.end(), m) - marks.begin());
    };
    const auto text_of = [&](const operation& o) {
        std::string text = "  actor ";
        text.append(std::to_string(o.actor)).append("  ").append(s.describe(o));
        if (o.stopped) text += ": stopped";
        if (o.returned == never) text += ": waits";
        return text;
    };
    std::size_t width = 0;
    for (const operation& o : h) width = std::max(width, text_of(o).size());
    std::string picture;
    for (const operation& o : h) {
        std::string text = text_of(o);
        text.resize(width + 2, ' ');
        std::string line(marks.size() + 1, ' ');
        const std::size_t from = column(o.called);
        const std::size_t to = o.returned == never ? marks.size() : column(o.returned);
        std::fill(line.begin() + static_cast<std::ptrdiff_t>(from), line.begin() + static_cast<std::ptrdiff_t>(to),
                  '-');
        line[from] = '[';
        line[to] = o.returned == never ? '>' : ']';
        if (o.stop != never && (o.stopped || o.returned == never)) line[column(o.stop)] = 'x';
        line.erase(line.find_last_not_of(' ') + 1);
        picture += text + line + '\n';
    }
    return picture;
}

}  // namespace coflux_test::linearizability
