// The worker of bench/run.py. Reads one operation per line (bench/worker.h), fields separated by
// tabs, and answers with one line: "ok", seconds, rows, bytes, then seconds, rounds and files of
// the syncs in it; or "error" and a text.

#include <chrono>
#include <iostream>
#include <string>

#include <fmt/core.h>

#include "bench/sync_meter.h"
#include "bench/worker.h"

int main(int argc, char** argv) {
  using lake::bench::Answer;
  if (argc != 3) {
    std::cerr << "usage: lake_bench DATA_DIR THREADS\n";
    return 2;
  }
  auto worker = lake::bench::Worker::Open(argv[1], std::stoi(argv[2]));
  if (!worker.ok()) {
    std::cerr << lake::ErrorText(worker.status()) << "\n";
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> fields = lake::bench::Split(line, '\t');
    lake::bench::ResetSyncCost();
    const auto begin = std::chrono::steady_clock::now();
    const lake::Result<Answer> answer = (*worker)->Run(fields);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const lake::bench::SyncCost syncs = lake::bench::CurrentSyncCost();
    std::cout << (answer.ok() ? fmt::format("ok\t{:.7f}\t{}\t{}\t{:.7f}\t{}\t{}", seconds.count(),
                                            answer->rows, answer->bytes, syncs.seconds,
                                            syncs.rounds, syncs.files)
                              : fmt::format("error\t{}", lake::ErrorText(answer.status())))
              << std::endl;
  }
  return 0;
}
