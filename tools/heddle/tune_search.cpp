// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Successive halving (Jamieson and Talwalkar, 2016) with a cut for what is far behind.

#include "tools/heddle/tune_search.h"

#include <algorithm>

namespace heddle::cli {

namespace {

/// Pairs in the first round.
constexpr size_t kFirstPairs = 5;
/// More than the least that a proof takes: with 21 pairs 17 wins are enough, with 15 it takes 13.
constexpr size_t kProofPairs = 21;
/// What takes so much longer than the best so far, in its first pair or in two, isn't measured again: the slow ones
/// would take most of the time.
constexpr double kHopelessOnce = 3, kHopelessTwice = 1.5;
/// Parts of the time that are left when the first round must end, and when the proof must begin at the latest.
constexpr double kAfterFirstRound = 0.6, kForProof = 0.25;
/// How much longer than the pairs before it one of the proof may take: machines are busy by turns.
constexpr double kProofMargin = 1.2;

struct Contender {
  size_t candidate;
  std::vector<double> ratios = {};
  bool isOut = false;

  double score() const { return median(ratios); }
};

class Search {
public:
  Search(size_t count, PairSource &source) : source(source), seconds(source.secondsLeft()) {
    for (size_t candidate = 1; candidate < count; ++candidate)
      field.push_back({candidate});
  }

  SearchResult run() {
    for (size_t round = 0; !field.empty(); ++round) {
      partAfter = round == 0 ? kAfterFirstRound : kForProof;
      for (Contender &contender : field)
        measure(contender, pairsAfterRound(round));
      rank();
      if (field.size() <= 1 || source.secondsLeft() <= secondsToLeave(kForProof))
        break;
      field.resize((field.size() + 1) / 2);
    }
    if (!field.empty() && field[0].score() < 1)
      result.win = prove(field[0].candidate);
    return result;
  }

private:
  void measure(Contender &contender, size_t pairs) {
    while (contender.ratios.size() < pairs && source.secondsLeft() > secondsToLeave(partAfter)) {
      std::optional<double> ratio = measureOnce(contender.candidate);
      if (ratio)
        contender.ratios.push_back(*ratio);
      contender.isOut = !ratio || isHopeless(contender.ratios);
      if (contender.isOut)
        return;
    }
    result.ranOut |= contender.ratios.empty();
    if (contender.ratios.size() < pairs || !(contender.score() < best))
      return;
    best = contender.score();
    source.tellBest(best);
  }

  /// |part| of all, but no less than the proof needs: without it all else was for nothing.
  double secondsToLeave(double part) const {
    return std::max(seconds * part, kProofMargin * kProofPairs * source.secondsAPair());
  }

  bool isHopeless(const std::vector<double> &ratios) const {
    return *std::min_element(ratios.begin(), ratios.end()) >
           best * (ratios.size() == 1 ? kHopelessOnce : kHopelessTwice);
  }

  /// The better half starts with those that have been measured at all.
  void rank() {
    field.erase(std::remove_if(field.begin(), field.end(),
                               [](const Contender &contender) { return contender.isOut || contender.ratios.empty(); }),
                field.end());
    std::stable_sort(field.begin(), field.end(),
                     [](const Contender &a, const Contender &b) { return a.score() < b.score(); });
  }

  std::optional<Win> prove(size_t candidate) {
    std::vector<double> ratios;
    while (ratios.size() < kProofPairs && source.secondsLeft() > 0) {
      std::optional<double> ratio = measureOnce(candidate);
      if (!ratio)
        return std::nullopt;
      ratios.push_back(*ratio);
    }
    result.ranOut |= ratios.size() < kProofPairs;
    if (ratios.size() < kLeastPairs)
      return std::nullopt;
    const Comparison proof = compare(ratios);
    return isProven(proof, kKernelBound) ? std::optional(Win{candidate, proof}) : std::nullopt;
  }

  /// Who goes first alternates: the second one finds other caches.
  std::optional<double> measureOnce(size_t candidate) {
    baselineFirst = !baselineFirst;
    return source.measure(candidate, baselineFirst);
  }

  PairSource &source;
  double seconds;       ///< for all
  double partAfter = 0; ///< of them that this round must leave
  std::vector<Contender> field;
  SearchResult result;
  double best = 1; ///< lowest median so far; the baseline's own is 1
  bool baselineFirst = false;
};

} // namespace

size_t pairsAfterRound(size_t round) { return kFirstPairs << round; }

SearchResult findFastest(size_t count, PairSource &source) { return Search(count, source).run(); }

} // namespace heddle::cli
