import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { connect } from "node:tls";

/** Reads from a connection by line, or by number of characters. */
function readerOf(socket: Socket) {
  let text = "";
  let isOver = false;
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.on("close", () => (isOver = true));
  socket.on("error", () => {});
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere()) {
      if (isOver) throw new Error(`the connection is over, after ${JSON.stringify(text)}`);
      await Promise.race([once(socket, "data"), once(socket, "close")]);
    }
  };
  const take = (count: number): string => {
    const taken = text.slice(0, count);
    text = text.slice(count);
    return taken;
  };
  return {
    line: async (): Promise<string> => {
      await until(() => text.includes("\r\n"));
      return take(text.indexOf("\r\n") + 2).trimEnd();
    },
    chars: async (count: number): Promise<string> => {
      await until(() => text.length >= count);
      return take(count);
    },
  };
}

type Login = { user: string; password: string };

const literalSize = (line: string): number => Number(/\{(\d+)\}$/.exec(line)?.[1]);

/** Serves one LOGIN with two literals (RFC 9051 §4.3), as nginx sends it. */
async function serveLogin(socket: Socket): Promise<Login> {
  const reader = readerOf(socket);
  const literal = async (line: string): Promise<string> => {
    socket.write("+ go on\r\n");
    return reader.chars(literalSize(line));
  };
  socket.write("* OK ready\r\n");
  const command = await reader.line();
  const user = await literal(command);
  const password = await literal(await reader.line());
  await reader.line();
  socket.write(`${command.split(" ")[0]} OK logged in\r\n`);
  return { user, password };
}

/** Starts an IMAP server that lets everybody in, as a server behind a proxy does. `logins` are the logins so far. */
export async function startImap(): Promise<{ port: number; logins: Login[]; stop: () => Promise<void> }> {
  const logins: Login[] = [];
  const server = createServer((socket) => {
    serveLogin(socket).then(
      (login) => logins.push(login),
      () => socket.destroy(),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { port, logins, stop: () => new Promise((settle) => server.close(() => settle())) };
}

type Server = { port: number; ca: string; servername: string };

/**
 * The answer of a server to the password of a POP3 login over TLS: `+OK …`, `-ERR …`. Rejects if there is no answer.
 */
export async function popLogin({ port, ca, servername }: Server, { user, password }: Login): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, ca, servername });
  try {
    const reader = readerOf(socket);
    await reader.line();
    socket.write(`USER ${user}\r\n`);
    await reader.line();
    socket.write(`PASS ${password}\r\n`);
    return await reader.line();
  } finally {
    socket.destroy();
  }
}

/** The answer of a server to a LOGIN over TLS, without the tag: `OK …`, `NO …`. Rejects if there is no answer. */
export async function imapLogin({ port, ca, servername }: Server, { user, password }: Login): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, ca, servername });
  try {
    const reader = readerOf(socket);
    await reader.line();
    socket.write(`a1 LOGIN "${user}" "${password}"\r\n`);
    return (await reader.line()).replace(/^a1 /, "");
  } finally {
    socket.destroy();
  }
}
