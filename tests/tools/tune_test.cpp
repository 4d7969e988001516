// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle tune without a device: statistics, the search over simulated candidates, the journal, files of tuning, child
// processes.

#include "tools/heddle/child_process.h"
#include "tools/heddle/duration.h"
#include "tools/heddle/files.h"
#include "tools/heddle/fingerprint.h"
#include "tools/heddle/json_value.h"
#include "tools/heddle/tune_journal.h"
#include "tools/heddle/tune_search.h"
#include "tools/heddle/tuning_lines.h"

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <unistd.h>

namespace heddle::cli {
namespace {

TEST(SignTest, IsExact) {
  // Sums of binomial coefficients over 2^n.
  EXPECT_NEAR(signTest(15, 0), 1.0 / 32768, 1e-12);
  EXPECT_NEAR(signTest(13, 2), (105.0 + 15 + 1) / 32768, 1e-12);
  EXPECT_NEAR(signTest(12, 3), (455.0 + 105 + 15 + 1) / 32768, 1e-12);
  EXPECT_NEAR(signTest(17, 4), (5985.0 + 1330 + 210 + 21 + 1) / 2097152, 1e-12);
  EXPECT_NEAR(signTest(0, 15), 1, 1e-12);
  EXPECT_NEAR(signTest(0, 0), 1, 1e-12);
  EXPECT_NEAR(signTest(600, 400), 1.364232e-10, 1e-15);
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(IsProven, NeedsPairsAndSignsAndTheBound) {
  EXPECT_FALSE(isProven(compare(std::vector<double>(14, 0.5)), 0.98));
  EXPECT_TRUE(isProven(compare(std::vector<double>(15, 0.5)), 0.98));
  EXPECT_FALSE(isProven(compare(std::vector<double>(15, 0.985)), 0.98));
  std::vector<double> mixed(15, 0.9);
  std::fill_n(mixed.begin(), 3, 1.1); // 12 wins of 15: chance is 1.8 %
  EXPECT_FALSE(isProven(compare(mixed), 0.98));
  mixed[0] = 0.9;
  EXPECT_TRUE(isProven(compare(mixed), 0.98));
  mixed.assign(15, 1); // ties are no wins
  EXPECT_EQ(compare(mixed).probability, 1);
}

/// Candidates with known times on a machine that disturbs a run out of eight by up to a factor of three. The first pair
/// of each takes |setUp| seconds more.
class Simulation : public PairSource {
public:
  Simulation(std::vector<double> times, double seconds, double setUp = 0)
      : times(std::move(times)), left(seconds), setUp(setUp) {}

  std::optional<double> measure(size_t candidate, bool baselineFirst) override {
    ++pairs;
    firsts += baselineFirst;
    if (times[candidate] == 0) {
      ++failures;
      return std::nullopt;
    }
    const double baseline = disturbed(times[0]), own = disturbed(times[candidate]);
    spent += baseline + own;
    left -= baseline + own + (known.insert(candidate).second ? setUp : 0);
    return own / baseline;
  }

  double secondsLeft() override { return left; }

  double secondsAPair() override { return pairs ? spent / static_cast<double>(pairs) : 0; }

  size_t pairs = 0, firsts = 0, failures = 0;

private:
  double disturbed(double seconds) {
    std::uniform_real_distribution<double> uniform(0, 1);
    const double noise = 1 + 0.01 * uniform(random);
    return seconds * noise * (uniform(random) < 0.125 ? 1 + 2 * uniform(random) : 1);
  }

  std::vector<double> times;
  double left, setUp, spent = 0;
  std::set<size_t> known;
  std::mt19937 random{12345};
};

TEST(FindFastest, FindsTheFastestOfMany) {
  std::vector<double> times(64, 1.3);
  times[0] = 1;
  times[41] = 0.7;
  times[17] = 0.75;
  times[5] = 0; // crashes
  Simulation simulation(times, 1e6);
  const auto [win, ranOut] = findFastest(times.size(), simulation);
  ASSERT_TRUE(win);
  EXPECT_EQ(win->candidate, 41u);
  EXPECT_FALSE(ranOut);
  EXPECT_NEAR(win->proof.medianRatio, 0.7, 0.03);
  EXPECT_GE(win->proof.pairs, kLeastPairs);
  EXPECT_LT(win->proof.probability, 0.01);
  EXPECT_EQ(simulation.failures, 1u); // what is out stays out
  EXPECT_NEAR(static_cast<double>(simulation.firsts) / static_cast<double>(simulation.pairs), 0.5, 0.01);
}

TEST(FindFastest, MeasuresSlowCandidatesLittle) {
  std::vector<double> times(101, 10);
  times[0] = 1;
  times[1] = 0.5;
  Simulation simulation(times, 1e6);
  ASSERT_TRUE(findFastest(times.size(), simulation).win);
  EXPECT_LT(simulation.pairs, 100 + 50u);
}

TEST(FindFastest, ClaimsNothingWhereNothingIsFaster) {
  for (double other : {1.0, 0.99, 1.2}) {
    std::vector<double> times(40, other);
    times[0] = 1;
    Simulation simulation(times, 1e6);
    const auto [win, ranOut] = findFastest(times.size(), simulation);
    EXPECT_FALSE(win) << other;
    EXPECT_FALSE(ranOut) << other;
  }
  Simulation alone({1}, 1e6);
  EXPECT_FALSE(findFastest(1, alone).win);
  Simulation nothing({}, 1e6);
  EXPECT_FALSE(findFastest(0, nothing).win);
}

TEST(FindFastest, KeepsTimeForTheProof) {
  std::vector<double> times(1000, 0.95);
  times[0] = 1;
  times[3] = 0.6;
  // Enough for some 150 pairs.
  Simulation simulation(times, 300);
  const auto [win, ranOut] = findFastest(times.size(), simulation);
  ASSERT_TRUE(win);
  EXPECT_EQ(win->candidate, 3u);
  EXPECT_TRUE(ranOut); // the last ones weren't measured
  EXPECT_LT(simulation.pairs, 170u);
}

TEST(FindFastest, KeepsAsManyPairsAsAProofTakes) {
  std::vector<double> times(20, 0.5);
  times[0] = 1;
  // Enough for some 32 pairs, of which a quarter would prove nothing.
  Simulation simulation(times, 55);
  const auto [win, ranOut] = findFastest(times.size(), simulation);
  ASSERT_TRUE(win);
  EXPECT_GE(win->proof.pairs, kLeastPairs);
  EXPECT_TRUE(ranOut);
}

TEST(FindFastest, TakesNoPairForAsLongAsItsSetUp) {
  std::vector<double> times(20, 0.9);
  times[0] = 1;
  times[5] = 0.5;
  // Twenty-one pairs of 20 s would be more than there is.
  Simulation simulation(times, 400, 18);
  const auto [win, ranOut] = findFastest(times.size(), simulation);
  ASSERT_TRUE(win);
  EXPECT_EQ(win->candidate, 5u);
}

TEST(FindFastest, StopsWithoutTime) {
  Simulation simulation({1, 0.5, 0.5}, 0);
  const auto [win, ranOut] = findFastest(3, simulation);
  EXPECT_FALSE(win);
  EXPECT_TRUE(ranOut);
  EXPECT_EQ(simulation.pairs, 0u);
}

TEST(Duration, IsReadAndWritten) {
  EXPECT_EQ(parseDuration("10m"), 600);
  EXPECT_EQ(parseDuration("90"), 90);
  EXPECT_EQ(parseDuration("90s"), 90);
  EXPECT_EQ(parseDuration("1h30m5s"), 5405);
  for (const char *bad : {"", "0", "0m", "m", "10x", "5m1h", "5s5s", "1h30", "-1", "1.5m", "10 m", "9999999999h"})
    EXPECT_FALSE(parseDuration(bad)) << bad;
  EXPECT_EQ(formatDuration(252.9), "4m12s");
  EXPECT_EQ(formatDuration(59), "59s");
  EXPECT_EQ(formatDuration(3900), "1h05m");
  EXPECT_EQ(formatDuration(-1), "0s");
}

TEST(Fingerprint, IsWhatLinuxKnowsOfTheCpu) {
  std::string error;
  const JsonValue value = *parseJson(fingerprintOfCpu(3), error);
  EXPECT_EQ(value.line(), fingerprintOfCpu(3));
  EXPECT_EQ(value.findString("kind"), "cpu");
  EXPECT_EQ(value.findInteger("threads"), 3);
  std::map<std::string, std::string> known;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();)
    known[line.substr(0, line.find('\t'))] = line.substr(std::min(line.find(':') + 2, line.size()));
  EXPECT_EQ(value.findString("vendor"), known["vendor_id"]);
  EXPECT_EQ(std::to_string(value.findInteger("family").value_or(-1)), known["cpu family"]);
  EXPECT_EQ(std::to_string(value.findInteger("model").value_or(-1)), known["model"]);
}

/// A folder that is gone afterwards.
class TuneFiles : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/heddle-tune-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }

