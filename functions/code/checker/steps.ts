import { noKey } from "../interpreter/operators.ts";
import { noIndex } from "../interpreter/value.ts";
import { isForbidden } from "../language/names.ts";
import { says } from "../language/sentences.ts";
import { itemShape, memberShape, type Shape, type Stepped, typesOf } from "./shape.ts";

/** Follows one step into a value, by a key if that is known, else by an index of which only the shape is. */
export function stepOf(shape: Shape, key: string | number | undefined, index: Shape): Stepped {
  if (shape.none) return { type: "null" };
  if (typeof key === "string") return isForbidden(key) ? { index: says.forbidden(key) } : memberShape(shape, key);
  if (key === undefined) return stepByShape(shape, index);
  if (!Number.isInteger(key)) return { index: noIndex(String(key)) };
  const { items } = shape;
  if (items && (key >= items.length || key < -items.length)) return { length: items.length };
  const item = items?.at(key);
  return item ? { shape: item } : itemShape(shape);
}

function stepByShape(shape: Shape, index: Shape): Stepped {
  const [given, of] = [typesOf(index), typesOf(shape)];
  if (given && !given.has("number") && !given.has("string")) return { index: noIndex(`a ${[...given].join(" or ")}`) };
  const [isList, isDict] = [of?.has("list") ?? true, of?.has("dict") ?? true];
  if (given && isList && !isDict && !given.has("number")) {
    return { index: "An index of a list is a whole number, not a string." };
  }
  if (given && isDict && !isList && !given.has("string")) return { index: noKey("number") };
  const stepped = itemShape(shape);
  return isDict && !("shape" in stepped) ? { shape: {} } : stepped;
}
