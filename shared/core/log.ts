export type LogLevel = "debug" | "info" | "error" | "silent";
export type LogFields = Record<string, unknown>;
export type Log = Record<"debug" | "info" | "error", (message: string, fields?: LogFields) => void>;

const levels: LogLevel[] = ["debug", "info", "error", "silent"];

/**
 * A line for people. A request is `12:04:11 GET    200    4 ms  2 RU 0 WU  /v1/public/accounts`, with the time in the
 * machine's zone, read units (RU) and write units (WU). Any other message has its fields as JSON.
 */
function textLine(now: Date, message: string, fields: LogFields): string {
  const { method, status, duration_ms: ms, read_units: read, write_units: written, path } = fields;
  const time = now.toTimeString().slice(0, 8);
  if (message !== "request") return `${time} ${message} ${JSON.stringify(fields)}`;
  const took = Number(ms).toFixed(0).padStart(4);
  return `${time} ${String(method).padEnd(6)} ${String(status)} ${took} ms  ${String(read)} RU ${String(written)} WU  ${String(path)}`;
}

/**
 * Creates a log that writes messages of `level` and above to standard output: one JSON object per line, or lines of
 * text for people. Every line has the fields of `base`, except the text line of a request. Never log a header, a body
 * or a secret.
 */
export function createLog(level: LogLevel, base: LogFields, format: "json" | "text" = "json"): Log {
  const write = (messageLevel: LogLevel) => (message: string, fields?: LogFields) => {
    if (levels.indexOf(messageLevel) < levels.indexOf(level)) return;
    const now = new Date();
    const all = { ...base, ...fields };
    const json = () => JSON.stringify({ time: now.toISOString(), level: messageLevel, message, ...all });
    process.stdout.write(`${format === "text" ? textLine(now, message, all) : json()}\n`);
  };
  return { debug: write("debug"), info: write("info"), error: write("error") };
}
