#pragma once

#include "lake/base/cancel.h"

namespace lake {

/// Makes SIGINT and SIGTERM cancel `token`, and SIGPIPE and SIGXFSZ be ignored. The second SIGINT
/// or SIGTERM ends the process at once, as the system does by default; so does the first if the
/// process has not ended `grace_seconds` after it. Call it once, at the start of main; the token's
/// flag lives as long as the process.
void InstallSignalHandlers(const CancelToken& token, int grace_seconds = 10);

/// The first signal that arrived, or 0. A process that ends because of it exits with 128 + this.
int ReceivedSignal();

}  // namespace lake
