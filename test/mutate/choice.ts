import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * The chosen mistake, and the mistakes whose code has run, are in files beside this module, in the copy of the project.
 * So every process that runs the copy knows them, also a process that a test starts.
 */
const chosenIn = (folder: string): string => join(folder, "chosen.txt");
const reachedIn = (folder: string): string => join(folder, "reached.txt");

const readIds = (file: string): number[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number) : [];

/** Chooses a mistake, or none. */
export const choose = (folder: string, mutant: number | undefined): void =>
  writeFileSync(chosenIn(folder), mutant === undefined ? "" : String(mutant));

/** The chosen mistake. Undefined if none is chosen. */
export const chosenMutant = (folder: string): number | undefined => readIds(chosenIn(folder))[0];

/** Notes that the code of a mistake has run. */
export const noteReached = (folder: string, mutant: number): void => appendFileSync(reachedIn(folder), `${mutant}\n`);

/** The mistakes whose code has run since the last call. */
export function takeReached(folder: string): number[] {
  const reached = readIds(reachedIn(folder));
  writeFileSync(reachedIn(folder), "");
  return [...new Set(reached)];
}

/** The message to the process of the tests after a new choice. The process answers with the same message. */
export const newChoice = { isNewChoice: true };

export const isNewChoice = (message: object): boolean => "isNewChoice" in message;
