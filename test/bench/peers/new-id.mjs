import { randomBytes } from "node:crypto";

/** A UUIDv8 that carries an ordinal in its first 40 bits, as the product's do. */
export function newId(ordinal) {
  const text = ordinal.toString(16).padStart(10, "0") + randomBytes(11).toString("hex");
  const hex = `${text.slice(0, 12)}8${text.slice(13, 16)}8${text.slice(17)}`;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
