import type { IncomingHttpHeaders } from "node:http";

import { startLoopback, type Answer, type Recorded } from "./loopback.ts";

type Stored = { content: Buffer; headers: IncomingHttpHeaders };
type Upload = { headers: IncomingHttpHeaders; parts: Map<number, Buffer> };

/** A fault of the store: an answer with a status and an error code of S3, or no answer. */
export type Trouble = { status: number; code: string } | "silence";

const xml = (status: number, body: string): Answer => ({
  status,
  headers: { "content-type": "application/xml" },
  body,
});

const refusal = (status: number, code: string): Answer =>
  xml(status, `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>No</Message></Error>`);

const created = (id: string): Answer =>
  xml(200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);

const completed = xml(200, `<CompleteMultipartUploadResult><ETag>"2"</ETag></CompleteMultipartUploadResult>`);

const urlOf = ({ path }: Recorded): URL => new URL(path, "http://store");

/** The method and the query of a request, without the `x-id` of the SDK: `PUT partNumber=1 uploadId`. */
function stepOf(request: Recorded): string {
  const query = urlOf(request).searchParams;
  const names = [...query.keys()].filter((name) => name !== "x-id");
  return [request.method, ...names.map((name) => (name === "partNumber" ? `${name}=${query.get(name)}` : name))].join(
    " ",
  );
}

/**
 * The multipart uploads of a store (S3's CreateMultipartUpload, UploadPart and so on). A complete upload is an object.
 */
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
 * PutObject, HeadObject, GetObject and multipart uploads of S3 (REST, path style) on 127.0.0.1, until the test ends. An
 * answer to HEAD has no body, and so no error code. `troubles` has the faults of the first requests. Undefined is a
 * request without a fault.
 */
export async function startFileStore(...troubles: (Trouble | undefined)[]) {
  const objects = new Map<string, Stored>();
  const { uploads, begin, complete } = multipart(objects);

  function ofUpload(id: string, pathname: string, part: string | null, { method, content, body }: Recorded): Answer {
    if (method === "DELETE") return { status: uploads.delete(id) ? 204 : 404, body: "" };
    if (method === "POST") {
      complete(pathname, id, body);
      return completed;
    }
    uploads.get(id)?.parts.set(Number(part), content);
    return { status: 200, headers: { etag: '"1"' }, body: "" };
  }

  function ofObject(pathname: string, disposition: string | null, { method, headers, content }: Recorded): Answer {
    if (method === "PUT") objects.set(pathname, { content, headers });
    const stored = objects.get(pathname);
    if (!stored) return refusal(404, "NoSuchKey");
    const sent: Record<string, string> = { etag: '"1"' };
    if (method !== "PUT") sent["content-type"] = stored.headers["content-type"] ?? "";
    if (disposition !== null) sent["content-disposition"] = disposition;
    return { status: 200, headers: sent, body: method === "GET" ? stored.content : "" };
  }

  function answer(request: Recorded): Answer {
    const { pathname, searchParams: query } = urlOf(request);
    const uploadId = query.get("uploadId");
    if (uploadId !== null) return ofUpload(uploadId, pathname, query.get("partNumber"), request);
    if (request.method === "POST") return created(begin(request.headers));
    return ofObject(pathname, query.get("response-content-disposition"), request);
  }

  const { url, recorded } = await startLoopback(answer, () => {
    const trouble = troubles.shift();
    return typeof trouble === "object" ? refusal(trouble.status, trouble.code) : trouble;
  });
  return { url, recorded, steps: () => recorded.map(stepOf), objects, uploads };
}
