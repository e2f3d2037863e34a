export type LogLevel = "debug" | "info" | "error" | "silent";
export type LogFields = Record<string, unknown>;
export type Log = Record<"debug" | "info" | "error", (message: string, fields?: LogFields) => void>;

const order: LogLevel[] = ["debug", "info", "error", "silent"];

/** One JSON object per line on standard output, each with `base`. Never hand it a header, a body or a secret. */
export function createLog(level: LogLevel, base: LogFields): Log {
  const write = (line: LogLevel) => (message: string, fields?: LogFields) => {
    if (order.indexOf(line) < order.indexOf(level)) return;
    process.stdout.write(
      `${JSON.stringify({ time: new Date().toISOString(), level: line, message, ...base, ...fields })}\n`,
    );
  };
  return { debug: write("debug"), info: write("info"), error: write("error") };
}
