import { readFile, readdir, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { basename } from "node:path";

/** The state LISTEN in /proc/net/tcp. */
const listening = "0A";

/**
 * The sockets that listen on a local TCP port, each in the form `socket:[<inode>]`. Reads /proc/net, so the set is
 * empty on other systems than Linux.
 */
async function socketsOn(port: number): Promise<Set<string>> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  const rows = tables.flatMap((table) => table.split("\n").map((row) => row.trim().split(/\s+/)));
  return new Set(
    rows.flatMap(([, local = "", , state, , , , , , inode = ""]) =>
      local.endsWith(suffix) && state === listening ? [`socket:[${inode}]`] : [],
    ),
  );
}

/** The options of Node whose value is a module that Node loads before the script. */
const preloadOptions: ReadonlySet<string> = new Set(["-r", "--require", "--import"]);

/**
 * Names the program in a command line from /proc, and its script with the last two folders: `node infra/local/main.ts`.
 * Leaves other arguments out, because they may be secrets. Does not use the process name, because a program can choose
 * its name.
 */
export function programOf(commandLine: string): string {
  const [program = "", ...words] = commandLine.split("\0");
  const isScript = (word: string, index: number): boolean =>
    /^[^-].*\.(?:[cm]?[jt]s|py|rb|jar)$/.test(word) && !preloadOptions.has(words[index - 1] ?? "");
  const script = words.find(isScript);
  return [basename(program), script?.split("/").slice(-3).join("/")].filter(Boolean).join(" ");
}

/**
 * Names the process that listens on a port, such as `node infra/local/main.ts, process 4711`. Undefined if the process
 * is unknown.
 */
export async function holderOf(port: number): Promise<string | undefined> {
  const sockets = await socketsOn(port);
  if (sockets.size === 0) return undefined;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const link = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (!sockets.has(link)) continue;
      const name = programOf(await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
      return `${name === "" ? "" : `${name}, `}process ${pid}`;
    }
  }
  return undefined;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

/** The first free port among the 20 ports above `port`. 0 if all of them are taken. */
export async function freePortAbove(port: number): Promise<number> {
  for (let next = port + 1; next <= Math.min(port + 20, 65_535); next++) if (await isFree(next)) return next;
  return 0;
}
