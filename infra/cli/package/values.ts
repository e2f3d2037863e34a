import { readFileSync } from "node:fs";

import { InvalidArgumentError } from "commander";

import type { ArgumentSpec } from "../emit.ts";

/** Stands for null in the options, because commander takes null for a missing value. */
export const nullValue = Symbol("null");

/** Parses JSON. Reads the JSON from a file if the text is `@` and the file's path. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text) as unknown;
  } catch (error) {
    throw new InvalidArgumentError(`Write JSON, or @file with the JSON in a file. ${(error as Error).message}`);
  }
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new InvalidArgumentError("Write a number.");
  return value;
}

function booleanOf(text: string | true): boolean {
  if (text === true || text === "true" || text === "yes") return true;
  if (text === "false" || text === "no") return false;
  throw new InvalidArgumentError("Write true or false.");
}

function oneValueOf({ kind, choices }: ArgumentSpec, text: string): unknown {
  if (choices && !choices.includes(text)) throw new InvalidArgumentError(`Write one of ${choices.join(", ")}.`);
  if (kind === "number") return numberOf(text);
  if (kind === "boolean") return booleanOf(text);
  return kind === "json" ? jsonOf(text) : text;
}

/**
 * The value of an option in the API's form. A repeated option adds to a list. The text `null` gives `nullValue` if the
 * API allows null. Throws an `InvalidArgumentError` if the text is not valid.
 */
export function optionValue(spec: ArgumentSpec, text: string, before: unknown): unknown {
  if (spec.isNullable && text === "null") return nullValue;
  if (!spec.isList) return oneValueOf(spec, text);
  const found = oneValueOf(spec, text);
  // The JSON is either one item or the whole list.
  return [
    ...(Array.isArray(before) ? (before as unknown[]) : []),
    ...(Array.isArray(found) ? (found as unknown[]) : [found]),
  ];
}

/** The placeholder of an option in the help. */
export function placeholderOf({ kind, choices, name }: ArgumentSpec): string {
  if (kind === "json") return "json";
  if (kind === "number") return "number";
  return choices ? name.slice(name.lastIndexOf("_") + 1) : "text";
}
