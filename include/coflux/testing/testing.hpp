// The testing kit, but for what needs more: gtest.hpp and conformance/*_suite.hpp need GoogleTest, and replace_new.hpp
// belongs into one file of a program.
#pragma once

#include <coflux/testing/alloc_guard.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/exhaustive_chooser.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/failing_resource.hpp>
#include <coflux/testing/fault_point.hpp>
#include <coflux/testing/inject.hpp>
#include <coflux/testing/manual_executor.hpp>
#include <coflux/testing/pct_chooser.hpp>
#include <coflux/testing/probe.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/report.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>
