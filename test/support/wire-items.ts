type Json = Record<string, unknown>;

const mapped = (of: object, each: (value: unknown) => unknown): Json =>
  Object.fromEntries(
    Object.entries(of)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, each(value)]),
  );

function toAttribute(value: unknown): Json {
  if (typeof value === "string") return { S: value };
  if (typeof value === "boolean") return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((one) => one !== undefined).map(toAttribute) };
  if (typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return { N: String(value) };
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString("base64") };
  if ([Object.prototype, null].includes(Object.getPrototypeOf(value)))
    return { M: mapped(value as object, toAttribute) };
  throw new Error(`a ${typeof value} that the table does not hold`);
}

function fromAttribute(attribute: unknown): unknown {
  const [[type, value] = []] = Object.entries(attribute as Json);
  if (type === "S" || type === "BOOL") return value;
  if (type === "NULL") return null;
  if (type === "L") return (value as unknown[]).map(fromAttribute);
  if (type === "M") return mapped(value as object, fromAttribute);
  if (type === "B") return new Uint8Array(Buffer.from(value as string, "base64"));
  if (type === "N" && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER) return Number(value);
  throw new Error(`not a value that we store: ${JSON.stringify(attribute)}`);
}

const toItem = (item: unknown): Json => mapped(item as object, toAttribute);
const fromItem = (item: unknown): Json => mapped(item as object, fromAttribute);

const inputItems = new Set(["Item", "Key", "ExpressionAttributeValues", "ExclusiveStartKey"]);
const outputItems = new Set(["Item", "Attributes", "LastEvaluatedKey"]);

/** A command's input with its items as DynamoDB's protocol writes them; throws for a value that has no such form. */
export function toWire(input: unknown): unknown {
  if (Array.isArray(input)) return input.map(toWire);
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (value === undefined || name === "ExpressionAttributeNames") return [name, value];
      if (name === "Keys") return [name, (value as unknown[]).map(toItem)];
      return [name, inputItems.has(name) ? toItem(value) : toWire(value)];
    }),
  );
}

/** A command's output with its items as programs read them. */
export function fromWire(output: Json): Json {
  const list = (items: unknown) => (items as unknown[]).map(fromItem);
  return Object.fromEntries(
    Object.entries(output).map(([name, value]) => {
      if (outputItems.has(name)) return [name, fromItem(value)];
      if (name === "Items") return [name, list(value)];
      if (name === "Responses") return [name, mapped(value as object, list)];
      if (name !== "UnprocessedKeys") return [name, value];
      return [name, mapped(value as object, (left) => ({ ...(left as Json), Keys: list((left as Json)["Keys"]) }))];
    }),
  );
}
