import type { IncomingMessage } from "node:http";

/** API Gateway's limit for the payload of an HTTP API. */
export const maxBodyBytes = 10 * 1024 * 1024;

/**
 * The body of a request; null as soon as it is longer than `maxBytes`, and then the rest is read and
 * thrown away so that the sender gets to the answer. Rejects when the sender goes away.
 */
export function readBody(request: IncomingMessage, maxBytes: number = maxBodyBytes): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        chunks.length = 0;
        resolve(null);
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("The sender went away")));
  });
}
