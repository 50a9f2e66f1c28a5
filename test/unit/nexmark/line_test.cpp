#include <nexmark/generator.hpp>
#include <nexmark/line.hpp>
#include <nexmark/model.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace nexmark = lab::nexmark;

std::vector<nexmark::event> read_again(const std::vector<nexmark::event>& events) {
    std::vector<nexmark::event> again;
    for (const nexmark::event& e : events) {
        again.push_back(nexmark::event_of(nexmark::line_of(e)));
    }
    return again;
}

TEST(nexmark_line, a_bid_has_its_kind_its_numbers_and_its_text) {
    EXPECT_EQ(nexmark::line_of(nexmark::generator{}.make(4)),
              "B,1000,1001,32530001,1436918400000,"
              "fdiysaV^]NLVsbolvyqwgticfdrwdyiyofziYMU\\Z`UaTQO][NX\\RM]WPYTOuwogvszlxjrcNOORM");
}

TEST(nexmark_line, each_query_has_the_same_answer_of_events_that_were_lines) {
    const std::vector<nexmark::event> events = nexmark::make_events({}, 5'000);
    const std::vector<nexmark::event> again = read_again(events);
    for (const nexmark::named_query& each : nexmark::queries) {
        EXPECT_EQ(nexmark::ask(each.which, again).rows, nexmark::ask(each.which, events).rows) << each.name;
    }
}

TEST(nexmark_line, what_is_no_event_is_refused) {
    for (const std::string event : {"B,1000,1001,30,1436918400000,text", "A,1,2,item,description,3,4,5,6,10,text",
                                    "P,1,2,Peter Shultz,a@b.com,1234,Phoenix,AZ,text"}) {
        EXPECT_NO_THROW((void)nexmark::event_of(event)) << event;
        // Cut off before a comma, and with a field more.
        for (std::size_t comma = event.find(','); comma != std::string::npos; comma = event.find(',', comma + 1)) {
            EXPECT_THROW((void)nexmark::event_of(event.substr(0, comma)), std::invalid_argument) << event << comma;
        }
        EXPECT_THROW((void)nexmark::event_of(event + ",more"), std::invalid_argument) << event;
    }
    for (const char* const line :
         {"", ",", "C,1,2", "B,x,1001,30,14,text", "B,1 ,1001,30,14,text", "B,99999999999999999999,1,1,1,text",
          "P,1,2,Peter,a@b.com,1234,Phoenix,AZ,text", "P,1,2,,a@b.com,1234,Phoenix,AZ,text",
          "P,1,2,Peter Shultz,a@b.com,1234,Atlantis,AZ,text"}) {
        EXPECT_THROW((void)nexmark::event_of(line), std::invalid_argument) << line;
    }
}

}  // namespace
