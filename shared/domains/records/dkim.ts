import { createPublicKey } from "node:crypto";

import { readTagList } from "./tag-list.ts";

const shortestRsaBits = 1_024;
const ed25519Bytes = 32;
const example = 'such as "v=DKIM1; k=rsa; p=MIIB…"';

/** The length of an RSA key as signers publish it: SubjectPublicKeyInfo, or the RSAPublicKey of RFC 6376's text. */
function rsaBits(key: Buffer): number | undefined {
  for (const type of ["spki", "pkcs1"] as const) {
    try {
      const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key, format: "der", type });
      return asymmetricKeyType === "rsa" ? asymmetricKeyDetails?.modulusLength : undefined;
    } catch {
      // It may be of the other type.
    }
  }
  return undefined;
}

function keyFault(kind: string, value: string): string | undefined {
  const base64 = value.replace(/\s/g, "");
  // An empty key is a revoked one.
  if (base64 === "") return undefined;
  if (!/^[a-z0-9+/]+={0,2}$/i.test(base64)) return "p= is not base64: copy the key again, without BEGIN and END lines";
  const key = Buffer.from(base64, "base64");
  if (kind === "ed25519") {
    return key.length === ed25519Bytes ? undefined : `p= must be the ${ed25519Bytes} bytes of an Ed25519 key in base64`;
  }
  const bits = rsaBits(key);
  if (bits === undefined) return "p= is not a whole RSA key: a part of it is missing, copy it again";
  return bits < shortestRsaBits
    ? `The key has ${bits} bits: verifiers ask for ${shortestRsaBits} at least (RFC 8301)`
    : undefined;
}

/** What is wrong with a DKIM key record (RFC 6376 §3.6.1, RFC 8463); tags that nobody knows are ignored. */
export function dkimFault(text: string): string | undefined {
  const read = readTagList(text);
  if ("fault" in read) return `DKIM: ${read.fault}`;
  const { first, tags } = read;
  const version = tags.get("v");
  if (version !== undefined && (version !== "DKIM1" || first !== "v")) return `DKIM: the record begins with "v=DKIM1;"`;
  const value = tags.get("p");
  if (value === undefined) return `DKIM: the key is missing: write it as p=, ${example}`;
  const kind = tags.get("k") ?? "rsa";
  if (kind !== "rsa" && kind !== "ed25519") return "DKIM: k= must be rsa or ed25519";
  const fault = keyFault(kind, value);
  return fault === undefined ? undefined : `DKIM: ${fault}`;
}
