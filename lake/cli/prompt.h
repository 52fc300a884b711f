#pragma once

#include "lake/cli/invocation.h"
#include "lake/service/result_writer.h"

namespace lake::cli {

/// Reads statements line by line until the end of input or `\q`: with editing and history (libedit,
/// kept in
/// ~/.lake_history) on a terminal, plainly otherwise. A statement ends with ';'. An error is
/// printed and the prompt goes on; without a terminal the first error ends it. The session must
/// outlive the call.
Status RunPrompt(Invocation* invocation, service::Workspace* workspace, query::Session* session,
                 service::ResultFormat format);

}  // namespace lake::cli
