import type { Item, Key } from "../../shared/table/writes.ts";

/** The error that the SDK throws for a request that DynamoDB refuses. */
export const validationError = (message: string): Error =>
  Object.assign(new Error(message), { name: "ValidationException" });

/**
 * Compares strings in DynamoDB's order, which is the order of their UTF-8 bytes. Surrogates are after all other UTF-16
 * code units.
 */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

const rankOf = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/**
 * Copies a value as if it was stored and read: undefined members are gone, and no part is shared with the given value.
 */
export function copyOf(value: unknown): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return requireNumber(value);
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value instanceof Set) return new Set(value);
  if (Array.isArray(value)) return value.filter((one) => one !== undefined).map(copyOf);
  if (typeof value === "object" && isPlain(value)) return copyOfAttributes(value as Record<string, unknown>);
  throw new Error(`A ${typeof value} that is no plain data cannot be stored`);
}

const isPlain = (value: object): boolean => [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** The attributes of a record that are not undefined, copied. */
export function copyOfAttributes<T extends Record<string, unknown>>(attributes: T): T {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(attributes)) {
    if (attributes[name] !== undefined) copy[name] = copyOf(attributes[name]);
  }
  return copy as T;
}

function requireNumber(value: number): number {
  if (!Number.isFinite(value)) throw new Error(`Special numeric value ${value} is not allowed`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) throw new Error(`Number ${value} is not safe`);
  // DynamoDB has no -0.
  return value === 0 ? 0 : value;
}

const maxItemBytes = 400 * 1024;

/** Throws for an item that DynamoDB would not store: over 400 KB with its names, or with an empty key. */
export function requireStorable(item: Item): void {
  requireKey(item);
  if (sizeOf(item) > maxItemBytes) throw validationError("Item size has exceeded the maximum allowed size");
}

/** Throws for a key with an empty part. */
export function requireKey({ PK, SK }: Key): void {
  if (PK === "" || SK === "") throw validationError("The AttributeValue for a key attribute cannot be empty");
}

/**
 * The size of a value in bytes, as DynamoDB counts it (developer guide, "Item sizes and formats"). The result for a
 * number can be larger than its real size.
 */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "number") return Math.ceil(String(value).length / 2) + 1;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Set) return 3 + sum([...value].map(sizeOf));
  if (Array.isArray(value)) return 3 + sum(value.map((one) => sizeOf(one) + 1));
  if (value === null || typeof value !== "object") return 1;
  return sum(Object.entries(value).map(([name, one]) => Buffer.byteLength(name) + sizeOf(one)));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** The strings and numbers of an item, as text. */
export const scalarsOf = (item: Item | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(item ?? {}).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [],
    ),
  );
