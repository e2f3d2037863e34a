import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import { onTestFinished } from "vitest";

type Call = { method: string; path: string; headers: IncomingHttpHeaders };
type Stored = { content: Buffer; headers: IncomingHttpHeaders };
type Upload = { headers: IncomingHttpHeaders; parts: Map<number, Buffer> };

/** What is answered instead of the truth: a status and an error code of S3, or nothing at all. */
export type Trouble = { status: number; code: string } | "silence";

const fault = (code: string): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>No</Message></Error>`);

const answers = {
  created: (id: string) => `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
  completed: `<CompleteMultipartUploadResult><ETag>"2"</ETag></CompleteMultipartUploadResult>`,
};

/** What a call is by its query, without what the SDK adds for people: `PUT partNumber=1 uploadId`. */
function stepOf(method: string, query: URLSearchParams): string {
  const names = [...query.keys()].filter((name) => name !== "x-id");
  return [method, ...names.map((name) => (name === "partNumber" ? `${name}=${query.get(name)}` : name))].join(" ");
}

/** The multipart uploads of a store (S3's CreateMultipartUpload, UploadPart and so on), which are objects once complete. */
function multipart(objects: Map<string, Stored>) {
  const uploads = new Map<string, Upload>();
  const begin = (headers: IncomingHttpHeaders): string => {
    const id = `upload-${uploads.size + 1}`;
    uploads.set(id, { headers, parts: new Map() });
    return id;
  };
  const complete = (path: string, id: string, body: string): void => {
    const { headers, parts } = uploads.get(id) ?? { headers: {}, parts: new Map<number, Buffer>() };
    const named = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) => Number(number));
    objects.set(path, { headers, content: Buffer.concat(named.map((number) => parts.get(number) ?? Buffer.alloc(0))) });
    uploads.delete(id);
  };
  return { uploads, begin, complete };
}

/**
 * PutObject, HeadObject, GetObject and multipart uploads of S3 (REST, path style) on 127.0.0.1 until the test is over;
 * an answer to HEAD has no body, so no code either. `troubles` come first, one for each request that has one.
 */
export async function startFileStore(...troubles: (Trouble | undefined)[]) {
  const calls: Call[] = [];
  const steps: string[] = [];
  const objects = new Map<string, Stored>();
  const { uploads, begin, complete } = multipart(objects);
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status, { "content-type": "application/xml" }).end(fault(code));
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const { pathname, searchParams } = new URL(url, "http://store");
    const content = await buffer(request);
    calls.push({ method, path: pathname, headers });
    steps.push(stepOf(method, searchParams));
    const trouble = troubles.shift();
    if (trouble === "silence") return;
    if (trouble) return refuse(response, trouble.status, trouble.code);
    const [uploadId, part] = [searchParams.get("uploadId"), searchParams.get("partNumber")];
    response.setHeader("etag", '"1"');
    if (method === "POST") {
      if (uploadId !== null) complete(pathname, uploadId, content.toString());
      response.writeHead(200, { "content-type": "application/xml" });
      return void response.end(uploadId === null ? answers.created(begin(headers)) : answers.completed);
    }
    if (method === "DELETE") return void response.writeHead(uploads.delete(uploadId ?? "") ? 204 : 404).end();
    if (uploadId !== null) {
      uploads.get(uploadId)?.parts.set(Number(part), content);
      return void response.end();
    }
    if (method === "PUT") objects.set(pathname, { content, headers });
    const stored = objects.get(pathname);
    if (!stored) return refuse(response, 404, "NoSuchKey");
    const disposition = searchParams.get("response-content-disposition");
    if (method !== "PUT") response.setHeader("content-type", stored.headers["content-type"] ?? "");
    if (disposition !== null) response.setHeader("content-disposition", disposition);
    response.writeHead(200).end(method === "GET" ? stored.content : undefined);
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
  return { url: `http://127.0.0.1:${address.port}`, calls, steps, objects, uploads };
}
