import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/** A POST to `/` of a service. Header names are in lower case. */
type Post = { host: string; headers: Readonly<Record<string, string>>; body: string };

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/**
 * Creates a function that signs POSTs to a service by AWS Signature Version 4. For each POST, this function returns all
 * headers, with the signature. The function keeps the signing key of a day, because to derive the key again for each
 * call would take four more HMACs.
 */
export function signer(service: string, region: string) {
  let cached: { name: string; key: KeyObject } | undefined;

  function signingKey(secret: string, date: string): KeyObject {
    const name = `${date} ${secret}`;
    if (cached?.name === name) return cached.key;
    const derived = [region, service, "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, date));
    cached = { name, key: createSecretKey(derived) };
    return cached.key;
  }

  return ({ host, headers, body }: Post, credentials: Credentials, now: Date): Record<string, string> => {
    const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
    const date = time.slice(0, 8);
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const sent: Record<string, string> = {
      ...headers,
      "content-length": String(Buffer.byteLength(body)),
      host,
      "x-amz-date": time,
      ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
    };
    const names = Object.keys(sent).toSorted();
    const signed = names.join(";");
    const canonical = `POST\n/\n\n${names.map((name) => `${name}:${sent[name]}\n`).join("")}\n${signed}\n${hash("sha256", body)}`;
    const scope = `${date}/${region}/${service}/aws4_request`;
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash("sha256", canonical)}`;
    const signature = createHmac("sha256", signingKey(secretAccessKey, date)).update(text).digest("hex");
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
    return { ...sent, authorization };
  };
}
