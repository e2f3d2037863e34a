import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";

import { onTestFinished } from "vitest";
import * as z from "zod";

const Call = z.object({
  KeyId: z.string(),
  EncryptionContext: z.record(z.string(), z.string()),
  Plaintext: z.base64().optional(),
  CiphertextBlob: z.base64().optional(),
});

export type Recorded = { headers: Record<string, unknown>; body: z.output<typeof Call> };

/** What is answered instead of the truth: a status and an error type of the service, or nothing at all. */
export type Trouble = { status: number; type: string } | "silence";

const contentType = "application/x-amz-json-1.1";

/** Reads and answers as KMS does on the wire (AWS JSON 1.1); the ciphertext is the call itself in base64. */
function reply(target: string, { KeyId, EncryptionContext, Plaintext, CiphertextBlob = "" }: z.output<typeof Call>) {
  const about = { KeyId: `arn:aws:kms:local:000000000000:key/${KeyId}`, EncryptionAlgorithm: "SYMMETRIC_DEFAULT" };
  if (target === "TrentService.Encrypt") {
    const sealed = Buffer.from(JSON.stringify({ KeyId, EncryptionContext, Plaintext })).toString("base64");
    return { status: 200, body: { ...about, CiphertextBlob: sealed } };
  }
  const text = Buffer.from(CiphertextBlob, "base64").toString();
  const sealed = text.startsWith("{") ? Call.parse(JSON.parse(text)) : undefined;
  if (JSON.stringify(sealed?.EncryptionContext) === JSON.stringify(EncryptionContext)) {
    return { status: 200, body: { ...about, Plaintext: sealed?.Plaintext } };
  }
  return { status: 400, body: { __type: "InvalidCiphertextException" } };
}

/** A key service on 127.0.0.1 until the test is over; `troubles` come first, one for each request. */
export async function startKeyService(...troubles: Trouble[]): Promise<{ url: string; recorded: Recorded[] }> {
  const recorded: Recorded[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = Call.parse(await json(request));
    recorded.push({ headers: request.headers, body });
    const trouble = troubles.shift();
    if (trouble === "silence") return;
    const failed = trouble && { status: trouble.status, body: { __type: trouble.type, message: "In trouble" } };
    const { status, body: content } = failed ?? reply(String(request.headers["x-amz-target"]), body);
    response.writeHead(status, { "content-type": contentType, "x-amzn-requestid": "1" });
    response.end(JSON.stringify(content));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return { url: `http://127.0.0.1:${address.port}`, recorded };
}
