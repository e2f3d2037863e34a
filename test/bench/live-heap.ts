import { setTimeout as pause } from "node:timers/promises";

type Target = { webSocketDebuggerUrl: string };

/**
 * The mebibytes of a Node process's heap that are in use once everything that can be collected is, by its inspector,
 * which SIGUSR1 has it open at the port of its `--inspect-port`.
 */
export async function liveHeapOf(pid: number, port: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  const socket = new WebSocket(await addressAt(port));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error(`the inspector at ${port} does not answer`)));
  });
  try {
    await ask(socket, 1, "HeapProfiler.collectGarbage");
    const { usedSize } = (await ask(socket, 2, "Runtime.getHeapUsage")) as { usedSize: number };
    return usedSize / 2 ** 20;
  } finally {
    socket.close();
  }
}

/** Where the inspector listens, once it does. */
async function addressAt(port: number): Promise<string> {
  for (let tries = 0; tries < 50; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined);
    const [target] = ((await answer?.json()) ?? []) as Target[];
    if (target) return target.webSocketDebuggerUrl;
    await pause(100);
  }
  throw new Error(`no inspector listens at ${port}`);
}

const ask = (socket: WebSocket, id: number, method: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const hear = ({ data }: MessageEvent): void => {
      const said = JSON.parse(String(data)) as { id?: number; result?: unknown; error?: { message: string } };
      if (said.id !== id) return;
      socket.removeEventListener("message", hear);
      if (said.error) reject(new Error(`${method}: ${said.error.message}`));
      else resolve(said.result);
    };
    socket.addEventListener("message", hear);
    socket.send(JSON.stringify({ id, method }));
  });
