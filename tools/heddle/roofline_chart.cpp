// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chart, drawn on a light background whatever the viewer's theme is.

#include "tools/heddle/roofline_chart.h"

#include "tools/heddle/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace heddle::cli {

namespace {

constexpr double kLeft = 80, kTop = 56, kWidth = 840, kHeight = 460, kLine = 20;
/// Rows that are numbered and listed below the chart.
constexpr size_t kListed = 16;

/// |format| with numbers. No text goes this way: names may hold anything.
template <typename... Args> std::string with(const char *format, Args... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : printable(text))
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

const char *colourOf(const std::string &bound) {
  constexpr std::pair<const char *, const char *> kColours[] = {
      {"compute", "#c0392b"}, {"L1", "#16a085"},   {"L2", "#2980b9"},     {"L3", "#8e44ad"},
      {"cache", "#8e44ad"},   {"DRAM", "#d68910"}, {"latency", "#7f8c8d"}};
  for (auto [name, colour] : kColours)
    if (bound == name)
      return colour;
  return "#34495e";
}

/// A logarithmic axis over whole decades.
struct Axis {
  int first, last; ///< powers of ten

  static Axis over(double least, double most) {
    Axis axis = {static_cast<int>(std::floor(std::log10(least))), static_cast<int>(std::ceil(std::log10(most)))};
    axis.last = std::max(axis.last, axis.first + 1);
    return axis;
  }
  double at(double value) const { return (std::log10(value) - first) / (last - first); }
};

class Chart {
public:
  Chart(const ProfileRows &rows, const Roofline &roofline) : roofline(roofline) {
    for (const ProfileRow &row : rows.rows)
      if (!row.isRuntime && row.operations > 0 && row.bytes > 0 && row.time > 0)
        points.push_back(&row);
    std::sort(points.begin(), points.end(), [](const ProfileRow *a, const ProfileRow *b) { return a->time > b->time; });
    double peak = roofline.peak() * 1e-9, ridge = roofline.peak() / roofline.memory;
    double leftmost = 0.1, lowest = roofline.memory * 1e-9 * leftmost;
    for (const ProfileRow *row : points) {
      leftmost = std::min(leftmost, intensityOf(*row));
      ridge = std::max(ridge, intensityOf(*row));
      lowest = std::min(lowest, row->gflops());
    }
    // A little more to the right of the last ridge and above the highest roof, for labels.
    x = Axis::over(leftmost, ridge * 2);
    y = Axis::over(lowest, peak * 1.5);
  }

  std::string draw(const std::string &title) {
    size_t listed = std::min(points.size(), kListed);
    double height = kTop + kHeight + 70 + kLine * static_cast<double>(listed + 1);
    out = with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"%.0f\" viewBox=\"0 0 960 %.0f\" "
               "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
               height, height);
    out += with("<text x=\"%.0f\" y=\"28\" font-size=\"16\">", kLeft) + escaped(title) + "</text>\n";
    drawGrid();
    drawRoofs();
    drawPoints();
    drawList(listed);
    return out + "</svg>\n";
  }

private:
  static double intensityOf(const ProfileRow &row) { return row.operations / row.bytes; }
  double px(double intensity) const { return kLeft + kWidth * x.at(intensity); }
  double py(double gflops) const { return kTop + kHeight * (1 - y.at(gflops)); }

