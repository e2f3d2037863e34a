import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";

/**
 * Starts a server on 127.0.0.1. A client sends one question after the other on its connection. `take` returns the first
 * question in some bytes, and the bytes after the question. `take` returns undefined if the first question is not
 * complete. `answer` must not reject.
 */
export async function startLineServer<Q>(
  port: number,
  take: (bytes: Buffer) => { question: Q; rest: Buffer } | undefined,
  answer: (question: Q) => Promise<Buffer | string>,
): Promise<Server> {
  const serve = async (socket: Socket): Promise<void> => {
    let bytes: Buffer = Buffer.alloc(0);
    for await (const chunk of socket) {
      bytes = Buffer.concat([bytes, chunk as Buffer]);
      for (let next = take(bytes); next; next = take(bytes)) {
        bytes = next.rest;
        socket.write(await answer(next.question));
      }
    }
  };
  const server = createServer((socket) => void serve(socket).catch(() => socket.destroy()));
  await once(server.listen(port, "127.0.0.1"), "listening");
  return server;
}
