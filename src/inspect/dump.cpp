#include <coflux/inspect/dump.hpp>

#include <algorithm>

#include "inspect/bounded_text.hpp"
#include "inspect/report.hpp"
#include "inspect/snapshot.hpp"
#include "os/process/own_memory.hpp"

namespace coflux::inspect {
namespace {

using detail::inspection::bounded_text;
using detail::inspection::snapshot;

/// The text, in pages of the system.
class report {
public:
    explicit report(const dump_options& options) noexcept
        : bytes_(std::max<std::size_t>(options.limit, 2 * detail::inspection::room_for_rest)),
          pages_(static_cast<char*>(detail::os::map_pages(bytes_))),
          text_(pages_, pages_ == nullptr ? 0 : bytes_) {
        const snapshot now;
        if (!now.complete()) {
            text_.add(options.format == format::json
                          ? "{\"version\":1,\"error\":\"the process cannot read its own memory\"}\n"
                          : "coflux: the system does not let the process read its own memory\n");
            return;
        }
        switch (options.format) {
        case format::grouped: write_groups(now, text_); break;
        case format::tree: write_tree(now, text_); break;
        case format::json: write_json(now, text_); break;
        }
    }
    ~report() {
        if (pages_ != nullptr) detail::os::unmap_pages(pages_, bytes_);
    }
    report(const report&) = delete;
    report& operator=(const report&) = delete;

    [[nodiscard]] std::string_view text() const noexcept { return text_.view(); }

private:
    std::size_t bytes_;
    char* pages_;
    bounded_text text_;
};

}  // namespace

std::string dump(const dump_options& options) {
    return std::string(report(options).text());
}

bool dump_to(int descriptor, const dump_options& options) noexcept {
    const detail::os::kept_errno kept;
    const report r(options);
    return detail::os::write_all(descriptor, r.text().data(), r.text().size()) && !r.text().empty();
}

}  // namespace coflux::inspect
