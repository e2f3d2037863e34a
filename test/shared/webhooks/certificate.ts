import { generateKeyPairSync, sign } from "node:crypto";

/** The octets of a DER length. */
function lengthOctets(length: number): number[] {
  if (length < 128) return [length];
  return length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

/** One DER element (ITU-T X.690) of up to 65,535 bytes. */
function der(tag: number, ...parts: (Buffer | number[])[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(content.length)]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const text = (tag: number, value: string): Buffer => der(tag, Buffer.from(value));
const oid = (...bytes: number[]): Buffer => der(0x06, bytes);
const utcTime = (at: Date): Buffer => text(0x17, `${at.toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`);

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const commonName = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), text(0x0c, "Test receiver"))));

/** A self-signed certificate (RFC 5280) for one DNS name, as PEM. Valid from a day before `now` to a day after. */
export function certificateFor(name: string, now = new Date()): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const day = (days: number): Buffer => utcTime(new Date(now.getTime() + days * 86_400_000));
  const alternativeNames = sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(text(0x82, name))));
  const toSign = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, [1]),
    ecdsaWithSha256,
    commonName,
    sequence(day(-1), day(1)),
    commonName,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(alternativeNames)),
  );
  const signature = der(0x03, [0], sign("sha256", toSign, privateKey));
  const body = sequence(toSign, ecdsaWithSha256, signature).toString("base64");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}
