import { CommanderError } from "commander";

import { exitCodes, explain } from "./failures.ts";
import { createProgram } from "./program.ts";

/** The version of the package. The build replaces this name. */
declare const CLI_VERSION: string;

async function runCommand(): Promise<number> {
  try {
    await createProgram(CLI_VERSION).parseAsync();
    return exitCodes.ok;
  } catch (error) {
    // commander has already printed the message of this error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    const { line, exitCode } = explain(error);
    process.stderr.write(`hosted-mail: ${line}\n`);
    return exitCode;
  }
}

process.on("SIGINT", () => process.exit(exitCodes.stopped));
// A program such as `head` closes the pipe when it has read enough. Then the command ends without a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? exitCodes.ok : exitCodes.failed),
);
void runCommand().then((exitCode) => (process.exitCode = exitCode));
