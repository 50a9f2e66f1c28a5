#include <coflux/testing/replay_chooser.hpp>

#include <charconv>
#include <system_error>

namespace coflux::testing {

namespace {

constexpr char letter_of(choice what) noexcept {
    switch (what) {
    case choice::next: return 'n';
    case choice::steal: return 's';
    case choice::amount: return 'a';
    case choice::fault: return 'f';
    case choice::time: break;
    }
    return 't';
}

/// Takes a number from the front of `text`; false if there is none.
template <typename T>
bool take_number(std::string_view& text, T& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take_letter(std::string_view& text, char letter) {
    if (!text.starts_with(letter)) return false;
    text.remove_prefix(1);
    return true;
}

bool take_choice(std::string_view& text, choice& what) {
    for (const choice c : {choice::next, choice::steal, choice::time, choice::amount, choice::fault}) {
        what = c;
        if (take_letter(text, letter_of(c))) return true;
    }
    return false;
}

}  // namespace

std::string to_text(std::span<const decision> schedule) {
    std::string text;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const decision& d = schedule[i];
        if (d.chosen == 0) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(i) + letter_of(d.what) + std::to_string(d.chosen) + '/' + std::to_string(d.of);
    }
    return text.empty() ? "fifo" : text;
}

replay_chooser::replay_chooser(std::span<const decision> schedule) {
    for (std::size_t i = 0; i < schedule.size(); ++i) decisions_.push_back({i, schedule[i]});
}

std::optional<replay_chooser> replay_chooser::parse(std::string_view text) {
    replay_chooser made;
    if (text == "fifo") return made;
    for (;;) {
        recorded r{};
        if (!take_number(text, r.at) || !take_choice(text, r.made.what) || !take_number(text, r.made.chosen) ||
            !take_letter(text, '/') || !take_number(text, r.made.of) || r.made.chosen >= r.made.of ||
            (!made.decisions_.empty() && made.decisions_.back().at >= r.at))
            return std::nullopt;
        made.decisions_.push_back(r);
        if (text.empty()) return made;
        if (!take_letter(text, ',')) return std::nullopt;
    }
}

std::size_t replay_chooser::choose(choice what, std::span<const std::uint64_t> candidates) noexcept {
    const std::size_t now = made_++;
    if (next_ == decisions_.size() || decisions_[next_].at != now) return 0;
    const decision& d = decisions_[next_++].made;
    if ((d.what != what || d.of != candidates.size()) && diverged_at_ == nowhere) diverged_at_ = now;
    return d.what == what && d.chosen < candidates.size() ? d.chosen : 0;
}

}  // namespace coflux::testing
