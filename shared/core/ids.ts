import { hash, randomBytes } from "node:crypto";

import * as z from "zod";

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;

/** The schema of an id, with an error message of its own. */
export const idWithMessage = (error: string): z.ZodString =>
  z.string().regex(uuid, { error, abort: true }).toLowerCase().meta({ format: "uuid" });

/** An id as it appears on the wire: a lower-case UUID. Upper case is accepted and folded. */
export const Id = idWithMessage("Not a UUID");

const dashed = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

/** A UUIDv8 (RFC 9562 §5.8) from the SHA-256 of words. The same words always give the same id. */
export function idOfWords(...words: string[]): string {
  const hex = hash("sha256", JSON.stringify(words));
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return dashed(`${hex.slice(0, 12)}8${hex.slice(13, 16)}${variant}${hex.slice(17, 32)}`);
}

/** Generates the secret token of a link: 128 random bits. */
export const newToken = (): string => randomBytes(16).toString("base64url");

/** The hash of a token, which is stored in place of the token: SHA-256, in hex. */
export const hashOfToken = (token: string): string => hash("sha256", token);

/**
 * A UUIDv8 (RFC 9562 §5.8) with a 40-bit ordinal and 82 random bits. The ordinal gives the key of the row. A reader
 * must compare the whole id with the id in the row, because a caller can make another id with the same ordinal.
 */
export function idWithOrdinal(ordinal: number): string {
  const random = randomBytes(12).toString("hex");
  const prefix = ordinal.toString(16).padStart(10, "0");
  const variant = ((Number.parseInt(random.charAt(20), 16) & 3) | 8).toString(16);
  return dashed(
    `${prefix}${random.slice(0, 2)}8${random.slice(2, 5)}${variant}${random.slice(5, 8)}${random.slice(8, 20)}`,
  );
}

/** The ordinal in an id of `idWithOrdinal`; undefined if the id is not a UUIDv8. */
export function ordinalOf(id: string): number | undefined {
  return id.charAt(14) === "8" ? Number.parseInt(id.replaceAll("-", "").slice(0, 10), 16) : undefined;
}

/**
 * A UUIDv7 (RFC 9562 §5.7): ids sort by their time in milliseconds. If ids of the same millisecond are given a
 * `sequence` from 0 to 4,095, the ids sort by it. `sequence` takes the place of 12 random bits (§6.2, method 1).
 */
export function timeOrderedId(now: Date, sequence?: number): string {
  const random = randomBytes(10).toString("hex");
  const time = now.getTime().toString(16).padStart(12, "0");
  const afterTime = sequence === undefined ? random.slice(0, 3) : sequence.toString(16).padStart(3, "0");
  const variant = ((Number.parseInt(random.charAt(19), 16) & 3) | 8).toString(16);
  return dashed(`${time}7${afterTime}${variant}${random.slice(3, 18)}`);
}

/** The time in a UUIDv7, to the millisecond; undefined if the id is not a UUIDv7. */
export function timeOf(id: string): Date | undefined {
  return id.charAt(14) === "7" ? new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)) : undefined;
}