  std::string folder;
  std::vector<std::string> remarks;
};

TuningEntry entryOf(const std::string &signature, const std::string &rows, double ratio) {
  return {"{\"kind\":\"cpu\"}", signature, rows, "{\"tile\":[6,16]}", ratio, 21, "heddle 0.1.0"};
}

TEST_F(TuneFiles, LinesAreSortedAndTheLaterOneWins) {
  TuningLines file;
  file.add(entryOf("b", "1", 0.9));
  file.add(entryOf("a", "17-64", 0.8));
  file.add(entryOf("a", "17-64", 0.7));
  const std::string path = folder + "/x.tuning.jsonl";
  file.write(path);
  const std::string line = "{\"heddle_tuning\":1,\"device\":{\"kind\":\"cpu\"},\"signature\":\"a\",\"rows\":\"17-64\","
                           "\"config\":{\"tile\":[6,16]},\"ratio\":0.7,\"pairs\":21,\"producer\":\"heddle 0.1.0\"}\n";
  EXPECT_EQ(readFile(path), line + entryOf("b", "1", 0.9).line());
  TuningLines again;
  again.read(path, remarks);
  EXPECT_EQ(again.text(), file.text());
  EXPECT_TRUE(remarks.empty());
}

TEST_F(TuneFiles, DamagedLinesAreLeftOutWithAReason) {
  const std::string good = entryOf("a", "1", 0.9).line();
  const std::string path =
      write("x.tuning.jsonl", good.substr(0, good.size() / 2) + "\n\n{\"heddle_tuning\":2}\n[]\n" +
                                  "{\"heddle_tuning\":1,\"device\":{},\"signature\":\"a\"}\n" + good);
  TuningLines file;
  file.read(path, remarks);
  EXPECT_EQ(file.text(), good);
  ASSERT_EQ(remarks.size(), 4u);
  EXPECT_EQ(remarks[1], path + ":3: line left out: it has version 2, this command reads 1");
  EXPECT_EQ(remarks[3], path + ":5: line left out: expects \"rows\", a text");
}

