// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The artifact's order decides which target is best; this only leaves out what can't run here, and says why.

#include "runtime/core/target_selection.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace heddle::runtime {

namespace {

/// A file name may be anything; quoted, it can be pasted into a shell.
std::string quote(const std::string &text) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == std::string::npos)
    return text;
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string recompile_help(const program_tables &tables, const device_driver &driver) {
  // The artifact knows its model's name but not the folder, which may be on another machine.
  const std::string model = *tables.model ? tables.model : "MODEL";
  return "compile it for this machine: heddle compile " + quote(model) + " --target " + driver.name + " -o OUT";
}

/// How many letters to insert, remove or replace.
size_t edit_distance(const std::string &from, const std::string &to) {
  std::vector<size_t> row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t replaced = diagonal + (from[i - 1] != to[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[to.size()];
}

/// "; did you mean 'vulkan'?" where a driver's name is like |name|.
std::string did_you_mean(const std::string &name) {
  for (const device_driver *const *driver = device_drivers; *driver; ++driver)
    if (size_t distance = edit_distance(name, (*driver)->name);
        distance > 0 && distance <= std::strlen((*driver)->name) / 3)
      return format("; did you mean '%s'?", (*driver)->name);
  return {};
}

/// The word for a driver's device in sentences.
const char *noun(const device_driver &driver) { return driver.name == std::string("cpu") ? "CPU" : "device"; }

std::string list_targets(const program_tables &tables) {
  std::string list;
  for (const target_table &target : tables.targets)
    list += (list.empty() ? "" : ", ") + std::string(target.name);
  return list.empty() ? "none" : list;
}

heddle_status_t select_named(const program_tables &tables, const device_driver &driver, const char *name,
                             size_t *out_target) {
  for (size_t i = 0; i < tables.targets.size(); ++i) {
    const target_table &target = tables.targets[i];
    if (std::strcmp(target.name, name) != 0)
      continue;
    if (!is_target_of(target, driver))
      return fail(error::H0403, format("target '%s' is not for device '%s'", name, driver.name));
    const char *missing = driver.missing_feature(target);
    if (*missing)
      return fail(error::H0402, format("target '%s' needs %s, which this %s lacks", name, missing, noun(driver)),
                  recompile_help(tables, driver));
    *out_target = i;
    return nullptr;
  }
  return fail(error::H0403, format("the artifact has no target '%s'", name), "it has: " + list_targets(tables));
}

} // namespace

heddle_status_t find_driver(const char *name, const program_tables &tables, const device_driver **out_driver,
                            const char **out_selector) {
  *out_selector = "";
  if (!name || !*name) {
    for (const device_driver *const *driver = device_drivers; *driver; ++driver)
      for (const target_table &target : tables.targets)
        if (is_target_of(target, **driver)) {
          *out_driver = *driver;
          return nullptr;
        }
    *out_driver = device_drivers[0];
    return nullptr;
  }
  const size_t length = std::strcspn(name, ":");
  for (const device_driver *const *driver = device_drivers; *driver; ++driver) {
    const bool is_named = std::strlen((*driver)->name) == length && std::strncmp((*driver)->name, name, length) == 0;
    if (is_named && (!name[length] || (*driver)->has_selector)) {
      *out_driver = *driver;
      *out_selector = name + length + (name[length] ? 1 : 0);
      return nullptr;
    }
  }
  const std::string hint = did_you_mean(std::string(name, length));
  return fail(error::H0401, format("there is no device '%s'%s", name, hint.c_str()), list_devices());
}

std::string list_devices() {
  std::vector<device_description> devices;
  for (const device_driver *const *driver = device_drivers; *driver; ++driver)
    (*driver)->list(&devices);
  std::string here;
  std::string reasons;
  for (const device_description &device : devices) {
    if (!device.problem.empty())
      reasons += format("; %s: %s", device.name.c_str(), device.problem.c_str());
    else
      here +=
          (here.empty() ? "" : ", ") + device.name + (device.kind == "cpu" ? std::string() : " (" + device.title + ")");
  }
  return "devices here: " + here + reasons;
}

bool is_target_of(const target_table &target, const device_driver &driver) {
  const size_t length = std::strlen(driver.name);
  return std::strncmp(target.name, driver.name, length) == 0 &&
         (target.name[length] == ':' || target.name[length] == '\0');
}

const device_driver *driver_of(const target_table &target) {
  for (const device_driver *const *driver = device_drivers; *driver; ++driver)
    if (is_target_of(target, **driver))
      return *driver;
  return nullptr;
}

heddle_status_t select_target(const program_tables &tables, const device_driver &driver, const char *name,
                              size_t *out_target) {
  if (name && *name)
    return select_named(tables, driver, name, out_target);
  // All reasons at once: whoever compiles again wants to know what this machine has to offer.
  std::string reasons;
  for (size_t i = 0; i < tables.targets.size(); ++i) {
    const target_table &target = tables.targets[i];
    if (!is_target_of(target, driver))
      continue;
    const char *missing = driver.missing_feature(target);
    if (!*missing) {
      *out_target = i;
      return nullptr;
    }
    reasons += format("%starget '%s' needs %s", reasons.empty() ? "" : ", ", target.name, missing);
  }
  if (reasons.empty())
    return fail(
        error::H0402,
        format("the artifact has no target for device '%s'; it has: %s", driver.name, list_targets(tables).c_str()),
        recompile_help(tables, driver));
  return fail(error::H0402, format("this %s can't run the artifact: ", noun(driver)) + reasons,
              recompile_help(tables, driver));
}

} // namespace heddle::runtime