  void line(double x1, double y1, double x2, double y2, const char *style) {
    out += with("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" ", x1, y1, x2, y2) + style + "/>\n";
  }

  void drawGrid() {
    for (int power = x.first; power <= x.last; ++power) {
      double at = px(std::pow(10, power));
      line(at, kTop, at, kTop + kHeight, "stroke=\"#e3e6e8\"");
      out += with("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", at, kTop + kHeight + 18,
                  std::pow(10, power));
    }
    for (int power = y.first; power <= y.last; ++power) {
      double at = py(std::pow(10, power));
      line(kLeft, at, kLeft + kWidth, at, "stroke=\"#e3e6e8\"");
      out +=
          with("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", kLeft - 8, at + 4, std::pow(10, power));
    }
    out += with("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">operations a byte</text>\n", kLeft + kWidth / 2,
                kTop + kHeight + 40);
    out += with("<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>\n",
                kTop + kHeight / 2);
  }

  /// A level's slope up to the highest peak; its label lies along it, |place| of the way.
  void drawSlope(const char *name, double bandwidth, double highest, double place) {
    double begin = std::max(std::pow(10, x.first), std::pow(10, y.first) / bandwidth), end = highest / bandwidth;
    if (begin >= end)
      return;
    line(px(begin), py(begin * bandwidth), px(end), py(highest), "stroke=\"#5d6d7e\" stroke-width=\"1.5\"");
    double angle = -std::atan2(kHeight / (y.last - y.first), kWidth / (x.last - x.first)) * 180 / M_PI;
    double at = begin * std::pow(end / begin, place);
    out +=
        with("<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" dy=\"-5\" fill=\"#5d6d7e\">%s %.3g GB/s</text>\n",
             px(at), py(at * bandwidth), angle, name, bandwidth);
  }

  /// |other|: the peak of the other arithmetic, whose label stands above its line too where there is room.
  void drawPeak(const char *name, double gflops, double other) {
    // From the first ridge on, where the fastest level feeds it.
    line(px(gflops / (roofline.l1 * 1e-9)), py(gflops), kLeft + kWidth, py(gflops),
         "stroke=\"#5d6d7e\" stroke-width=\"1.5\"");
    bool isBelow = gflops < other && py(gflops) - py(other) < kLine;
    out += with("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#5d6d7e\">%s %.3g GFLOP/s</text>\n",
                kLeft + kWidth - 4, py(gflops) + (isBelow ? 14 : -6), name, gflops);
  }

  void drawRoofs() {
    // Bytes may be the slower ones, where each has to be unpacked.
    bool hasBytes = std::abs(roofline.byteOps - roofline.flops) > 0.01 * roofline.flops;
    double highest = roofline.peak() * 1e-9, shown = 0, place = 0.08;
    for (Level level : {Level::Memory, Level::Cache, Level::L3, Level::L2, Level::L1}) {
      double bandwidth = roofline.bandwidthOf(level) * 1e-9;
      // A level that is as fast as the one behind it would hide its label.
      if (bandwidth > shown * 1.05)
        drawSlope(levelName(level), bandwidth, highest, place);
      // Slopes of like rates lie so close that their labels must not stand side by side.
      place = place > 0.2 ? 0.08 : 0.36;
      shown = std::max(shown, bandwidth);
    }
    drawPeak("f32", roofline.flops * 1e-9, hasBytes ? roofline.byteOps * 1e-9 : 0);
    if (hasBytes)
      drawPeak("int8", roofline.byteOps * 1e-9, roofline.flops * 1e-9);
  }

  static std::string summaryOf(const ProfileRow &row) {
    std::string text = row.name.empty() ? "(no layer)" : row.name;
    text += with(": %.1f us, %.1f %%, %.4g GFLOP/s, %.3g operations a byte", row.time, 100 * row.share, row.gflops(),
                 intensityOf(row));
    return row.boundBy.empty() ? text : text + ", bound by " + row.boundBy;
  }

  void drawPoints() {
    // The largest first, so that small ones lie on top.
    for (size_t i = 0; i < points.size(); ++i) {
      const ProfileRow &row = *points[i];
      double radius = 4 + 16 * std::sqrt(row.share);
      double cx = px(intensityOf(row)), cy = py(row.gflops());
      out +=
          with("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\"0.75\" stroke=\"#fff\"><title>",
               cx, cy, radius, colourOf(row.boundBy)) +
          escaped(summaryOf(row)) + "</title></circle>\n";
      if (i < kListed)
        out += with("<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\">%zu</text>\n", cx + radius + 2, cy + 4, i + 1);
    }
  }

  void drawList(size_t listed) {
    double at = kTop + kHeight + 74;
    for (size_t i = 0; i < listed; ++i, at += kLine) {
      out += with("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n<text x=\"%.1f\" y=\"%.1f\">%zu  ", kLeft,
                  at - 4, colourOf(points[i]->boundBy), kLeft + 14, at, i + 1) +
             escaped(summaryOf(*points[i])) + "</text>\n";
    }
  }

  const Roofline &roofline;
  std::vector<const ProfileRow *> points;
  Axis x, y;
  std::string out;
};

} // namespace

std::string rooflineChart(const ProfileRows &rows, const Roofline &roofline, const std::string &title) {
  return Chart(rows, roofline).draw(title);
}

} // namespace heddle::cli
