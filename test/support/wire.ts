import { connect, type Socket } from "node:net";

/** What came back for one request of the wire. */
export type Reply = { status: number; body: string };

type Waiting = { settle: (reply: Reply) => void; fail: (error: Error) => void };

/** One connection that is kept, with one request on it at a time. */
class Line {
  readonly #socket: Socket;
  readonly #idle: Line[];
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | undefined;

  constructor(port: number, idle: Line[]) {
    this.#idle = idle;
    this.#socket = connect(port, "127.0.0.1").setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#lose());
    this.#socket.unref();
  }

  async ask(head: string, body: string): Promise<Reply> {
    return new Promise<Reply>((settle, fail) => {
      this.#waiting = { settle, fail };
      this.#socket.ref();
      this.#socket.write(`${head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length > 0 ? Buffer.concat([this.#received, chunk]) : chunk;
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#received.toString("latin1", 0, end);
    const from = end + 4;
    const to = from + Number(/content-length: *(\d+)/i.exec(head)?.[1]);
    if (this.#received.length < to) return;
    const reply = { status: Number(head.slice(9, 12)), body: this.#received.toString("utf8", from, to) };
    this.#received = this.#received.subarray(to);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#socket.unref();
    this.#idle.push(this);
    waiting?.settle(reply);
  }

  #lose(): void {
    const at = this.#idle.indexOf(this);
    if (at >= 0) this.#idle.splice(at, 1);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.fail(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" }));
  }
}

/** HTTP/1.1 to a port of 127.0.0.1 over connections that are kept, and as little of it as a server of ours reads. */
export function openWire(port: number): (headers: Record<string, string>, body: string) => Promise<Reply> {
  const idle: Line[] = [];
  return async (headers, body) => {
    const fields = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const line = idle.pop() ?? new Line(port, idle);
    return line.ask(`POST / HTTP/1.1\r\n${fields.join("\r\n")}\r\ncontent-length: `, body);
  };
}
