import { type Command, Option, InvalidArgumentError } from "commander";

import type { ApiPromise, HostedMail, List } from "../../client/package/index.ts";
import { type ArgumentSpec, type CommandSpec, flagOf } from "../emit.ts";
import { Failure } from "./failures.ts";
import { formOf, printAnswer, printList } from "./output.ts";
import { readText } from "./read-text.ts";
import { accountFor, clientFor, type GlobalOptions } from "./session.ts";

type Method = (args: Record<string, unknown>) => ApiPromise<unknown> | List<unknown, unknown>;

/** The client's method of this name, such as `mailboxes.add`. */
function methodOf(client: HostedMail, name: string): Method {
  const method = name.split(".").reduce<unknown>((at, word) => (at as Record<string, unknown>)[word], client);
  return method as Method;
}

/** Adds the options that every command has. */
export function addGlobalOptions(command: Command): Command {
  return command
    .optionsGroup("Options of every command:")
    .option("--account <id>", "the account's id; by default the account of `accounts use`, or your only account")
    .option("--base-url <url>", "the address of the API (HOSTED_MAIL_BASE_URL)")
    .option("--profile <name>", "the profile (HOSTED_MAIL_PROFILE)")
    .option("--json", "print one JSON document; the default without a terminal")
    .option("--jsonl", "print one line of JSON for each item of a list");
}

/** Stands for null in the options, because commander takes null for a missing value. */
const nullValue = Symbol("null");

/** Parses JSON. Reads the JSON from a file if the text is `@` and the file's path. */
function jsonOf(text: string): unknown {
  const json = text.startsWith("@") ? readText(text.slice(1)) : text;
  try {
    return JSON.parse(json) as unknown;
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
 * API allows null, or if the value is JSON. Throws an `InvalidArgumentError` if the text is not valid.
 */
function optionValue(spec: ArgumentSpec, text: string, before: unknown): unknown {
  if (spec.isNullable && text === "null") return nullValue;
  if (!spec.isList) return oneValueOf(spec, text) ?? nullValue;
  // The text is one item. If the items are JSON, the text can also be a list of items. For items of any kind, `[]` is a
  // list without items.
  const found = text.trim() === "[]" ? [] : oneValueOf(spec, text);
  return [
    ...(Array.isArray(before) ? (before as unknown[]) : []),
    ...(Array.isArray(found) ? (found as unknown[]) : [found]),
  ];
}

/** The placeholder of an option in the help. For an option with choices: the last word of the option's name. */
function placeholderOf({ kind, choices, name }: ArgumentSpec): string {
  if (kind === "json") return "json";
  if (kind === "number") return "number";
  return choices ? name.slice(name.lastIndexOf("_") + 1) : "text";
}

function addOption(command: Command, spec: ArgumentSpec): void {
  const flag = flagOf(spec.name);
  const repeated = spec.isList ? " Can be repeated." : "";
  const placeholder = spec.kind === "boolean" ? "[true|false]" : `<${placeholderOf(spec)}>`;
  const option = new Option(`${flag} ${placeholder}`, `${spec.description}${repeated}`);
  if (spec.choices) option.argChoices = spec.choices;
  if (spec.kind === "boolean") option.preset("true");
  option.argParser((text: string, before: unknown) => optionValue(spec, text, before));
  // The value gets the argument's name in the API. By default, commander would use the flag in camel case.
  option.attributeName = () => spec.name;
  if (spec.isRequired) option.makeOptionMandatory();
  command.addOption(option);
  if (spec.kind !== "boolean") return;
  const negated = new Option(`--no-${flag.slice(2)}`).hideHelp();
  negated.attributeName = () => spec.name;
  command.addOption(negated);
}

/** Yields the first `limit` items. */
async function* first(items: AsyncIterable<unknown>, limit: number): AsyncGenerator<unknown, void> {
  let left = limit;
  if (left <= 0) return;
  for await (const item of items) {
    yield item;
    left -= 1;
    if (left <= 0) return;
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw new Failure("--limit must be a whole number of at least 1.");
  return limit;
}

/** The arguments of a function, from the words, the options and the account of the command line. */
async function argumentsOf(
  spec: CommandSpec,
  words: readonly string[],
  options: GlobalOptions & Record<string, unknown>,
  client: HostedMail,
) {
  const path = Object.fromEntries(spec.words.map(({ name }, index) => [name, words[index]]));
  const given = spec.options
    .filter(({ name }) => options[name] !== undefined)
    .map(({ name }) => [name, options[name] === nullValue ? null : options[name]]);
  const rest = Object.fromEntries(given) as Record<string, unknown>;
  const account = spec.inAccount ? { account_id: await accountFor(options, client) } : {};
  return { ...account, ...path, ...(spec.hasPayload ? { payload: rest } : rest) };
}

/** Adds the command that calls one function of the API and prints the answer. */
export function addFunction(parent: Command, spec: CommandSpec): Command {
  const word = spec.name.slice(spec.name.lastIndexOf(".") + 1).replaceAll("_", "-");
  const command = parent.command(word).summary(spec.summary).description(`${spec.summary}\n\n${spec.description}`);
  for (const { name, description } of spec.words) command.argument(`<${name.replaceAll("_", "-")}>`, description);
  for (const option of spec.options) addOption(command, option);
  if (spec.list) command.option("--limit <number>", "print at most this number of items; by default all");
  addGlobalOptions(command).addHelpText("after", `\nExample:\n  ${spec.example}`);
  return command.action(async (...inputs: unknown[]) => {
    const options = command.optsWithGlobals<GlobalOptions & Record<string, unknown>>();
    const words = inputs.slice(0, spec.words.length) as string[];
    const limit = limitOf(options["limit"] as string | undefined);
    const client = clientFor(options);
    const args = await argumentsOf(spec, words, options, client);
    // The API allows 100 items per page. If fewer items are wanted, one smaller page is enough.
    const pages = spec.list?.isPaged && limit < 100 ? { page_size: limit } : {};
    const answer = methodOf(client, spec.name)({ ...args, ...pages });
    const form = formOf(options);
    if (spec.list) await printList(first(answer as List<unknown, unknown>, limit), spec, form);
    else printAnswer(await answer, form);
  });
}
