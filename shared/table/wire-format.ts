import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";

import type { Input, TableOperation, Output } from "./operations.ts";

/** The members of inputs that hold an item, a key or values, wherever they stand. */
const inputItems = new Set(["Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey"]);
const outputItems = new Set(["Item", "Attributes", "LastEvaluatedKey"]);

type Json = Record<string, unknown>;

const toItem = (item: unknown): unknown => marshall(item, { removeUndefinedValues: true });

/** The input with marshalled items. Attribute names and values are left as they are. */
function marshalled(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(marshalled);
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (value === undefined || name === "ExpressionAttributeNames") return [name, value];
      if (name === "Keys") return [name, (value as unknown[]).map(toItem)];
      return [name, inputItems.has(name) ? toItem(value) : marshalled(value)];
    }),
  );
}

/** Writes bytes in base64. `JSON.stringify` calls `toJSON` of a Buffer first, so the value is taken from its holder. */
function withBase64(this: Json, name: string, value: unknown): unknown {
  const own = this[name];
  return own instanceof Uint8Array ? Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64") : value;
}

/** The request body of an operation, in DynamoDB's JSON protocol. */
export const requestBody = <O extends TableOperation>(input: Input<O>): string =>
  JSON.stringify(marshalled(input), withBase64);

const bytesOfBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** Turns the base64 text of binary attributes and of sets of them into bytes, in place. */
function readBytes(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value as Json)) {
    if (name === "B" && typeof inner === "string") (value as Json)[name] = bytesOfBase64(inner);
    else if (name === "BS" && Array.isArray(inner)) (value as Json)[name] = inner.map(bytesOfBase64);
    else readBytes(inner);
  }
}

const fromItem = (item: unknown): Json => unmarshall(item as Parameters<typeof unmarshall>[0]);
const fromItems = (items: unknown): Json[] => (items as unknown[]).map(fromItem);
const mapped = (of: unknown, each: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(of as object).map(([name, value]) => [name, each(value)]));

/** The output of an operation, read from a response body. Throws for a body that it cannot read. */
export function readResponse<O extends TableOperation>(body: string): Output<O> {
  const answer: unknown = JSON.parse(body);
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) throw new Error("Not an output");
  if (/"BS?":/.test(body)) readBytes(answer);
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => {
      if (outputItems.has(name)) return [name, fromItem(value)];
      if (name === "Items") return [name, fromItems(value)];
      if (name === "Responses") return [name, mapped(value, fromItems)];
      if (name !== "UnprocessedKeys") return [name, value];
      return [name, mapped(value, (left) => ({ ...(left as Json), Keys: fromItems((left as Json)["Keys"]) }))];
    }),
  ) as Output<O>;
}

/** The errors of failed conditions. The SDK never sends an operation again after one of them. */
const conditionFailures = new Set(["ConditionalCheckFailedException", "TransactionCanceledException"]);

/** The error of a failed condition, with the members that the SDK's error has; undefined for any other error. */
export function readRefusal(body: string): Error | undefined {
  const { __type, message, Message = message, ...members } = JSON.parse(body) as Json;
  const name = typeof __type === "string" ? (__type.split("#").at(-1) ?? "") : "";
  if (!conditionFailures.has(name) || typeof Message !== "string") return undefined;
  return Object.assign(new Error(Message), members, { name });
}
