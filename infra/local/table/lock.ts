import { hash } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { type Server, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Thrown if another process holds the lock. `pid` is the id of that process, if it is known. */
export class Locked extends Error {
  readonly pid: number | undefined;

  constructor(pid: number | undefined) {
    super(`held by ${pid === undefined ? "another process" : `process ${pid}`}`);
    this.pid = pid;
  }
}

const listen = (server: Server, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });

const askHolder = (address: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    let text = "";
    const socket = connect(address);
    socket.setEncoding("utf8").setTimeout(1000, () => socket.destroy());
    socket.on("data", (chunk) => (text += chunk));
    socket.on("error", () => {});
    socket.on("close", () => resolve(/^\d+$/.test(text) ? Number(text) : undefined));
  });

/**
 * The address of the lock on a name:
 * - on Linux an abstract socket (unix(7)), and on Windows a named pipe; the kernel frees both when the process ends,
 * - on other systems a socket file; a killed process leaves the file behind.
 */
export function lockAddress(name: string): string {
  const id = `hosted-mail-api-${hash("sha256", name).slice(0, 32)}`;
  if (process.platform === "linux") return `\0${id}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\${id}` : join(tmpdir(), `${id}.sock`);
}

/** Listens at an address. Returns false if another server has the address. */
async function tryListen(server: Server, address: string): Promise<boolean> {
  try {
    await listen(server, address);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  }
}

const [mostTries, waitMs] = [5, 200];

/**
 * Holds a lock on a name until this process ends or the returned function is called. Other processes can ask the holder
 * for its process id. Throws `Locked` if another process holds the lock. If the holder does not answer, tries again for
 * some seconds, because a killed process holds its lock until the kernel has ended it.
 */
export async function holdLock(name: string): Promise<() => Promise<void>> {
  const address = lockAddress(name);
  const server = createServer((socket) => socket.on("error", () => {}).end(String(process.pid)));
  for (let tries = 1; !(await tryListen(server, address)); tries++) {
    const holder = await askHolder(address);
    if (holder !== undefined || tries === mostTries) throw new Locked(holder);
    if (address.endsWith(".sock")) await rm(address, { force: true });
    await delay(waitMs);
  }
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** The file in the data folder with the address of the running engine. The operator's command reads this file. */
export const engineAddressFile = "engine.json";

/** The name of the local table. */
export const localTableName = "hosted-mail-local";

/** Writes the file with the address of the running engine. Returns a function that deletes the file. */
export async function writeEngineAddress(
  dataDir: string,
  engine: { endpoint: string; pid: number },
): Promise<() => Promise<void>> {
  const file = join(dataDir, engineAddressFile);
  await writeFile(`${file}.new`, `${JSON.stringify(engine)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return () => rm(file, { force: true });
}

/** Finds a port of 127.0.0.1 that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((settle, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      settle(typeof address === "object" && address ? address.port : 0);
    });
  });
  await new Promise((settle) => server.close(settle));
  return port;
}
