import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import { onTestFinished } from "vitest";

type Call = { method: string; path: string; headers: IncomingHttpHeaders };
type Stored = { content: Buffer; headers: IncomingHttpHeaders };

/** What is answered instead of the truth: a status and an error code of S3, or nothing at all. */
export type Trouble = { status: number; code: string } | "silence";

const fault = (code: string): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>No</Message></Error>`);

/**
 * PutObject, HeadObject and GetObject of S3 (REST, path style) on 127.0.0.1 until the test is over; an answer
 * to HEAD has no body, so no code either. `troubles` come first, one for each request.
 */
export async function startFileStore(...troubles: Trouble[]) {
  const calls: Call[] = [];
  const objects = new Map<string, Stored>();
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { "content-type": "application/xml" }).end(fault(code));
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const { pathname, searchParams } = new URL(url, "http://store");
    const content = await buffer(request);
    calls.push({ method, path: pathname, headers });
    const trouble = troubles.shift();
    if (trouble === "silence") return;
    if (trouble) return refuse(response, trouble.status, trouble.code);
    if (method === "PUT") objects.set(pathname, { content, headers });
    const stored = objects.get(pathname);
    if (!stored) return refuse(response, 404, "NoSuchKey");
    const disposition = searchParams.get("response-content-disposition");
    if (method !== "PUT") response.setHeader("content-type", stored.headers["content-type"] ?? "");
    if (disposition !== null) response.setHeader("content-disposition", disposition);
    response.writeHead(200, { etag: '"1"' }).end(method === "GET" ? stored.content : undefined);
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return { url: `http://127.0.0.1:${address.port}`, calls, objects };
}