TEST_F(TuneFiles, UnknownFieldsAreIgnored) {
  std::string reason;
  EXPECT_TRUE(parseTuningLine(
      R"({"heddle_tuning":1,"device":{},"signature":"a","rows":"1","config":{},"weather":"rain"})", reason));
}

const Trial trial{"f32_contract", "1", "{\"tile\":1}"};
const std::string baseline = "{\"tile\":0}";

TEST_F(TuneFiles, JournalGoesOnWhereItEnded) {
  const std::string path = folder + "/journal";
  {
    TuneJournal journal(path, "a run", remarks);
    journal.addRatio(trial, baseline, 0.5);
    journal.addRatio(trial, baseline, 0.25);
    journal.addRatio(trial, "{\"tile\":2}", 2);
    journal.addFailure({"f32_contract", "1", "{\"tile\":3}"}, "killed by signal 11");
  }
  TuneJournal journal(path, "a run", remarks);
  EXPECT_TRUE(remarks.empty());
  EXPECT_EQ(journal.resumedCount(), 3u);
  EXPECT_EQ(journal.takeRatio(trial, baseline), 0.5);
  EXPECT_EQ(journal.takeRatio(trial, baseline), 0.25);
  EXPECT_FALSE(journal.takeRatio(trial, baseline));
  EXPECT_FALSE(journal.findFailure(trial));
  ASSERT_TRUE(journal.findFailure({"f32_contract", "1", "{\"tile\":3}"}));
}

