#include "support/openmetrics.hpp"

#include <cstdlib>
#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace coflux::test {
namespace {

bool has_suffix(std::string_view text, std::string_view suffix) {
    return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

/// The suffixes that the samples of a type have.
std::set<std::string> suffixes_of(const std::string& type) {
    if (type == "counter") return {"_total"};
    if (type == "histogram") return {"_bucket", "_count", "_sum"};
    return {""};
}

class reader {
public:
    std::map<std::string, openmetrics_family> read(std::string_view text) {
        EXPECT_TRUE(has_suffix(text, "\n# EOF\n"));
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            if (end == std::string_view::npos) {
                ADD_FAILURE() << "the last line has no end: " << text;
                break;
            }
            take(std::string(text.substr(0, end)));
            text.remove_prefix(end + 1);
        }
        EXPECT_TRUE(ended_);
        return families_;
    }

private:
    void take(const std::string& line) {
        SCOPED_TRACE(line);
        EXPECT_FALSE(ended_) << "something follows the end";
        static const std::regex meta("# (TYPE|UNIT|HELP) ([a-z_]+) (.*)");
        static const std::regex sample(R"re(([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})? ([0-9.e+-]+))re");
        std::smatch parts;
        if (line == "# EOF") {
            ended_ = true;
        } else if (std::regex_match(line, parts, meta)) {
            take_meta(parts[1], parts[2], parts[3]);
        } else if (std::regex_match(line, parts, sample)) {
            take_sample(parts[1], parts[2], parts[3]);
        } else {
            ADD_FAILURE() << "neither of a family nor a sample";
        }
    }

    void take_meta(const std::string& what, const std::string& name, const std::string& value) {
        if (name != current_) {
            EXPECT_TRUE(families_.emplace(name, openmetrics_family()).second) << "a family in two parts";
            EXPECT_LT(current_, name) << "families are not in order";
            current_ = name;
        }
        openmetrics_family& f = families_[name];
        EXPECT_TRUE(f.samples.empty()) << "it follows a sample";
        std::string& to = what == "TYPE" ? f.type : what == "UNIT" ? f.unit : f.help;
        EXPECT_EQ(to, "") << "it is there twice";
        to = value;
        EXPECT_FALSE(value.empty());
        if (what == "UNIT") {
            EXPECT_TRUE(has_suffix(name, "_" + value)) << "a name ends with its unit";
        }
        if (what == "TYPE" && value == "counter") {
            EXPECT_FALSE(has_suffix(name, "_total")) << "the suffix is the samples'";
        }
    }

    void take_sample(const std::string& name, const std::string& labels, const std::string& value) {
        openmetrics_family& f = families_[current_];
        ASSERT_EQ(name.substr(0, current_.size()), current_) << "it is of another family";
        EXPECT_EQ(suffixes_of(f.type).count(name.substr(current_.size())), 1U);
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        EXPECT_EQ(*end, '\0');
        EXPECT_GE(number, 0) << "nothing that the runtime counts is negative";
        EXPECT_TRUE(f.samples.emplace(name + labels, number).second) << "it is there twice";
    }

    std::map<std::string, openmetrics_family> families_;
    std::string current_;
    bool ended_ = false;
};

}  // namespace

std::map<std::string, openmetrics_family> read_openmetrics(std::string_view text) {
    return reader().read(text);
}

}  // namespace coflux::test