TEST_F(TuneFiles, JournalDropsAHalfWrittenLine) {
  const std::string path = folder + "/journal";
  {
    TuneJournal journal(path, "a run", remarks);
    journal.addRatio(trial, baseline, 0.5);
    journal.addRatio(trial, baseline, 0.25);
  }
  std::string bytes = readFile(path);
  write("journal", bytes.substr(0, bytes.size() - 9));
  {
    TuneJournal journal(path, "a run", remarks);
    ASSERT_EQ(remarks.size(), 1u);
    EXPECT_EQ(remarks[0], path + ": dropped the last line, which is half-written");
    EXPECT_EQ(journal.resumedCount(), 1u);
    journal.addRatio(trial, baseline, 0.75);
  }
  remarks.clear();
  TuneJournal journal(path, "a run", remarks);
  EXPECT_TRUE(remarks.empty());
  EXPECT_EQ(journal.takeRatio(trial, baseline), 0.5);
  EXPECT_EQ(journal.takeRatio(trial, baseline), 0.75);
}

TEST_F(TuneFiles, JournalOfAnotherRunStartsAnew) {
  const std::string path = folder + "/journal";
  {
    TuneJournal journal(path, "a run", remarks);
    journal.addRatio(trial, baseline, 0.5);
  }
  TuneJournal journal(path, "another run", remarks);
  EXPECT_EQ(journal.resumedCount(), 0u);
  ASSERT_EQ(remarks.size(), 1u);
}

TEST(Child, Answers) {
  Child child([](const Channel &channel) {
    for (Message message = channel.receive(); message.kind == Message::Kind::Text; message = channel.receive())
      channel.send("got " + message.text);
  });
  for (const std::string &text : {std::string("a"), std::string(300000, 'b'), std::string()}) {
    ASSERT_TRUE(child.send(text));
    EXPECT_EQ(child.receive(60), "got " + text);
  }
}

TEST(Child, ItsDeathHasAReason) {
  Child killed([](const Channel &) { std::raise(SIGKILL); });
  EXPECT_FALSE(killed.receive(60));
  EXPECT_EQ(killed.end(), "killed by signal 9 (Killed)");
  Child late([](const Channel &channel) { channel.receive(); });
  EXPECT_FALSE(late.receive(0.05));
  EXPECT_EQ(late.end(), "no answer within 0 s");
  Child done([](const Channel &) {});
  EXPECT_FALSE(done.receive(60));
  EXPECT_EQ(done.end(), "ended with status 0");
}

TEST(Child, ItsErrorsAreTheParents) {
  try {
    runInChild([]() -> std::string { fail(Exit::Model, "H0201", "no such op"); }, "testing");
    FAIL();
  } catch (const CommandError &error) {
    EXPECT_EQ(error.exit, Exit::Model);
    EXPECT_EQ(error.text, "error[H0201]: no such op\n");
  }
  EXPECT_EQ(runInChild([] { return std::string("fine"); }, "testing"), "fine");
  EXPECT_THROW(runInChild(
                   []() -> std::string {
                     std::raise(SIGKILL);
                     return {};
                   },
                   "testing"),
               CommandError);
}

} // namespace
} // namespace heddle::cli
